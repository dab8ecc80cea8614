/** Limits the numbers of fields, items, tools and values in a request body: even short ones cost time each. */

import { Fault } from "../../turn/fault.ts";
import { closingQuote, skipBlanks, type Span } from "../../json/scan.ts";
import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";

/** The counts that are limited, with their defaults. */
const countLimits = {
  /** Commas and opening brackets outside of strings. */
  values: { most: 1_000_000, what: "JSON values" },
  /** The same in one field of the body, or in one entry if the field is a list. */
  values_each: { most: 50_000, what: "JSON values in one place" },
  /** The same in the lists of tools. */
  schemas: { most: 300_000, what: "JSON values" },
  fields: { most: 10_000, what: "fields" },
  tools: { most: 5_000, what: "tools" },
  items: { most: 50_000, what: "entries" },
  /** Entries of lists within items, and of other lists. */
  parts: { most: 100_000, what: "parts" },
} as const satisfies Record<string, { readonly most: number; readonly what: string }>;

type Counted = keyof typeof countLimits;
export type CountLimits = Readonly<Record<Counted, number>>;

/** The limits of a configuration that sets none. */
export const defaultCounts = Object.fromEntries(
  Object.entries(countLimits).map(([name, { most }]) => [name, most]),
) as CountLimits;

/** Throws a Fault if a count exceeds its limit. */
export function checkCount(
  counted: Counted,
  count: number,
  limits: CountLimits,
  param: string,
): void {
  const most = limits[counted];
  if (count <= most) return;
  const { what } = countLimits[counted];
  const place = param === "" ? "The request body" : `\`${param}\``;
  throw new Fault(
    "request.invalid",
    `${place} has ${count} ${what}, and a request may have ${most}; send fewer, or raise \`server.counts.${counted}\`.`,
    param === "" ? {} : { param },
  );
}

/** The kinds of entries in the lists of a body. */
const lists: ReadonlyMap<string, Counted> = new Map([
  ["tools", "tools"],
  ["functions", "tools"],
  ["messages", "items"],
  ["input", "items"],
  ["contents", "items"],
  ["items", "items"],
]);

/** Checks the counts of a parsed body. `length` is that of its text: each piece takes two characters or more. */
export function checkPieces(body: Fields, length: number, limits: CountLimits): void {
  if (length <= 2 * Math.min(limits.tools, limits.items, limits.parts, limits.fields)) return;
  checkCount("fields", Object.keys(body).length, limits, "");
  let tools = 0;
  for (const key in body) {
    const counted = lists.get(key) ?? "parts";
    const value = body[key];
    // One object may stand for a list of it.
    const list = Array.isArray(value) || counted === "parts" ? value : [value];
    if (!Array.isArray(list)) continue;
    if (counted === "items") tools += checkItems(list, limits, key, length);
    else checkCount(counted, list.length, limits, key);
    if (counted === "tools") tools += toolsIn(list);
    checkCount("tools", tools, limits, key);
  }
}

/** Checks a list of items in a text of that length, and returns the number of tools in them. */
export function checkItems(
  items: readonly unknown[],
  limits: CountLimits,
  path: string,
  length = Infinity,
): number {
  checkCount("items", items.length, limits, path);
  const tools = toolsIn(items) - items.length;
  let parts = 0;
  if (length > 2 * limits.parts) for (const item of items) parts += partsIn(item, 2);
  checkCount("parts", parts, limits, path);
  checkCount("tools", tools, limits, path);
  return tools;
}

/** The fields in which entries of a list hold further tools, as namespaces and items do. */
const nested = ["tools", "functionDeclarations", "function_declarations"];

function toolsIn(list: readonly unknown[]): number {
  let tools = list.length;
  // By index: an iterator for each tool of a long list is 60 kB for each request.
  for (let at = 0; at < list.length; at++)
    for (let kind = 0; kind < nested.length; kind++) {
      const inner = (list[at] as Fields | null)?.[nested[kind] ?? ""];
      if (Array.isArray(inner)) tools += toolsIn(inner);
    }
  return tools;
}

/** Counts parts and their parts: those of a result are in a part of a message. */
function partsIn(value: unknown, levels: number): number {
  if (typeof value !== "object" || value === null || levels === 0) return 0;
  let parts = 0;
  for (const key in value) {
    const list = (value as Fields)[key];
    if (!Array.isArray(list)) continue;
    parts += list.length;
    for (const part of list as readonly unknown[]) parts += partsIn(part, levels - 1);
  }
  return parts;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Counts the values of a JSON text: its commas and opening brackets outside of strings. */
export const countValues = (text: string): number => measure(text, 0, 1).values;

/** Counts the values of the one that begins at `from`. `end`: the offset of the comma or bracket after it. */
function measure(text: string, from: number, open = 0): { end: number; values: number } {
  let values = 0;
  let depth = open;
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at + 1);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      values++;
      depth++;
    } else if (code === COMMA) {
      if (depth === 0) break;
      values++;
    } else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && depth-- === 0) break;
  }
  return { end: at, values };
}

/** A list in a field of a body. */
export type List = Span & {
  readonly key: string;
  /** The commas that divide it into portions. */
  readonly cuts: readonly number[];
};

/** The lists of a long body. */
export type Layout = {
  /** The lists that are parsed in portions. */
  readonly parted: readonly List[];
  /** The list that counts as the body's tools, if its key is written without escapes. */
  readonly tools: List | undefined;
};

/** The number of characters that are scanned in one step. */
const STRIDE = 4 * 1024 * 1024;
/** The size of a portion, as a share of the values that one entry may have. */
const PORTION = 1 / 5;

/** Each value takes two characters or more: a shorter body cannot hold too many. */
export const isSurelySmall = (text: string, { values, values_each, schemas }: CountLimits) =>
  text.length <= 2 * Math.min(values, values_each, schemas);

/**
 * Scans the text of a long body before it is parsed, in steps, and throws a Fault if it holds too
 * many values. It stops where the text is not JSON: the parser reports that.
 */
export function* layOut(text: string, limits: CountLimits): Generator<void, Layout> {
  const parted: List[] = [];
  let tools: List | undefined;
  let largest = { key: "", own: 0 };
  let [values, fields, schemas, scanned] = [1, 0, 0, 0];

  for (let at = firstKey(text), next = COMMA; next === COMMA; at = skipBlanks(text, at + 1)) {
    const keyEnd = closingQuote(text, at + 1);
    const from = skipBlanks(text, skipBlanks(text, keyEnd + 1) + 1);
    if (text.charCodeAt(at) !== QUOTE || from >= text.length) break;
    const literal = text.slice(at + 1, keyEnd);
    const isPlain = !literal.includes("\\");
    const key = isPlain ? literal : String(jsonOf(`"${literal}"`));
    let own = 0;
    let list: List | undefined;
    if (text.charCodeAt(from) === OPEN_LIST) {
      const cuts: number[] = [];
      let [entries, portion] = [0, 0];
      for (at = from; at === from || text.charCodeAt(at) === COMMA; entries++) {
        own++;
        const entry = measure(text, at + 1);
        at = entry.end;
        const isLast = text.charCodeAt(at) !== COMMA;
        const count = entry.values + (isLast ? 0 : 1);
        if (count > limits.values_each)
          checkCount("values_each", count, limits, `${key}[${entries}]`);
        own += entry.values;
        portion += entry.values + 1;
        if (!isLast && portion >= PORTION * limits.values_each) {
          portion = 0;
          cuts.push(at);
        }
        if (at - scanned > STRIDE) {
          yield;
          scanned = at;
        }
      }
      if (text.charCodeAt(at) !== CLOSE_LIST) break;
      list = { key, from, end: at + 1, cuts };
      if (cuts.length > 0) parted.push(list);
      checkCount(lists.get(key) ?? "parts", entries, limits, key);
      at = skipBlanks(text, at + 1);
    } else {
      const field = measure(text, from);
      at = field.end;
      own = field.values;
      if (at - scanned > STRIDE) {
        yield;
        scanned = at;
      }
    }
    next = text.charCodeAt(at);
    if (next === COMMA) own++;
    if (list === undefined) checkCount("values_each", own, limits, key);
    else if (lists.get(key) === "tools") checkCount("schemas", (schemas += own), limits, key);
    fields++;
    values += own;
    if (own > largest.own) largest = { key, own };
    if (key === "tools") tools = list !== undefined && isPlain ? list : undefined;
  }
  checkCount("values", values, limits, largest.key);
  checkCount("fields", fields, limits, "");
  return { parted, tools };
}

/** The offset of the first key of a body, which begins with a brace. */
const firstKey = (text: string): number => skipBlanks(text, skipBlanks(text, 0) + 1);
