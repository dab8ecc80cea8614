/** Settings in formats that are read by lines: TOML and YAML. */

import {
  isOurs,
  MARK,
  SettingsProblem,
  type Entry,
  type SettingsFormat,
  type SettingValue,
  type TakenOut,
  type WrittenEntry,
} from "./settings-text.ts";

/** What stands in some whole lines of a text. */
export type Segment = {
  readonly path: readonly string[];
  readonly first: number;
  /** Behind its last line. */
  readonly end: number;
  /** Whether it opens a table. */
  readonly isHeader: boolean;
};

export type LineGrammar = {
  segments(lines: readonly string[]): readonly Segment[];
  /** The value in the lines of one segment. */
  value(text: string): unknown;
  /** The lines of an entry, the mark on the first. */
  lines(entry: Entry, mark: string): readonly string[];
  /** Whether an entry belongs to the end of the text. */
  isLast(entry: Entry): boolean;
};

/** Before each line of the user's that ours take the place of. */
const ASIDE = "# before Patchbay: ";

const startsWith = (path: readonly string[], start: readonly string[]): boolean =>
  start.every((part, index) => path[index] === part);

/** Lines as they are: a carriage return stays at the end of each that has one. */
export const linesOf = (text: string): string[] => text.split("\n");

/** Lines of ours, as the others of the text end. */
export const endedAs = (text: string, lines: readonly string[]): string[] =>
  lines.map((line) => (text.includes("\r\n") ? `${line}\r` : line));

export function insert(lines: string[], at: number, added: readonly string[]): void {
  for (const [index, line] of added.entries()) lines.splice(at + index, 0, line);
}

export const withoutReturns = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/\r$/, ""));

export const lineSettings = (grammar: LineGrammar): SettingsFormat => ({
  write(text, entries, mark) {
    const lines = linesOf(text);
    const written: WrittenEntry[] = [];
    for (const entry of entries) {
      const former = setAside(lines, grammar, entry);
      written.push({ ...entry, depth: 0, ...(former === "" ? {} : { former }) });
    }
    const last = entries.filter((entry) => grammar.isLast(entry));
    const first = entries.filter((entry) => !last.includes(entry));
    if (last.length > 0) {
      const isOpen = lines.at(-1) !== "";
      const added = endedAs(
        text,
        last.flatMap((entry) => grammar.lines(entry, mark)),
      );
      if (isOpen && text.includes("\r\n")) lines.push(`${lines.pop()}\r`);
      insert(lines, isOpen ? lines.length : lines.length - 1, added);
      if (isOpen) lines.push("");
    }
    const at = grammar.segments(lines)[0]?.first ?? Math.max(0, lines.length - 1);
    const added = first.flatMap((entry) => grammar.lines(entry, mark));
    insert(lines, at, endedAs(text, added));
    return { text: lines.join("\n"), entries: written };
  },
  takeOut(text, entries) {
    const lines = linesOf(text);
    const places = removeMarked(lines, grammar);
    const left = entries.flatMap((entry) => removeByValue(lines, grammar, entry, places));
    putBack(lines, grammar);
    for (const { path, former } of entries) {
      const at = places.get(path.join("."));
      const isThere = grammar.segments(lines).some((one) => startsWith(one.path, path));
      if (former !== undefined && at !== undefined && !isThere)
        insert(lines, Math.min(at, lines.length), linesOf(former));
    }
    return { text: lines.join("\n"), left } satisfies TakenOut;
  },
});

/** Makes comments of what stands where an entry belongs, and gives it as it was. */
function setAside(lines: string[], grammar: LineGrammar, { path }: Entry): string {
  const segments = grammar.segments(lines);
  const around = segments.find(
    (one) => !one.isHeader && one.path.length < path.length && startsWith(path, one.path),
  );
  if (around !== undefined)
    throw new SettingsProblem(
      `has \`${around.path.join(".")}\` in one piece (line ${around.first + 1}); write it as a table of its own`,
    );
  const former: string[] = [];
  for (const { first, end } of segments.filter((one) => startsWith(one.path, path)))
    for (let index = first; index < end; index++) {
      former.push(lines[index] ?? "");
      lines[index] = ASIDE + (lines[index] ?? "");
    }
  return former.join("\n");
}

/** Where entries stood that were removed, by their path. */
type Places = Map<string, number>;

function removeMarked(lines: string[], grammar: LineGrammar): Places {
  const places: Places = new Map();
  const segments = grammar.segments(lines);
  const isMarked = ({ first }: Segment): boolean => lines[first]?.includes(`# ${MARK}`) === true;
  let isInMarked = false;
  const marked = segments.filter((one) => {
    if (one.isHeader) isInMarked = isMarked(one);
    return isInMarked || isMarked(one);
  });
  for (const segment of marked.toReversed()) remove(lines, segment, places);
  return places;
}

function remove(lines: string[], { path, first, end }: Segment, places: Places): void {
  lines.splice(first, end - first);
  for (const [name, at] of places) if (at > first) places.set(name, at - (end - first));
  places.set(path.join("."), first);
}

/** The path of an entry that somebody else has changed, if so. */
function removeByValue(
  lines: string[],
  grammar: LineGrammar,
  entry: Entry,
  places: Places,
): string[] {
  const found = grammar.segments(lines).filter((one) => startsWith(one.path, entry.path));
  const name = entry.path.join(".");
  if (found.length === 0 || places.has(name)) return [];
  const value = (one: Segment | undefined): unknown =>
    one && grammar.value(lines.slice(one.first, one.end).join("\n"));
  if (!isOurs(entry, value(found[0]), false)) return [name];
  for (const segment of found.toReversed()) remove(lines, { ...segment, path: entry.path }, places);
  return [];
}

/** Makes lines of the user's of those that were set aside, but for what is set again by now. */
function putBack(lines: string[], grammar: LineGrammar): void {
  const aside = lines.map((line) => line.startsWith(ASIDE));
  const live = new Set(grammar.segments(lines).map(({ path }) => path.join(".")));
  const whole = lines.map((line) => (line.startsWith(ASIDE) ? line.slice(ASIDE.length) : line));
  const repeated = grammar
    .segments(whole)
    .filter((one) => aside[one.first] === true && live.has(one.path.join(".")));
  for (const [index, line] of whole.entries()) lines[index] = line;
  for (const { first, end } of repeated.toReversed()) lines.splice(first, end - first);
}

/** A value in one line, as JSON, TOML and YAML all have it. */
export const inline = (value: SettingValue): string => JSON.stringify(value);
