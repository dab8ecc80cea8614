/**
 * `patchbay launch AGENT --keep` and `--restore`: changes an agent's settings file and changes it
 * back. A journal in the state folder suffices to undo the changes.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { z } from "zod";
import {
  type Environment,
  FileRefusal,
  homeFolder,
  jsonOf,
  readBytes,
  readTextFile,
  refusal,
  stateFolder,
  writeProblem,
  writeWhole,
} from "../../../src/terminal.ts";
import type { LaunchAgent, Keeping, Lasting, Output, AgentHome } from "../agent.ts";
import { jsonSettings } from "./json-settings.ts";
import { envSettings, tomlSettings, yamlListSettings, yamlSettings } from "./line-settings.ts";
import {
  MARK,
  MOST_SETTINGS,
  SettingsProblem,
  type SettingsFormat,
  type SettingsFormatName,
  type WrittenSettings,
  type WrittenEntry,
} from "./settings.ts";

const settingsFormats: Readonly<Record<SettingsFormatName, SettingsFormat>> = {
  json: jsonSettings(false),
  jsonc: jsonSettings(true),
  toml: tomlSettings,
  yaml: yamlSettings,
  "yaml-list": yamlListSettings,
  env: envSettings,
};

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

const sha256Hex = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** The folder of the journal and the backup of an agent's settings. */
export function journalFolder(agent: string, env: Environment): string {
  const state = stateFolder(env);
  if (state !== undefined) return join(state, "launch", agent);
  throw refusal("There is no folder for a journal; set HOME, or XDG_STATE_HOME.");
}

const journalFile = (folder: string): string => join(folder, "journal.json");

/** The settings file as it was, to the byte. */
const backupFile = (folder: string): string => join(folder, "backup");

export function readJournal(folder: string): Journal | undefined {
  try {
    const text = readTextFile(journalFile(folder), { limit: MOST_JOURNAL, isOwn: true });
    return journalSchema.safeParse(jsonOf(text)).data;
  } catch {
    return undefined; // Without a journal only the marks in the text identify our entries.
  }
}

/** The former settings file; undefined if there was none, or the backup is lost. */
function readBackup(folder: string): Uint8Array | undefined {
  try {
    return readBytes(backupFile(folder), { limit: MOST_JOURNAL, isOwn: true });
  } catch {
    return undefined; // Then a restore goes by the entries alone.
  }
}

/** Room for the entries that a settings file had, as JSON. */
const MOST_JOURNAL = 8_000_000;

export type Kept = {
  readonly file: string;
  /** Further files that were changed. */
  readonly also?: readonly string[];
  readonly notes: readonly string[];
};

export type Restored =
  /** The file holds none of our entries. */
  | { readonly outcome: "nothing" }
  /** The file is as before, byte for byte; `gone`: there was none before. */
  | { readonly outcome: "put back"; readonly file: string; readonly gone: boolean }
  /** The file has changed since, and our entries are taken out of it. */
  | {
      readonly outcome: "taken out";
      readonly file: string;
      /** Entries that have another value by now, which stay. */
      readonly left: readonly string[];
      readonly backup?: string | undefined;
    }
  /** The file cannot be read as settings any more. */
  | {
      readonly outcome: "by hand";
      readonly file: string;
      readonly problem: string;
      readonly entries: readonly string[];
      readonly backup?: string | undefined;
    };

const undo = (agent: LaunchAgent): string => `patchbay launch ${agent.name} --restore`;

/** The settings files of an agent, each with the name of its journal. */
function partsOf(agent: LaunchAgent): readonly Part[] {
  const { keeping } = agent;
  if (keeping === undefined)
    throw refusal(
      `\`--keep\` does not support ${agent.title}; \`patchbay launch ${agent.name}\` works without it.`,
    );
  const first = { agent, keeping, journal: agent.name };
  return keeping.also === undefined
    ? [first]
    : [first, { agent, keeping: keeping.also, journal: `${agent.name}-also` }];
}

type Part = {
  readonly agent: LaunchAgent;
  readonly keeping: Keeping;
  readonly journal: string;
};

/** Points the agent's own settings at a gateway until they are restored: all their files, or none. */
export async function keepAgent(
  agent: LaunchAgent,
  to: Lasting,
  { env, output }: { readonly env: Environment; readonly output: Output },
): Promise<Kept> {
  const files: string[] = [];
  const notes: string[] = [];
  for (const part of partsOf(agent))
    try {
      files.push(await keepPart(part, to, { env, output }));
      const note = part.keeping.note?.(to);
      if (note !== undefined) notes.push(note);
    } catch (error) {
      if (files.length > 0) restoreAgent(agent, env);
      throw error;
    }
  const [file = "", ...also] = files;
  return {
    file,
    ...(also.length > 0 && { also }),
    notes: [
      ...also.map((one) => `${one} was changed too.`),
      ...notes,
      `To undo it: ${undo(agent)}`,
    ],
  };
}

/** Changes one settings file. The journal and the backup are written first. */
async function keepPart(
  part: Part,
  to: Lasting,
  { env, output }: { readonly env: Environment; readonly output: Output },
): Promise<string> {
  const { agent, keeping } = part;
  const file = keeping.file(homeOf(env));
  const texts = Object.entries((await keeping.beside?.(to, output)) ?? {});
  const own = texts.map(([name, text]) => ({ name, text, path: join(dirname(file), name) }));
  // Our earlier entries are undone first, so that the backup is the user's file without them.
  restorePart(part, env);
  const entries = keeping.entries(
    to,
    Object.fromEntries(own.map(({ name, path }) => [name, path])),
  );
  const target = targetOf(file);
  const mark = `${MARK}${undo(agent)}`;
  let bytes: Uint8Array | undefined;
  let written: WrittenSettings;
  try {
    bytes = settingsBytes(target);
    written = changeText(bytes ?? new Uint8Array(), (text) =>
      settingsFormats[keeping.format].write(text, entries, mark),
    );
  } catch (error) {
    if (!(error instanceof SettingsProblem)) throw error;
    throw refusal(`${file} ${error.message}. Nothing was changed.`, error);
  }
  const mode = bytes && statSync(target).mode & 0o777;
  const after = Buffer.from(written.text);
  const folder = journalFolder(part.journal, env);
  const folders = missingFolders(dirname(target));
  writeOrRefuse(`The journal in ${folder}`, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (bytes !== undefined) writeWhole(backupFile(folder), bytes, 0o600);
    const journal: Journal = {
      version: 1,
      agent: agent.name,
      at: new Date().toISOString(),
      file,
      target,
      ...(mode === undefined ? {} : { mode }),
      before: sha256Hex(bytes ?? new Uint8Array()),
      after: sha256Hex(after),
      entries: written.entries,
      folders,
      own: own.map(({ path }) => path),
    };
    const text = `${JSON.stringify(journal, null, 2)}\n`;
    writeWhole(journalFile(folder), Buffer.from(text), 0o600);
  });
  // A file with a key is for its owner alone.
  const isSecret = to.key !== undefined && JSON.stringify(entries).includes(to.key);
  writeOrRefuse(file, () => {
    mkdirSync(dirname(target), { recursive: true });
    for (const { path, text } of own) writeWhole(path, Buffer.from(text), 0o600);
    writeWhole(target, after, isSecret ? 0o600 : (mode ?? 0o600));
  });
  return file;
}

/** The file that a link names. */
const targetOf = (file: string): string => (existsSync(file) ? realpathSync(file) : file);

/** The bytes of a settings file; undefined without a file. Throws a SettingsProblem. */
export function settingsBytes(file: string): Uint8Array | undefined {
  try {
    return readBytes(file, { limit: MOST_SETTINGS });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof FileRefusal) throw new SettingsProblem(error.message);
    throw new SettingsProblem(`cannot be read (${code}); check its permissions`);
  }
}

/** Changes the text of a settings file. Throws a SettingsProblem for a text that its format cannot have. */
export function changeText<Change extends { readonly text: string }>(
  bytes: Uint8Array,
  change: (text: string) => Change,
): Change {
  const text = Buffer.from(bytes).toString("utf8");
  if (!Buffer.from(text).equals(bytes)) throw new SettingsProblem("is not text in UTF-8");
  const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  try {
    const made = change(text.slice(bom.length));
    return { ...made, text: bom + made.text };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SettingsProblem("is nested too deep to be read");
  }
}

/** The folders above a file that do not exist, the outermost first. */
function missingFolders(folder: string): string[] {
  if (existsSync(folder) || dirname(folder) === folder) return [];
  return [...missingFolders(dirname(folder)), folder];
}

/** Runs a function that writes. Throws a Fault with the reason if the system refuses. */
export function writeOrRefuse<Result>(what: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    throw refusal(`${what} cannot be written: it ${writeProblem(error)}.`, error);
  }
}

/** Undoes `keepAgent`, without the gateway and the agent: the last file first. */
export const restoreAgent = (agent: LaunchAgent, env: Environment): readonly Restored[] =>
  partsOf(agent)
    .toReversed()
    .map((part) => restorePart(part, env))
    .toReversed();

/** An unchanged file is replaced by its backup. Without a journal only marks show which entries are ours. */
function restorePart({ keeping, journal: name }: Part, env: Environment): Restored {
  const folder = journalFolder(name, env);
  const journal = readJournal(folder);
  const file = journal?.target ?? targetOf(keeping.file(homeOf(env)));
  const entries: readonly WrittenEntry[] =
    journal?.entries ??
    keeping.entries(nowhere, {}).map(({ path, value }) => ({ path, value, depth: 0 }));
  const saved = journal && readBackup(folder);
  const backup = saved && backupFile(folder);
  let restored: Restored;
  try {
    restored =
      putBack(file, journal, saved) ??
      takeEntriesOut(file, entries, { format: settingsFormats[keeping.format], journal, backup });
  } catch (error) {
    if (!(error instanceof SettingsProblem)) throw error;
    const names = entries.map(({ path }) => path.join("."));
    return { outcome: "by hand", file, problem: error.message, entries: names, backup };
  }
  if (journal === undefined) return restored;
  for (const path of journal.own) rmSync(path, { force: true });
  for (const made of journal.folders.toReversed()) removeIfEmpty(made);
  const keepsBackup = restored.outcome === "taken out";
  rmSync(keepsBackup ? journalFile(folder) : folder, { recursive: true, force: true });
  return restored;
}

/** Only the paths of its entries are used. */
const nowhere: Lasting = { url: "", model: "", small: "", models: [], context: 0 };

/** Restores the former file; undefined if the file has changed since, or its backup is lost. */
function putBack(
  file: string,
  journal: Journal | undefined,
  backup: Uint8Array | undefined,
): Restored | undefined {
  const bytes = settingsBytes(file);
  if (bytes === undefined) return { outcome: "nothing" };
  if (journal === undefined) return undefined;
  const { mode, before, after } = journal;
  const digest = sha256Hex(bytes);
  const isSame = digest === before;
  const gone = !isSame && mode === undefined;
  const isBackup = backup !== undefined && sha256Hex(backup) === before;
  if (!isSame && (digest !== after || !(gone || isBackup))) return undefined;
  if (gone) writeOrRefuse(file, () => rmSync(file));
  else if (!isSame && backup !== undefined)
    writeOrRefuse(file, () => writeWhole(file, backup, mode ?? 0o600));
  return { outcome: "put back", file, gone };
}

function takeEntriesOut(
  file: string,
  entries: readonly WrittenEntry[],
  options: {
    readonly format: SettingsFormat;
    readonly journal: Journal | undefined;
    readonly backup: string | undefined;
  },
): Restored {
  const { format, journal, backup } = options;
  const bytes = settingsBytes(file) ?? new Uint8Array();
  const out = changeText(bytes, (text) => format.takeOut(text, entries, journal === undefined));
  const left = journal === undefined ? [] : out.left;
  const after = Buffer.from(out.text);
  if (after.equals(bytes) && left.length === 0) return { outcome: "nothing" };
  const mode = journal?.mode ?? statSync(file).mode & 0o777;
  writeOrRefuse(file, () => writeWhole(file, after, mode));
  return { outcome: "taken out", file, left, backup };
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder holds other files by now.
  }
}

export function homeOf(env: Environment): AgentHome {
  const home = env["HOME"] ?? homeFolder();
  if (home !== undefined && isAbsolute(home)) return { home, env };
  throw refusal("There is no home directory with settings; set HOME.");
}

const backupLine = ({ backup }: { readonly backup?: string | undefined }): string[] =>
  backup === undefined ? [] : [`Copy of the original file: ${backup}`];

/** The outcome of a restore, in sentences. A file without our entries is not worth one beside another. */
export function restoredLines(agent: LaunchAgent, all: readonly Restored[]): string[] {
  const changed = all.filter(({ outcome }) => outcome !== "nothing");
  const told = changed.length > 0 ? changed : all.slice(0, 1);
  return told.flatMap((restored) => partLines(agent, restored));
}

function partLines(agent: LaunchAgent, restored: Restored): string[] {
  switch (restored.outcome) {
    case "nothing":
      return [`The settings of ${agent.title} contain no entries of Patchbay.`];
    case "put back":
      return [
        restored.gone
          ? `${restored.file} was removed, because it did not exist before.`
          : `${restored.file} is restored byte for byte.`,
      ];
    case "taken out":
      return [
        `${restored.file} has changed since, so only the entries of Patchbay were removed.`,
        ...restored.left.map((name) => `\`${name}\` has another value now and stays.`),
        ...backupLine(restored),
      ];
    case "by hand":
      return [
        `${restored.file} ${restored.problem}, so the entries of Patchbay could not be removed.`,
        `Remove them by hand: ${restored.entries.join(", ")}`,
        ...backupLine(restored),
      ];
    default:
      return restored satisfies never;
  }
}
