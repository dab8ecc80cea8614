/** Finds the members of objects in JSON text that may have comments and commas at ends, each with its place. */

import { SettingsProblem } from "./settings-text.ts";

export type Member = {
  readonly key: string;
  /** Where its key begins, or the comment right before it that is a mark. */
  readonly start: number;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly marked: boolean;
};

export type ObjectPlace = {
  /** Where its `{` is. */
  readonly start: number;
  /** Behind its `}`. */
  readonly end: number;
  readonly members: readonly Member[];
};

const blank = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const string = /"(?:[^"\\\n]|\\.)*"/y;
const scalar = /[^\s,:{}[\]"/]+/y;

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Behind blanks and comments. */
export const skipBlank = (text: string, at: number): number =>
  at + (match(blank, text, at) ?? "").length;

function broken(text: string, at: number): never {
  const line = text.slice(0, at).split("\n").length;
  throw new SettingsProblem(`is no JSON: look at line ${line}`);
}

/** The end of the value that begins there. */
function valueEnd(text: string, at: number): number {
  const first = text[at];
  if (first === "{") return readObject(text, at, "").end;
  if (first === "[") return arrayEnd(text, at);
  const word = match(first === '"' ? string : scalar, text, at) ?? broken(text, at);
  return at + word.length;
}

function arrayEnd(text: string, start: number): number {
  let at = skipBlank(text, start + 1);
  while (text[at] !== "]") {
    at = skipBlank(text, valueEnd(text, at));
    if (text[at] === ",") at = skipBlank(text, at + 1);
    else if (text[at] !== "]") broken(text, at);
  }
  return at + 1;
}

/** Reads the object whose `{` stands there; comments that hold the mark and end right before a key count to it. */
export function readObject(text: string, start: number, mark: string): ObjectPlace {
  if (text[start] !== "{") broken(text, start);
  const members: Member[] = [];
  let from = start + 1;
  let at = skipBlank(text, from);
  while (text[at] !== "}") {
    const key = match(string, text, at) ?? broken(text, at);
    const own = mark === "" ? undefined : markBefore(text.slice(from, at), mark);
    const colon = skipBlank(text, at + key.length);
    if (text[colon] !== ":") broken(text, colon);
    const valueStart = skipBlank(text, colon + 1);
    const end = valueEnd(text, valueStart);
    members.push({
      key: JSON.parse(key) as string,
      start: own === undefined ? at : from + own,
      keyStart: at,
      valueStart,
      valueEnd: end,
      marked: own !== undefined,
    });
    at = skipBlank(text, end);
    if (text[at] === ",") {
      from = at + 1;
      at = skipBlank(text, from);
    } else if (text[at] !== "}") broken(text, at);
  }
  return { start, end: at + 1, members };
}

/** Where the comment begins that is the last thing in some blank text and holds the mark. */
function markBefore(between: string, mark: string): number | undefined {
  const start = between.lastIndexOf("/*", between.lastIndexOf(mark));
  const isLast = between.indexOf("*/", start) === between.trimEnd().length - 2;
  return start !== -1 && between.includes(mark) && isLast ? start : undefined;
}

/** Where the outermost object is; the whole of an empty text is none. */
export function rootObject(text: string, mark: string): ObjectPlace | undefined {
  const start = skipBlank(text, 0);
  if (start === text.length) return undefined;
  const root = readObject(text, start, mark);
  if (skipBlank(text, root.end) !== text.length) broken(text, root.end);
  return root;
}

/** The value of JSON text with comments. */
export function jsonValue(text: string): unknown {
  const plain = text.replaceAll(
    /("(?:[^"\\\n]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g,
    (_, quoted: string | undefined) => quoted ?? "",
  );
  const strict = plain.replaceAll(
    /("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])/g,
    (_, quoted: string | undefined) => quoted ?? "",
  );
  try {
    return JSON.parse(strict);
  } catch {
    return undefined; // No value of ours is like it.
  }
}
