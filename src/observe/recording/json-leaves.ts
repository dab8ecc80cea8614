/** Finds the strings, numbers and keys of JSON text, with their offsets and the keys above them. */

import { walkJson } from "../../json/grammar.ts";

/** The object or list around a value. */
export type Container = {
  readonly parent: Container | undefined;
  /** Its key or its index in its parent. */
  readonly key: string | number;
  readonly isList: boolean;
  readonly depth: number;
  /** The raw text of its short values under `fieldKeys`. */
  readonly fields: Map<string, string>;
  /** Filled in by `isContent`. */
  isContent?: boolean;
};

export type Leaf = {
  readonly type: "string" | "number" | "key";
  /** The offset of its text, without a quote. */
  readonly start: number;
  readonly raw: string;
  readonly container: Container;
  readonly key: string | number;
  /** The text that replaces it; the same until it is masked. */
  masked: string;
};

export type Document = {
  readonly text: string;
  readonly leaves: readonly Leaf[];
  /** The end of the JSON in the text. */
  readonly end: number;
};

/** Fields that distinguish pieces of one text from pieces of another. */
export const fieldKeys = new Set(
  "type method index item_id output_index content_index summary_index jsonPath".split(" "),
);
const LONGEST_FIELD = 64;

/** All leaves in the order of the text, which may be cut off anywhere, in a string too. */
export function jsonLeaves(text: string): Document {
  const leaves: Leaf[] = [];
  const root: Container = { parent: undefined, key: "", isList: true, depth: 0, fields: new Map() };
  let container = root;
  let key: string | number = 0;
  const { end } = walkJson(text, (token, start, tokenEnd) => {
    switch (token) {
      case "object":
      case "list": {
        const isList = token === "list";
        const depth = container.depth + 1;
        container = { parent: container, key, isList, depth, fields: new Map() };
        key = isList ? 0 : "";
        return;
      }
      case "close":
        key = container.key;
        container = container.parent ?? root;
        return;
      case "comma":
        key = typeof key === "number" ? key + 1 : "";
        return;
      default: {
        const raw = text.slice(start, tokenEnd);
        leaves.push({ type: token, start, raw, container, key, masked: raw });
        const isShort = token !== "key" && raw.length <= LONGEST_FIELD;
        if (isShort && typeof key === "string" && fieldKeys.has(key))
          container.fields.set(key, raw);
        if (token === "key") key = decodeJson(raw);
      }
    }
  });
  return { text, leaves, end };
}

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** The document with its masked leaves, and the text after its JSON. */
export function joined({ text, leaves, end }: Document): {
  readonly json: string;
  readonly rest: string;
} {
  let json = "";
  let from = 0;
  for (const { start, raw, masked } of leaves) {
    json += text.slice(from, start) + masked;
    from = start + raw.length;
  }
  return { json: json + text.slice(from, end), rest: text.slice(Math.max(from, end)) };
}

/** The content of a JSON string. Each escape becomes one unit of UTF-16. */
export const decodeJson = (raw: string): string =>
  raw.includes("\\")
    ? raw.replaceAll(ESCAPE, (_, hex?: string, char = "") =>
        hex === undefined ? (escapes[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
      )
    : raw;

/** Another text of the same length, written with escapes where `raw` has them. */
export function encodeLike(raw: string, text: string): string {
  if (!raw.includes("\\")) return text;
  let unit = 0;
  let from = 0;
  let encoded = "";
  for (const found of raw.matchAll(ESCAPE)) {
    encoded += text.slice(unit, (unit += found.index - from));
    const code = text.charCodeAt(unit++).toString(16);
    encoded += found[1] === undefined ? found[0] : `\\u${code.padStart(4, "0").slice(0, 4)}`;
    from = found.index + found[0].length;
  }
  return encoded + text.slice(unit);
}
