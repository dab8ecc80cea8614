import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Config } from "../../gateway/config.ts";
import { unwritable } from "../server/turn-files.ts";
import type { Environment } from "./env.ts";

/** Where programs keep what should outlive a restart; what is relative is to be ignored. */
function stateFolder({ XDG_STATE_HOME = "", LOCALAPPDATA = "" }: Environment): string {
  const home = [XDG_STATE_HOME, LOCALAPPDATA].find((folder) => isAbsolute(folder));
  return join(home ?? join(homedir(), ".local", "state"), "patchbay");
}

/**
 * The store of a gateway whose configuration says nothing about it: a file in
 * the user's state directory, or memory where nothing can be written there.
 */
export function defaultStore(env: Environment): {
  readonly store: Config["store"];
  readonly notes: readonly string[];
} {
  const path = join(stateFolder(env), "patchbay.db");
  const problem = unwritable(path);
  if (problem === undefined) return { store: { kind: "sqlite", path }, notes: [] };
  const note = `${path} ${problem}. Past answers are kept in memory, until a restart; name a file in \`store.path\`, or write \`store: memory\`.`;
  return { store: { kind: "memory" }, notes: [note] };
}
