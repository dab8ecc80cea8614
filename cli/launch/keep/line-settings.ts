/**
 * Settings in TOML, YAML and `.env` files: our lines are blocks between two comments, and the user's statement
 * with the same path becomes a comment until the block is taken out.
 */

import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import {
  includes,
  isOurs,
  MARK,
  SettingsProblem,
  type SettingEntry,
  type SettingsFormat,
  type WrittenEntry,
} from "./settings.ts";

/** The whole lines that set one path. */
export type Statement = {
  readonly path: readonly string[];
  readonly first: number;
  /** The line after the last. */
  readonly end: number;
  /** Undefined for the header of a table, and for a value of a kind that we do not write. */
  readonly value?: unknown;
};

type Grammar = {
  /** Throws a SettingsProblem for a text that has another form. */
  statements(text: string): readonly Statement[];
  lines(entry: SettingEntry): readonly string[];
};

const END = "# end of what Patchbay wrote";
/** Precedes each replaced line of the user. */
const ASIDE = "# before Patchbay: ";

const startsWith = (path: readonly string[], start: readonly string[]): boolean =>
  start.every((part, index) => path[index] === part);

/** A TOML table goes to the end of the text, because all keys below it belong to it. */
const isTable = ({ value }: SettingEntry): boolean => typeof value === "object";

const lineSettings = (grammar: Grammar): SettingsFormat => {
  const statementsOf = (lines: readonly string[]): readonly Statement[] =>
    grammar.statements(lines.map((line) => line.replace(/\r$/, "")).join("\n"));
  return {
    write(text, entries, mark) {
      const lines = text.split("\n");
      const written = entries.map((entry): WrittenEntry => {
        const former = setAside(lines, statementsOf(lines), entry);
        return { ...entry, depth: 0, ...(former === "" ? {} : { former }) };
      });
      const end = lines.at(-1) === "" ? lines.length - 1 : lines.length;
      const head = statementsOf(lines)[0]?.first ?? end;
      const blockOf = (some: readonly SettingEntry[]): string[] => block(text, some, grammar, mark);
      insert(lines, end, blockOf(entries.filter(isTable)));
      insert(lines, head, blockOf(entries.filter((entry) => !isTable(entry))));
      return { text: lines.join("\n"), entries: written };
    },
    takeOut(text, entries, isMarkedOnly) {
      const lines = text.split("\n");
      const { marks, inside } = blocksIn(lines);
      const removed = new Set(isMarkedOnly ? [...marks, ...inside] : marks);
      const left: string[] = [];
      const places = new Map<WrittenEntry, number>();
      const statements = statementsOf(lines);
      for (const entry of isMarkedOnly ? [] : entries) {
        const found = statements.filter(({ path }) => startsWith(path, entry.path));
        const [first] = found;
        if (first === undefined) continue;
        if (isOurs(entry, first.value)) {
          places.set(entry, first.first);
          for (const one of found) for (let at = one.first; at < one.end; at++) removed.add(at);
        } else left.push(entry.path.join("."));
      }
      const kept = lines.flatMap((line, at) => (removed.has(at) ? [] : [line]));
      const whole = putBack(kept, statementsOf);
      const present = statementsOf(whole);
      for (const [{ path, former }, place] of places) {
        const isThere = present.some((one) => startsWith(one.path, path));
        const before = [...removed].filter((at) => at < place).length;
        if (former !== undefined && !isThere)
          insert(whole, Math.min(place - before, whole.length), former.split("\n"));
      }
      return { text: whole.join("\n"), left };
    },
  };
};

function insert(lines: string[], at: number, added: readonly string[]): void {
  for (const [index, line] of added.entries()) lines.splice(at + index, 0, line);
}

/** Our lines between two comments, with the line ends of the text. */
function block(
  text: string,
  entries: readonly SettingEntry[],
  grammar: Grammar,
  mark: string,
): string[] {
  if (entries.length === 0) return [];
  const lines = [`# ${mark}`, ...entries.flatMap((entry) => grammar.lines(entry)), END];
  return lines.map((line) => (text.includes("\r\n") ? `${line}\r` : line));
}

/** The numbers of the lines that open and close blocks, and of the lines between. */
function blocksIn(lines: readonly string[]) {
  const marks: number[] = [];
  const inside: number[] = [];
  let start: number | undefined;
  for (const [at, line] of lines.entries())
    if (line.trimStart().startsWith(`# ${MARK}`)) {
      marks.push(at);
      start = at;
    } else if (line.trim() === END) {
      marks.push(at);
      for (let one = (start ?? at) + 1; one < at; one++) inside.push(one);
      start = undefined;
    }
  return { marks, inside };
}

/** Makes comments of the statements that an entry replaces, and gives their lines. */
function setAside(
  lines: string[],
  statements: readonly Statement[],
  { path }: SettingEntry,
): string {
  const around = statements.find(
    (one) => one.value !== undefined && one.path.length < path.length && startsWith(path, one.path),
  );
  if (around !== undefined)
    throw new SettingsProblem(
      `has \`${around.path.join(".")}\` as an inline value (line ${around.first + 1}); write it as a separate table`,
    );
  const former: string[] = [];
  for (const { first, end } of statements.filter((one) => startsWith(one.path, path)))
    for (let index = first; index < end; index++) {
      former.push(lines[index] ?? "");
      lines[index] = ASIDE + (lines[index] ?? "");
    }
  return former.join("\n");
}

/** Makes statements of those comments again, except of those whose path has been set anew. */
function putBack(
  lines: readonly string[],
  statementsOf: (lines: readonly string[]) => readonly Statement[],
): string[] {
  const live = new Set(statementsOf(lines).map(({ path }) => path.join(".")));
  const whole = lines.map((line) => (line.startsWith(ASIDE) ? line.slice(ASIDE.length) : line));
  const repeated = statementsOf(whole).filter(
    ({ path, first }) => lines[first] !== whole[first] && live.has(path.join(".")),
  );
  for (const { first, end } of repeated.toReversed()) whole.splice(first, end - first);
  return whole;
}

/** A value in one line, in a notation that JSON, TOML and YAML share. */
const inline = (value: SettingEntry["value"]): string => JSON.stringify(value);

const word = String.raw`(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')`;
const words = new RegExp(word, "g");
const dotted = String.raw`${word}(?:\s*\.\s*${word})*`;
const header = new RegExp(String.raw`^\s*\[\[?\s*(${dotted})\s*\]\]?\s*(?:#.*)?$`);
const assignment = new RegExp(String.raw`^\s*(${dotted})\s*=\s*`);
/** Strings, comments, brackets and line ends; all other text is skipped. */
const token =
  /"""(?:[^\\]|\\[^])*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[\]{}\n]/g;

/** A value that is one string, number or switch. */
const single = /^("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w.+-]+)\s*(?:#.*)?$/;

const scalar = (text: string): unknown => {
  if (/^'[^'\n]*'$/.test(text)) return text.slice(1, -1);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

/** The statements of a TOML text, each with its full path. Lines of another form are skipped. */
function tomlStatements(text: string): Statement[] {
  const lines = text.split("\n");
  const statements: Statement[] = [];
  const partsOf = (key: string): string[] =>
    (key.match(words) ?? []).map((part) => (/^["']/.test(part) ? String(scalar(part)) : part));
  let table: readonly string[] = [];
  let offset = 0;
  for (let first = 0; first < lines.length;) {
    const line = lines[first] ?? "";
    const [, opened] = header.exec(line) ?? [];
    const [before = "", key] = assignment.exec(line) ?? [];
    let end = first + 1;
    let next = offset + line.length + 1;
    if (opened !== undefined) {
      table = partsOf(opened);
      statements.push({ path: table, first, end });
    } else if (key !== undefined) {
      next = valueEnd(text, offset + before.length) + 1;
      end = first + text.slice(offset, next - 1).split("\n").length;
      const written = text.slice(offset + before.length, next - 1);
      const [, plain] = single.exec(written) ?? [];
      const value = plain === undefined ? written : scalar(plain);
      statements.push({ path: [...table, ...partsOf(key)], first, end, value });
    }
    first = end;
    offset = next;
  }
  return statements;
}

/** The end of the line on which a TOML value ends. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  token.lastIndex = start;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [sign] = found;
    if (sign === "[" || sign === "{") depth++;
    else if (sign === "]" || sign === "}") depth--;
    else if (sign === "\n" && depth <= 0) return found.index;
  }
  return text.length;
}

export const tomlSettings = lineSettings({
  statements: tomlStatements,
  lines({ path, value }) {
    if (typeof value !== "object") return [`${path.join(".")} = ${inline(value)}`];
    const fields = Object.entries(value).map(([field, inner]) => `${field} = ${inline(inner)}`);
    return [`[${path.join(".")}]`, ...fields];
  },
});

const variable = /^\s*(?:export\s+)?([\w.-]+)\s*(?:=|:\s)\s*/;

/** The variables of a `.env` file. A value in quotes may have several lines. */
function envStatements(text: string): Statement[] {
  const lines = text.split("\n");
  const statements: Statement[] = [];
  const closing = quoteFinder(text);
  let offset = 0;
  for (let first = 0; first < lines.length;) {
    const line = lines[first] ?? "";
    const [before = "", name] = variable.exec(line) ?? [];
    const start = offset + before.length;
    const close = name === undefined ? -1 : closing(start);
    const last = close === -1 ? first : first + text.slice(offset, close).split("\n").length - 1;
    if (name !== undefined) {
      const plain = line
        .slice(before.length)
        .replace(/\s+#.*$/, "")
        .trim();
      const value = close === -1 ? plain : text.slice(start + 1, close);
      statements.push({ path: [name], first, end: last + 1, value });
    }
    for (; first <= last; first++) offset += (lines[first] ?? "").length + 1;
  }
  return statements;
}

/** Finds the end of a value in quotes; -1 for another value, and for quotes that never close. */
function quoteFinder(text: string): (start: number) => number {
  const unclosed = new Set<string>();
  return (start) => {
    const quote = text[start] ?? "";
    if (!/^["'`]$/.test(quote) || unclosed.has(quote)) return -1;
    let end = text.indexOf(quote, start + 1);
    while (end > 0 && text[end - 1] === "\\") end = text.indexOf(quote, end + 1);
    // The rest is not searched again for the same quote.
    if (end === -1) unclosed.add(quote);
    return end;
  };
}

export const envSettings = lineSettings({
  statements: envStatements,
  lines({ path, value }) {
    const said = typeof value === "string" ? value : inline(value);
    const quote = /^[\w:/.@+-]*$/.test(said)
      ? ""
      : ["'", '"', "`"].find((one) => !said.includes(one));
    return [`${path.join(".")}=${quote ?? ""}${said}${quote ?? ""}`];
  },
});

/** The document of a YAML text that is a list of keys, or empty. */
function readYaml(text: string) {
  const counter = new LineCounter();
  const options = { prettyErrors: false, uniqueKeys: false, lineCounter: counter };
  const { contents, errors } = parseDocument(text, options);
  /** The line of an offset, from 0. */
  const lineAt = (offset = 0): number => counter.linePos(offset).line - 1;
  const [error] = errors;
  if (error === undefined && contents === null) return { pairs: [], lineAt };
  if (error === undefined && isMap(contents) && contents.flow !== true)
    return { pairs: contents.items, lineAt };
  throw new SettingsProblem(`is not a plain mapping: see line ${lineAt(error?.pos[0]) + 1}`);
}

/** The keys at the left edge of a YAML text. A statement ends before the comments above the next one. */
function yamlStatements(text: string): Statement[] {
  const { pairs, lineAt } = readYaml(text);
  const lines = text.split("\n");
  const firsts = pairs.map(({ key }) => lineAt(key.range?.[0]));
  return pairs.map(({ key, value }, index) => {
    const first = firsts[index] ?? 0;
    let end = firsts[index + 1] ?? lines.length;
    while (end > first + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1] ?? "")) end--;
    const path = [isScalar(key) ? String(key.value) : ""];
    return { path, first, end, value: value === null ? null : (value.toJSON() as unknown) };
  });
}

export const yamlSettings = lineSettings({
  statements: yamlStatements,
  lines: ({ path, value }) => [`${path.join(".")}: ${inline(value)}`],
});

/** Members at the head of a list that a key at the left edge of a YAML text holds. */
export const yamlListSettings: SettingsFormat = {
  write(text, entries, mark) {
    const lines = text.split("\n");
    const written = entries.map((entry): WrittenEntry => {
      const [name = ""] = entry.path;
      const ours = (content: readonly string[]): string[] =>
        content.map((line) => (text.includes("\r\n") ? `${line}\r` : line));
      const list = listIn(lines, entry);
      const end = lines.at(-1) === "" ? lines.length - 1 : lines.length;
      if (list === undefined) insert(lines, end, ours([`${name}:`]));
      else if (!/:\s*(?:#.*)?$/.test(lines[list.first] ?? ""))
        throw new SettingsProblem(
          `has \`${name}\` as an inline value (line ${list.first + 1}); write it as a list with a line for each member`,
        );
      const at = (list?.first ?? end) + 1;
      const indent = /^\s*(?=-)/.exec(lines[at] ?? "")?.[0] ?? "  ";
      const member = [`# ${mark}`, `- ${inline(entry.value)}`, END].map((line) => indent + line);
      insert(lines, at, ours(member));
      return { ...entry, depth: list === undefined ? 0 : 1 };
    });
    return { text: lines.join("\n"), entries: written };
  },
  takeOut(text, entries) {
    const all = text.split("\n");
    const { marks, inside } = blocksIn(all);
    const removed = new Set([...marks, ...inside]);
    const lines = all.filter((_, at) => !removed.has(at));
    for (const entry of entries) {
      if (removed.size === 0) removeMember(lines, entry);
      const list = listIn(lines, entry);
      if (entry.depth === 0 && list?.value === null)
        lines.splice(list.first, list.end - list.first);
    }
    return { text: lines.join("\n"), left: [] };
  },
};

const listIn = (lines: readonly string[], { path: [name] }: SettingEntry): Statement | undefined =>
  yamlStatements(lines.join("\n")).find(({ path }) => path[0] === name);

/** Removes the member with the value of an entry. */
function removeMember(lines: string[], { path: [name], value }: SettingEntry): void {
  const text = lines.join("\n");
  const { pairs, lineAt } = readYaml(text);
  const list = pairs.find(({ key }) => isScalar(key) && key.value === name)?.value;
  if (!isSeq(list) || list.flow === true) return;
  const member = list.items.find((item) => includes(item.toJSON(), value));
  const [start, end] = member?.range ?? [];
  if (start === undefined || end === undefined) return;
  const first = lineAt(start);
  lines.splice(first, lineAt(text.slice(0, end).trimEnd().length) + 1 - first);
}
