import { statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../gateway/config.ts";
import { foreignProblem } from "../../upstreams/folder.ts";
import { unwritable } from "../server/turn-files.ts";
import type { Environment } from "./env.ts";
import { stateFolder } from "./user-folders.ts";

/**
 * The store of a gateway whose configuration says nothing about it: a file in
 * the user's state directory, or memory where nothing can be written there.
 */
export function defaultStore(env: Environment): {
  readonly store: Config["store"];
  readonly notes: readonly string[];
} {
  const folder = stateFolder(env);
  const path = join(folder ?? "", "patchbay.db");
  const foreign = folder === undefined ? undefined : foreignProblem(folder);
  const problem =
    folder === undefined ? "has no folder: there is no home" : (foreign ?? storeProblem(path));
  if (problem === undefined) return { store: { kind: "sqlite", path }, notes: [] };
  const note = `${foreign === undefined ? path : folder} ${problem}. Past answers are kept in memory, until a restart; name a file in \`store.path\`, or write \`store: memory\`.`;
  return { store: { kind: "memory" }, notes: [note] };
}

/** Why there can be no database at a path, found without making anything. */
export const storeProblem = (path: string): string | undefined =>
  isOdd(path) ? "is not a regular file; name one that is" : unwritable(path);

/** A folder is told by `unwritable`. */
function isOdd(path: string): boolean {
  try {
    const found = statSync(path);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false; // It is not there, or its folder cannot be looked in, which `unwritable` tells.
  }
}
