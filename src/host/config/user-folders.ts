/** The folders that programs of one user share, as the environment names them. */

import { homedir, tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./env.ts";

/** Ignores a relative path, which would name a folder below the current one. */
const absolute = (folder: string | undefined): string | undefined =>
  folder !== undefined && isAbsolute(folder) ? folder : undefined;

/** Undefined for a user without a home, as in a container without a list of users. */
export function homeFolder(): string | undefined {
  try {
    return absolute(homedir());
  } catch {
    return undefined; // It throws if neither the environment nor the system names one.
  }
}

/** The folder of the user's configuration; undefined for a user without a home. */
export function settingsFolder(env: Environment): string | undefined {
  const home = homeFolder();
  const settings =
    absolute(env["XDG_CONFIG_HOME"]) ??
    absolute(env["APPDATA"]) ??
    (home === undefined ? undefined : join(home, ".config"));
  return settings === undefined ? undefined : join(settings, "patchbay");
}

/** The folder of data that should outlive a restart; undefined for a user without a home. */
export function stateFolder(env: Environment): string | undefined {
  const home = homeFolder();
  const state =
    absolute(env["XDG_STATE_HOME"]) ??
    absolute(env["LOCALAPPDATA"]) ??
    (home === undefined ? undefined : join(home, ".local", "state"));
  return state === undefined ? undefined : join(state, "patchbay");
}

/** The folder of recorded turns; among the temporary files for a user without a home. */
export const recordingsFolder = (env: Environment): string =>
  join(stateFolder(env) ?? join(tmpdir(), `patchbay-${userName()}`), "recordings");

/**
 * The folders of the private sockets, the best first. A service and a shell of the same user may
 * see different environments, so a search for gateways reads all of them; PATCHBAY_RUNTIME_DIR
 * names a single one.
 */
export function runtimeFolders(env: Environment): readonly string[] {
  const named = absolute(env["PATCHBAY_RUNTIME_DIR"]);
  if (named !== undefined) return [named];
  const runtime = absolute(env["XDG_RUNTIME_DIR"]);
  const state = stateFolder(env);
  return [
    ...(runtime === undefined ? [] : [join(runtime, "patchbay")]),
    ...(state === undefined ? [] : [join(state, "run")]),
    join(tmpdir(), `patchbay-${userName()}`),
  ];
}

/** A number if users have numbers: a name may contain separators of paths, and a user may have no name. */
const userName = (): string =>
  process.getuid === undefined
    ? userInfo().username.replaceAll(/[^\w.-]/g, "_")
    : String(process.getuid());
