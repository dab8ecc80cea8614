import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, FileRefusal, readBytes } from "../../../src/terminal.ts";
import { settingsFormats, type SettingsFormatName } from "./formats.ts";
import { backupFile, digestOf, writeJournal } from "./journal.ts";
import { SettingsProblem, type Entry, type Written } from "./settings-text.ts";
import { writeWhole } from "../../../src/terminal.ts";

/** What shall last in the settings of an agent. */
export type Wanted = {
  readonly agent: string;
  readonly file: string;
  readonly format: SettingsFormatName;
  readonly entries: readonly Entry[];
  /** Files of ours that the settings name: text by path. */
  readonly own: Readonly<Record<string, string>>;
  /** Says how to undo it; a comment beside each entry where the format has comments. */
  readonly mark: string;
  /** Whether a key is among the entries, so that nobody else may read them. */
  readonly isSecret: boolean;
  readonly at: Date;
};

/** Changes a settings file in place; the journal and the backup are on disk before. */
export function keepSettings(folder: string, wanted: Wanted): void {
  const { file, agent } = wanted;
  const target = existsSync(file) ? realpathSync(file) : file;
  const { bytes, text, entries } = changed(wanted, target);
  const mode = bytes && statSync(target).mode & 0o777;
  const after = Buffer.from(text);
  const folders = missingFolders(dirname(target));
  within(`The journal in ${folder}`, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (bytes !== undefined) writeWhole(backupFile(folder), bytes, 0o600);
    writeJournal(folder, {
      version: 1,
      agent,
      at: wanted.at.toISOString(),
      file,
      target,
      ...(mode === undefined ? {} : { mode }),
      before: digestOf(bytes ?? new Uint8Array()),
      after: digestOf(after),
      entries,
      folders,
      own: Object.keys(wanted.own),
    });
  });
  within(file, () => {
    mkdirSync(dirname(target), { recursive: true });
    for (const [path, own] of Object.entries(wanted.own)) writeWhole(path, Buffer.from(own), 0o600);
    writeWhole(target, after, wanted.isSecret ? 0o600 : (mode ?? 0o600));
  });
}

function changed(
  { file, format, entries, mark }: Wanted,
  target: string,
): Written & { readonly bytes: Uint8Array | undefined } {
  try {
    const bytes = settingsBytes(target);
    const change = (rest: string): Written => settingsFormats[format].write(rest, entries, mark);
    return { ...changeText(bytes ?? new Uint8Array(), change), bytes };
  } catch (error) {
    if (!(error instanceof SettingsProblem)) throw error;
    throw new Fault("request.invalid", `${file} ${error.message}. Nothing was changed.`, {}, error);
  }
}

/** Settings are written by people: more is some other file, and takes long to read. */
const LONGEST = 1_000_000;

/** The bytes of a settings file; undefined if there is none. Throws a SettingsProblem. */
export function settingsBytes(file: string): Uint8Array | undefined {
  try {
    return readBytes(file, { limit: LONGEST });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof FileRefusal) throw new SettingsProblem(error.message);
    throw new SettingsProblem(`cannot be read (${code}); check its permissions`);
  }
}

/** Changes the text of a settings file; what cannot be read as its format is a SettingsProblem. */
export function changeText<Change extends { readonly text: string }>(
  bytes: Uint8Array,
  change: (text: string) => Change,
): Change {
  const text = Buffer.from(bytes).toString("utf8");
  if (!Buffer.from(text).equals(bytes)) throw new SettingsProblem("is not text in UTF-8");
  const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  try {
    const changed = change(text.slice(bom.length));
    return { ...changed, text: bom + changed.text };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SettingsProblem("is nested too deep to be read");
  }
}

/** The folders on the way to one that are not there, the outermost first. */
function missingFolders(folder: string): string[] {
  if (existsSync(folder) || dirname(folder) === folder) return [];
  return [...missingFolders(dirname(folder)), folder];
}

/** Runs what writes; where nothing can be written it says so. */
export function within<Result>(what: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      EACCES: "you may not write there",
      EPERM: "you may not write there",
      EROFS: "it is on a file system that is read-only",
      ENOSPC: "the disk is full",
      ENOENT: "its folder is not there",
      ENOTDIR: "its folder is a file",
    };
    const reason = reasons[code] ?? code;
    throw new Fault("request.invalid", `${what} cannot be written: ${reason}.`, {}, error);
  }
}
