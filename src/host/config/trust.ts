/**
 * Records the configurations in current folders that this user has trusted. A cloned repository
 * can contain a `patchbay.yaml` that sends keys to its author and runs programs, so a file that
 * no option names is used only in the version that was trusted. The state directory has one file
 * with digests for each path.
 */

import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { jsonOf } from "../../json/json.ts";
import { foreignPlace, readTextFile, writeWhole } from "../platform/careful-files.ts";
import type { Environment } from "./env.ts";
import { stateFolder } from "./user-folders.ts";
import { refusal } from "../platform/print.ts";

/** Digests of a configuration and of the files that it names by relative paths, by their paths. */
export type Digests = ReadonlyMap<string, string>;

const recordSchema = z.object({
  version: z.literal(1),
  path: z.string(),
  digests: z.record(z.string(), z.string()),
});

export const contentDigest = (content: Uint8Array | string): string =>
  createHash("sha256").update(content).digest("hex");

const LONGEST_RECORD = 1_000_000;

/** The path of the trust record of a configuration; undefined without a state directory. */
export function trustFile(path: string, env: Environment): string | undefined {
  const state = stateFolder(env);
  return state === undefined ? undefined : join(state, "trusted", `${contentDigest(path)}.json`);
}

export type Trust = {
  /** The trusted version; undefined if the path was never trusted. */
  readonly digests?: Digests | undefined;
  /** The reason why the records are ignored; it ends a sentence. */
  readonly problem?: string | undefined;
};

/** The trusted version of a path. Records that another user could have written are ignored. */
export function readTrust(path: string, env: Environment): Trust {
  const file = trustFile(path, env);
  if (file === undefined) return {};
  const problem = foreignPlace(dirname(file));
  if (problem !== undefined) return { problem };
  try {
    const record = recordSchema.parse(
      jsonOf(readTextFile(file, { limit: LONGEST_RECORD, isOwn: true })),
    );
    return record.path === path ? { digests: new Map(Object.entries(record.digests)) } : {};
  } catch {
    return {}; // There is no record, or it is damaged: `patchbay trust` is the remedy for both.
  }
}

export function saveTrust(path: string, digests: Digests, env: Environment): void {
  const file = trustFile(path, env);
  if (file === undefined)
    throw refusal(
      "There is no folder for trust records; set HOME or XDG_STATE_HOME, or name the file with `--config`.",
    );
  const record = { version: 1, path, digests: Object.fromEntries(digests) };
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const problem = foreignPlace(dirname(file));
    if (problem !== undefined) throw new Error(problem);
    writeWhole(file, Buffer.from(`${JSON.stringify(record, null, 2)}\n`), 0o600);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw refusal(
      `Trust in ${path} cannot be saved (${code ?? message}); check the owner and the permissions of ${dirname(file)}, or name the file with \`--config\`.`,
      error,
    );
  }
}

/** Removes the record of a path; false if there is no record. */
export function dropTrust(path: string, env: Environment): boolean {
  const file = trustFile(path, env);
  if (file === undefined || readTrust(path, env).digests === undefined) return false;
  rmSync(file, { force: true });
  return true;
}
