/** How the text of a settings file is changed in place: what surrounds our entries stays as it is written. */

import { isDeepStrictEqual } from "node:util";
import { isFields } from "../../../src/terminal.ts";

export type SettingValue =
  | string
  | number
  | boolean
  | readonly SettingValue[]
  | { readonly [name: string]: SettingValue };

/** One setting: where it stands, and what it shall be. */
export type Entry = {
  readonly path: readonly string[];
  readonly value: SettingValue;
  /** The part of the value that it is known by, where its program changes the rest; left out: all of it. */
  readonly known?: SettingValue | undefined;
  /** Its very name is ours, so that it is taken out whatever became of its value. */
  readonly owned?: boolean | undefined;
};

/** An entry that was written, and what stood in its place. */
export type WrittenEntry = Entry & {
  /** The entry that it took the place of, as it was written, with its key; left out where there was none. */
  readonly former?: string | undefined;
  /** How many parts of the path were there before. */
  readonly depth: number;
};

export type Written = { readonly text: string; readonly entries: readonly WrittenEntry[] };

export type TakenOut = {
  readonly text: string;
  /** Entries that somebody else has changed since, which stay. */
  readonly left: readonly string[];
};

export type SettingsFormat = {
  /** Writes entries over those that are there; throws a SettingsProblem for a text that it cannot change. */
  write(text: string, entries: readonly Entry[], mark: string): Written;
  /** Takes our entries out again, whatever else has changed since. */
  takeOut(text: string, entries: readonly WrittenEntry[]): TakenOut;
};

/** Why a text cannot be changed, as the end of a sentence about its file. */
export class SettingsProblem extends Error {}

/** What begins each mark; the command that undoes it follows. */
export const MARK = "by Patchbay; undo: ";

/** Whether an entry that is there now is the one that we wrote. */
export const isOurs = (entry: Entry, value: unknown, marked: boolean): boolean =>
  marked || entry.owned === true || includes(value, entry.known ?? entry.value);

/** Whether a value is another, but for fields that somebody has added to its objects. */
export function includes(value: unknown, other: unknown): boolean {
  if (!isFields(value) || !isFields(other)) return isDeepStrictEqual(value, other);
  return Object.entries(other).every(([name, inner]) => includes(value[name], inner));
}

export const lineEnd = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");
