import { existsSync, realpathSync, rmdirSync, rmSync, statSync } from "node:fs";
import { settingsFormats, type SettingsFormatName } from "./formats.ts";
import {
  backupFile,
  digestOf,
  dropJournal,
  readBackup,
  readJournal,
  type Journal,
} from "./journal.ts";
import { changeText, settingsBytes, within } from "./keep.ts";
import { SettingsProblem, type Entry, type WrittenEntry } from "./settings-text.ts";
import { writeWhole } from "../../../src/terminal.ts";

export type Restored =
  /** There was nothing of ours. */
  | { readonly outcome: "nothing" }
  /** It is as it was, to the byte; `gone`: there was none before. */
  | { readonly outcome: "put back"; readonly file: string; readonly gone: boolean }
  /** Our entries are out of a file that has changed since. */
  | {
      readonly outcome: "taken out";
      readonly file: string;
      /** Entries of ours that somebody else has changed, which stay. */
      readonly left: readonly string[];
      readonly backup?: string | undefined;
    }
  /** What is in the file now cannot be read, so it is left to the user. */
  | {
      readonly outcome: "by hand";
      readonly file: string;
      readonly problem: string;
      readonly entries: readonly string[];
      readonly backup?: string | undefined;
    };

type Settings = {
  readonly file: string;
  readonly format: SettingsFormatName;
  /** The names of the entries that `--keep` writes, for marks where the journal is lost. */
  readonly entries: readonly Entry[];
};

/** Undoes what was kept. Asks nobody: neither the gateway nor the agent need be there. */
export function restoreSettings(folder: string, settings: Settings): Restored {
  const journal = readJournal(folder);
  if (journal === undefined) return byMarks(settings);
  const restored = byJournal(folder, journal, settings.format);
  if (restored.outcome !== "by hand") {
    for (const path of journal.own) rmSync(path, { force: true });
    for (const made of journal.folders.toReversed()) removeIfEmpty(made);
    dropJournal(folder, restored.outcome === "taken out");
  }
  return restored;
}

function byJournal(folder: string, journal: Journal, format: SettingsFormatName): Restored {
  const { target: file, mode, entries } = journal;
  const backup = readBackup(folder);
  const kept = backup === undefined ? undefined : backupFile(folder);
  let bytes: Uint8Array | undefined;
  try {
    bytes = settingsBytes(file);
  } catch (error) {
    return byHand(file, error, { entries, kept });
  }
  if (bytes === undefined) return { outcome: "nothing" };
  const digest = digestOf(bytes);
  if (digest === journal.before) return { outcome: "put back", file, gone: false };
  if (digest === journal.after && (mode === undefined || isWhole(backup, journal))) {
    within(file, () => {
      if (mode === undefined || backup === undefined) rmSync(file);
      else writeWhole(file, backup, mode);
    });
    return { outcome: "put back", file, gone: mode === undefined };
  }
  return takenOut(file, bytes, { format, entries, mode, kept });
}

const isWhole = (backup: Uint8Array | undefined, { before }: Journal): boolean =>
  backup !== undefined && digestOf(backup) === before;

type TakingOut = {
  readonly format: SettingsFormatName;
  readonly entries: readonly WrittenEntry[];
  readonly mode?: number | undefined;
  /** The backup. */
  readonly kept?: string | undefined;
  /** Whether entries without a mark may be anybody's. */
  readonly isJournalLost?: boolean | undefined;
};

function takenOut(
  file: string,
  bytes: Uint8Array,
  { format, entries, mode, kept, isJournalLost = false }: TakingOut,
): Restored {
  const backup = kept === undefined ? {} : { backup: kept };
  try {
    const out = changeText(bytes, (text) => settingsFormats[format].takeOut(text, entries));
    const left = isJournalLost ? [] : out.left;
    const after = Buffer.from(out.text);
    if (after.equals(bytes) && left.length === 0) return { outcome: "nothing" };
    const rights = mode ?? statSync(file).mode & 0o777;
    within(file, () => writeWhole(file, after, rights));
    return { outcome: "taken out", file, left, ...backup };
  } catch (error) {
    return byHand(file, error, { entries, kept });
  }
}

/** For a file that cannot be read as settings. */
function byHand(
  file: string,
  error: unknown,
  {
    entries,
    kept,
  }: { readonly entries: readonly WrittenEntry[]; readonly kept?: string | undefined },
): Restored {
  if (!(error instanceof SettingsProblem)) throw error;
  const names = entries.map(({ path }) => path.join("."));
  const backup = kept === undefined ? {} : { backup: kept };
  return { outcome: "by hand", file, problem: error.message, entries: names, ...backup };
}

/** Without a journal only what is marked is known to be ours. */
function byMarks({ file, format, entries }: Settings): Restored {
  if (!existsSync(file)) return { outcome: "nothing" };
  const target = realpathSync(file);
  const marked = entries.map(({ path }): WrittenEntry => ({
    path,
    value: [path.join(".")],
    depth: 0,
  }));
  try {
    const bytes = settingsBytes(target) ?? new Uint8Array();
    return takenOut(target, bytes, { format, entries: marked, isJournalLost: true });
  } catch (error) {
    return byHand(file, error, { entries: marked });
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody has put something into it since.
  }
}
