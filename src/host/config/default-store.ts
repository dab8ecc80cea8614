import { join } from "node:path";
import type { Config } from "../../gateway/config.ts";
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
  const problem = folder === undefined ? "has no folder: there is no home" : unwritable(path);
  if (problem === undefined) return { store: { kind: "sqlite", path }, notes: [] };
  const note = `${path} ${problem}. Past answers are kept in memory, until a restart; name a file in \`store.path\`, or write \`store: memory\`.`;
  return { store: { kind: "memory" }, notes: [note] };
}
