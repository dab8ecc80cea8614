/** An edit of a settings file: entries are written into its text and taken out again. */

import { isDeepStrictEqual } from "node:util";
import { isFields, readTextFile } from "../../../src/terminal.ts";

export type SettingValue =
  | string
  | number
  | boolean
  | readonly SettingValue[]
  | { readonly [name: string]: SettingValue };

/** One setting: its path in the file and its value. */
export type SettingEntry = {
  readonly path: readonly string[];
  readonly value: SettingValue;
  /** The part of the value that identifies the entry after its program has changed the rest; default: all of it. */
  readonly known?: SettingValue | undefined;
  /** True if the name itself is ours: the entry is then taken out whatever its value has become. */
  readonly owned?: boolean | undefined;
};

/** An entry that was written, with the text that it replaced. */
export type WrittenEntry = SettingEntry & {
  readonly former?: string | undefined;
  /** The number of parts of the path that existed before. */
  readonly depth: number;
};

export type WrittenSettings = { readonly text: string; readonly entries: readonly WrittenEntry[] };

export type TakenOut = {
  readonly text: string;
  /** Names of entries that have another value by now. They stay. */
  readonly left: readonly string[];
};

export type SettingsFormat = {
  /** Writes entries in place of those with the same path. Throws a SettingsProblem for a text that it cannot change. */
  write(text: string, entries: readonly SettingEntry[], mark: string): WrittenSettings;
  /** Takes entries out, whatever else has changed since. `isMarkedOnly`: the journal is lost, so only marks identify an entry. */
  takeOut(text: string, entries: readonly WrittenEntry[], isMarkedOnly: boolean): TakenOut;
};

/** `yaml-list` adds members at the head of a list. */
export type SettingsFormatName = "json" | "jsonc" | "toml" | "yaml" | "yaml-list" | "env";

/** The reason why a text cannot be changed, as the end of a sentence about its file. */
export class SettingsProblem extends Error {}

/** Every mark begins so; the command that undoes the entry follows. */
export const MARK = "by Patchbay; undo: ";

export const isOurs = (entry: SettingEntry, value: unknown): boolean =>
  entry.owned === true || includes(value, entry.known ?? entry.value);

/** True if a value equals another, apart from additional fields of its objects. */
export function includes(value: unknown, other: unknown): boolean {
  if (!isFields(value) || !isFields(other)) return isDeepStrictEqual(value, other);
  return Object.entries(other).every(([name, inner]) => includes(value[name], inner));
}

/** In bytes. People write settings by hand, so a longer file is something else. */
export const MOST_SETTINGS = 1_000_000;

/** The text of a settings file that is only read; empty without one. */
export function settingsIn(file: string): string {
  try {
    return readTextFile(file, { limit: MOST_SETTINGS });
  } catch {
    return ""; // Most of these files do not exist, and a clone of a repository may bring something else.
  }
}
