/** Limits what a request body is made of: work on a request takes time for each of its pieces, however short it is. */

import { Fault } from "../../turn/fault.ts";
import { closingQuote } from "../../json/scan.ts";
import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";

/** What is counted, and how much of it a body may have by default. */
const countLimits = {
  /** Commas and opening brackets outside of texts. */
  values: { most: 1_000_000, what: "JSON values" },
  /** The same in one field of the body or, where that is a list, in one entry of it. */
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

/** Throws a Fault where there are more of something than a request may have. */
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

/** The lists of a body, by what their entries are. */
const lists: ReadonlyMap<string, Counted> = new Map([
  ["tools", "tools"],
  ["functions", "tools"],
  ["messages", "items"],
  ["input", "items"],
  ["items", "items"],
]);

/**
 * Checks a body that has been parsed: what it is made of, wherever that stands.
 * `length` is that of its text, where each piece takes two characters or more.
 */
export function checkPieces(body: Fields, length: number, limits: CountLimits): void {
  if (length <= 2 * Math.min(limits.tools, limits.items, limits.parts, limits.fields)) return;
  checkCount("fields", Object.keys(body).length, limits, "");
  let tools = 0;
  for (const key in body) {
    const list = body[key];
    if (!Array.isArray(list)) continue;
    const counted = lists.get(key) ?? "parts";
    if (counted === "items") tools += checkItems(list, limits, key, length);
    else checkCount(counted, list.length, limits, key);
    if (counted === "tools") tools += toolsIn(list);
    checkCount("tools", tools, limits, key);
  }
}

/** Checks a list of items in a text of that length; gives how many tools they bring. */
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

/** Namespaces hold tools too, and so do items that bring some. */
function toolsIn(list: readonly unknown[]): number {
  let tools = list.length;
  for (let at = 0; at < list.length; at++) {
    const inner = (list[at] as Fields | null)?.tools;
    if (Array.isArray(inner)) tools += toolsIn(inner);
  }
  return tools;
}

/** Parts may have parts: those of a result stand in a part of a message. */
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

/** How many values a JSON text holds. */
export function valuesIn(text: string): number {
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const kind = code < 128 ? KINDS[code] : 0;
    if (kind === QUOTE) at = closingQuote(text, at + 1);
    else if (kind === COMMA || kind === OPEN) values++;
  }
  return values;
}

/** A field of a body that holds a list, as its text has it. */
export type List = {
  readonly key: string;
  /** Where its value begins and ends. */
  readonly from: number;
  readonly end: number;
  /** Of a list: the commas that part it into portions. */
  readonly cuts: readonly number[];
};

/** The form of a long body. */
export type Layout = {
  /** The lists that are parsed in portions. */
  readonly parted: readonly List[];
  /** The list that counts as the body's tools, where it is written as its key is. */
  readonly tools: List | undefined;
};

/** So many characters are scanned at once. */
const STRIDE = 4 * 1024 * 1024;
/** A list is parsed in portions of so many values, as a share of what one entry may have. */
const PORTION = 1 / 5;

/** Each value takes two characters or more: a shorter body cannot hold too many. */
export const isSurelySmall = (text: string, { values, values_each, schemas }: CountLimits) =>
  text.length <= 2 * Math.min(values, values_each, schemas);

/**
 * Looks over the text of a body before it is parsed, and throws a Fault where it
 * holds too many values, in steps. What is no JSON is left to the parser.
 */
export function* layOut(text: string, limits: CountLimits): Generator<void, Layout> {
  const layout = new TextLayout(text, limits);
  yield* layout.scan();
  return layout;
}

const QUOTE = 1;
const COMMA = 2;
const OPEN = 3;
const CLOSE = 4;
const COLON = 5;

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/** By character code, of those that matter outside of texts. */
const KINDS = new Uint8Array(128);
for (const [kind, chars] of [
  [QUOTE, '"'],
  [COMMA, ","],
  [OPEN, "[{"],
  [CLOSE, "]}"],
  [COLON, ":"],
] as const)
  for (const char of chars) KINDS[char.charCodeAt(0)] = kind;

/** A field on its way through the scan. */
type OpenField = {
  readonly key: string;
  /** Whether its key is written without escapes. */
  readonly isPlain: boolean;
  /** What was counted before it, before its last entry and before its last portion. */
  readonly before: number;
  beforeEntry: number;
  beforePortion: number;
  /** If it is a list: where that stands, and its entries so far. */
  isList: boolean;
  from: number;
  end: number;
  entries: number;
  readonly cuts: number[];
};

class TextLayout implements Layout {
  readonly parted: List[] = [];
  tools: List | undefined;
  readonly #text: string;
  readonly #limits: CountLimits;
  /** Between two steps: how deep it is, what it has counted, and where the last text stands. */
  #stand: [depth: number, values: number, quote: number, quoteEnd: number] = [0, 0, 0, 0];
  #fields = 0;
  #schemas = 0;
  /** The field with the most values. */
  #largest = { key: "", values: 0 };
  #field = openField("", 0);

  constructor(text: string, limits: CountLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  *scan(): Generator<void, void> {
    const { length } = this.#text;
    for (let at = 0; at < length; at = this.#scanFrom(at, at + STRIDE)) if (at > 0) yield;
    const [, values] = this.#stand;
    checkCount("values", values, this.#limits, this.#largest.key);
    checkCount("fields", this.#fields, this.#limits, "");
  }

  /** Scans a stretch of the text, and a string that begins in it to its end. Gives the place behind. */
  #scanFrom(from: number, to: number): number {
    const text = this.#text;
    const end = Math.min(to, text.length);
    let [depth, values, quote, quoteEnd] = this.#stand;
    let at = from;
    for (; at < end; at++) {
      const code = text.charCodeAt(at);
      const kind = code < 128 ? KINDS[code] : 0;
      if (kind === 0) continue;
      if (kind === QUOTE) {
        quote = at;
        at = quoteEnd = closingQuote(text, at + 1);
      } else if (kind === COMMA) {
        values++;
        if (depth === 2) this.#endEntry(values, at);
        else if (depth === 1) this.#endField(values);
      } else if (kind === OPEN) {
        values++;
        depth++;
        if (depth === 2) this.#beginList(values, at);
      } else if (kind === CLOSE) {
        if (depth === 2) this.#endList(values, at);
        else if (depth === 1) this.#endField(values);
        depth--;
      } else if (depth === 1) this.#field = openField(text.slice(quote + 1, quoteEnd), values);
    }
    this.#stand = [depth, values, quote, quoteEnd];
    return at;
  }

  #beginList(values: number, at: number): void {
    const field = this.#field;
    field.isList = this.#text.charCodeAt(at) === OPEN_LIST;
    field.from = at;
    field.beforeEntry = field.beforePortion = values;
  }

  #endEntry(values: number, comma?: number): void {
    const field = this.#field;
    if (!field.isList) return;
    this.#checkEach(values - field.beforeEntry, field.entries);
    field.entries++;
    field.beforeEntry = values;
    if (comma === undefined || values - field.beforePortion < PORTION * this.#limits.values_each)
      return;
    field.beforePortion = values;
    field.cuts.push(comma);
  }

  #endList(values: number, at: number): void {
    this.#endEntry(values);
    this.#field.end = at + 1;
    // What a brace closes is no list: it is left to the parser as a whole.
    if (this.#text.charCodeAt(at) !== CLOSE_LIST) this.#field.isList = false;
  }

  #endField(values: number): void {
    this.#fields++;
    const field = this.#field;
    const { key, isPlain, isList, entries, cuts } = field;
    const own = values - field.before;
    if (own > this.#largest.values) this.#largest = { key, values: own };
    if (key === "tools") this.tools = isList && isPlain ? field : undefined;
    if (!isList) return this.#checkEach(own);
    const counted = lists.get(key) ?? "parts";
    checkCount(counted, entries, this.#limits, key);
    if (counted === "tools") checkCount("schemas", (this.#schemas += own), this.#limits, key);
    if (cuts.length > 0) this.parted.push(field);
  }

  #checkEach(values: number, entry?: number): void {
    if (values <= this.#limits.values_each) return;
    const { key } = this.#field;
    const path = entry === undefined ? key : `${key}[${entry}]`;
    checkCount("values_each", values, this.#limits, path);
  }
}

function openField(literal: string, values: number): OpenField {
  const isPlain = !literal.includes("\\");
  const key = isPlain ? literal : String(jsonOf(`"${literal}"`));
  const counts = { before: values, beforeEntry: values, beforePortion: values, entries: 0 };
  return { key, isPlain, ...counts, isList: false, from: 0, end: 0, cuts: [] };
}
