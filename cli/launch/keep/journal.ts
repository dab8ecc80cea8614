/** The journal of `patchbay launch --keep` in the state folder: it suffices to undo the changes. */

import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  type Environment,
  jsonOf,
  readBytes,
  readTextFile,
  refusal,
  stateFolder,
  writeWhole,
} from "../../../src/terminal.ts";
import type { WrittenEntry } from "./settings.ts";

const journalSchema = z.object({
  version: z.literal(1),
  agent: z.string(),
  at: z.string(),
  /** The settings file, and where it is if its name is a link. */
  file: z.string(),
  target: z.string(),
  /** Its access rights; none: there was no such file. */
  mode: z.number().optional(),
  /** Digests of its content before and after. */
  before: z.string(),
  after: z.string(),
  entries: z.custom<readonly WrittenEntry[]>(Array.isArray),
  /** Folders that were made for it, the innermost last. */
  folders: z.array(z.string()),
  /** Additional files that the settings name. */
  own: z.array(z.string()),
});

export type Journal = z.infer<typeof journalSchema>;

export const sha256Hex = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** The folder of the journal and the backup of an agent's settings. */
export function journalFolder(agent: string, env: Environment): string {
  const state = stateFolder(env);
  if (state !== undefined) return join(state, "launch", agent);
  throw refusal("There is no folder for a journal; set HOME, or XDG_STATE_HOME.");
}

const journalFile = (folder: string): string => join(folder, "journal.json");

/** The settings file as it was, to the byte. */
export const backupFile = (folder: string): string => join(folder, "backup");

export function readJournal(folder: string): Journal | undefined {
  try {
    const text = readTextFile(journalFile(folder), { limit: LONGEST, isOwn: true });
    return journalSchema.safeParse(jsonOf(text)).data;
  } catch {
    return undefined; // Without a journal only the marks in the text identify our entries.
  }
}

/** The former settings file; undefined if there was none, or the backup is lost. */
export function readBackup(folder: string): Uint8Array | undefined {
  try {
    return readBytes(backupFile(folder), { limit: LONGEST, isOwn: true });
  } catch {
    return undefined; // Then a restore goes by the entries alone.
  }
}

/** Room for the entries that a settings file had, as JSON. */
const LONGEST = 8_000_000;

export function writeJournal(folder: string, journal: Journal): void {
  writeWhole(journalFile(folder), Buffer.from(`${JSON.stringify(journal, null, 2)}\n`), 0o600);
}

export function dropJournal(folder: string, keepsBackup: boolean): void {
  rmSync(keepsBackup ? journalFile(folder) : folder, { recursive: true, force: true });
}
