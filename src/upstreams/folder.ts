import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Makes a folder and its parents, one by one: `mkdir` with `recursive` never returns for a path under `/proc`. */
export function makeFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder), mode);
  mkdirSync(folder, { mode });
}
