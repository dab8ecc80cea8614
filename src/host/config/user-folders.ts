/** The folders that programs of one user share, as the environment names them. */

import { homedir, tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "./env.ts";

/** Ignores a relative path, which would name a folder below the current one. */
const absolute = (folder: string | undefined): string | undefined =>
  folder !== undefined && isAbsolute(folder) ? folder : undefined;

/** Undefined for a user without one, such as a container's that has no entry in the list of users. */
export function homeFolder(): string | undefined {
  try {
    return absolute(homedir());
  } catch {
    return undefined; // It throws where neither the environment nor the system knows of one.
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

/** Where programs keep what should outlive a restart; undefined where there is no such place. */
export function stateFolder(env: Environment): string | undefined {
  const home = homeFolder();
  const state =
    absolute(env["XDG_STATE_HOME"]) ??
    absolute(env["LOCALAPPDATA"]) ??
    (home === undefined ? undefined : join(home, ".local", "state"));
  return state === undefined ? undefined : join(state, "patchbay");
}

/** Where recorded turns are; in a folder of the user's among temporary files where there is no other place. */
export const recordingsFolder = (env: Environment): string =>
  join(stateFolder(env) ?? join(tmpdir(), `patchbay-${userName()}`), "recordings");

/**
 * Where running gateways are found, the best place first. A service and a shell
 * of the same user may see different environments, so whoever looks for a
 * gateway looks in all of them; PATCHBAY_RUNTIME_DIR names one alone.
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

/** A number where users have numbers: names may hold what no path should, and a user may have none. */
const userName = (): string =>
  process.getuid === undefined
    ? userInfo().username.replaceAll(/[^\w.-]/g, "_")
    : String(process.getuid());
