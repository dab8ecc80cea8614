/** Finds the strings and numbers in JSON text, where they stand and under which keys. */

import type { Zone } from "./leaf-policy.ts";

/** An object or list that a value stands in. */
export type Container = {
  readonly parent: Container | undefined;
  /** Under which key or at which place it stands in its parent. */
  readonly key: string | number;
  readonly isList: boolean;
  /** How many objects and lists are around it. */
  readonly depth: number;
  /** Kept by `zoneOf`. */
  zone: Zone | undefined;
  /** Its own short values by their keys: the kinds and numbers of things. */
  readonly fields: Map<string, string>;
};

export type Leaf = {
  readonly type: "string" | "number" | "key";
  /** Of the text without quotes. */
  readonly start: number;
  readonly end: number;
  readonly container: Container;
  readonly key: string | number;
};

export type Leaves = {
  readonly leaves: readonly Leaf[];
  /** Where the text is no JSON any more, or is over. */
  readonly end: number;
};

const STRING_END = /["\\]/g;
const NUMBER = /-?\d+(?:\.\d*)?(?:[eE][+-]?\d*)?/y;
const WORD = /true|false|null/y;
const BLANK = /[ \t\r\n]*/y;
const LONGEST_FIELD = 64;

const containerIn = (
  parent: Container | undefined,
  key: string | number,
  isList: boolean,
): Container => ({
  parent,
  key,
  isList,
  depth: parent === undefined ? 0 : parent.depth + 1,
  zone: undefined,
  fields: new Map(),
});

/** All leaves in the order of the text, as far as it is JSON: it may be cut off anywhere, in a string too. */
export function jsonLeaves(text: string): Leaves {
  const leaves: Leaf[] = [];
  const root = containerIn(undefined, "", true);
  let container: Container = root;
  let key: string | number = 0;
  /** What may stand next. */
  let next: "value" | "key" | "colon" | "comma" = "value";
  let at = 0;
  const enter = (isList: boolean): void => {
    container = containerIn(container, key, isList);
    key = isList ? 0 : "";
    next = isList ? "value" : "key";
    at++;
  };
  const leave = (): void => {
    key = container.key;
    container = container.parent ?? root;
    next = "comma";
    at++;
  };
  const value = (raw: string): void => {
    if (typeof key === "string" && raw.length <= LONGEST_FIELD) container.fields.set(key, raw);
    next = "comma";
  };
  for (;;) {
    at = skip(BLANK, text, at);
    const char = text[at];
    if (char === undefined || (container === root && next === "comma")) return { leaves, end: at };
    const closes = container.isList ? "]" : "}";
    if (char === closes && container !== root && next !== "colon") leave();
    else if (next === "comma" && char === ",") {
      key = typeof key === "number" ? key + 1 : "";
      next = container.isList ? "value" : "key";
      at++;
    } else if (next === "colon" && char === ":") {
      next = "value";
      at++;
    } else if (char === '"' && (next === "key" || next === "value")) {
      const start = at + 1;
      const end = stringEnd(text, start);
      const raw = text.slice(start, end);
      leaves.push({ type: next === "key" ? "key" : "string", start, end, container, key });
      if (next === "key") {
        key = decodeJson(raw);
        next = "colon";
      } else value(raw);
      at = end + 1;
      if (end >= text.length) return { leaves, end: text.length };
    } else if (next === "value" && (char === "{" || char === "[")) enter(char === "[");
    else if (next === "value" && skip(WORD, text, at) > at) {
      at = skip(WORD, text, at);
      next = "comma";
    } else if (next === "value" && skip(NUMBER, text, at) > at) {
      const end = skip(NUMBER, text, at);
      leaves.push({ type: "number", start: at, end, container, key });
      value(text.slice(at, end));
      at = end;
    } else return { leaves, end: at };
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Where the closing quote stands, or the end of a text that is cut off. */
function stringEnd(text: string, start: number): number {
  for (let at = start; ;) {
    STRING_END.lastIndex = at;
    const found = STRING_END.exec(text);
    if (found === null) return text.length;
    if (found[0] === '"') return found.index;
    at = found.index + 2;
  }
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** The text that stands in a JSON string, one unit of UTF-16 for each escape. */
export const decodeJson = (raw: string): string =>
  raw.includes("\\")
    ? raw.replaceAll(ESCAPE, (_, hex?: string, char?: string) =>
        hex === undefined
          ? (escapes[char ?? ""] ?? char ?? "")
          : String.fromCharCode(Number.parseInt(hex, 16)),
      )
    : raw;

/** Another text of the same length as `raw` has it: escaped where `raw` is, so that it stays as long. */
export function encodeLike(raw: string, text: string): string {
  if (!raw.includes("\\")) return text;
  let encoded = "";
  let unit = 0;
  let from = 0;
  for (const found of raw.matchAll(ESCAPE)) {
    const literal = found.index - from;
    encoded += text.slice(unit, unit + literal);
    unit += literal;
    const code = text.charCodeAt(unit++);
    encoded +=
      found[1] === undefined ? found[0] : `\\u${code.toString(16).padStart(4, "0").slice(0, 4)}`;
    from = found.index + found[0].length;
  }
  return encoded + text.slice(unit);
}
