import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Step by step: Node never comes back from a place where there can be no folders, such as `/proc`. */
export function makeFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
}
