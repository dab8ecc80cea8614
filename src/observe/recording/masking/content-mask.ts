/** Masks what somebody wrote or a model said: text, or JSON in a text. */

import { decodeJson, encodeLike, jsonLeaves } from "./json-leaves.ts";
import { fenceWords, mediaTypes } from "./api-words.ts";
import { isName } from "./leaf-policy.ts";
import { stopMask, type WordMask } from "./word-mask.ts";

export type ContentMaskOptions = {
  readonly words: WordMask;
  /** Stop sequences: each becomes the same wherever it stands, within words too. */
  readonly stops: readonly string[];
  /** Words that stay in texts with markup for calls: the names of tools and of their arguments. */
  readonly keptWords: ReadonlySet<string>;
};

/** Markup that the gateway reads in texts, and what says so. */
const CALL_MARKUP = /<\/?(?:use_tool|tool_call|tool_name|function|invoke|antml)/;
const TAG =
  /<\/?(?:use_tool|tool_call|tool_name|name|arguments|function|invoke|parameter|think(?:ing)?)\b/g;
const FENCE = /(?<=```)\w+/g;
/** What an address of content says of it. */
const DATA_URL = /^data:([\w./+-]*)(?:;base64)?,/g;
const WEB_URL = /\bhttps?(?=:\/\/)/g;

/** The mask of a text: as long in characters and bytes. JSON stays JSON with the same keys. */
export function maskContent(text: string, options: ContentMaskOptions): string {
  if (!/^\s*[{[]/.test(text)) return maskProse(text, options);
  const { words } = options;
  const { leaves, end } = jsonLeaves(text);
  let masked = "";
  let at = 0;
  for (const { type, start, end: to } of leaves) {
    const raw = text.slice(start, to);
    masked += text.slice(at, start) + maskLeaf(type, raw, words, options);
    at = to;
  }
  return masked + text.slice(at, end) + maskProse(text.slice(Math.max(at, end)), options);
}

function maskLeaf(
  type: "string" | "number" | "key",
  raw: string,
  words: WordMask,
  options: ContentMaskOptions,
): string {
  switch (type) {
    case "number":
      return words.number(raw);
    case "key":
      return isName(raw) ? raw : encodeLike(raw, words.text(decodeJson(raw)));
    case "string":
      return encodeLike(raw, maskContent(decodeJson(raw), options));
    default:
      return type satisfies never;
  }
}

function maskProse(text: string, options: ContentMaskOptions): string {
  const ranges = ownRanges(text, options);
  if (ranges.length === 0) return options.words.text(text);
  let masked = "";
  let at = 0;
  for (const { from, to, isStop } of ranges.toSorted((a, b) => a.from - b.from)) {
    if (from < at) continue;
    const own = text.slice(from, to);
    masked += options.words.text(text.slice(at, from)) + (isStop ? stopMask(own) : own);
    at = to;
  }
  return masked + options.words.text(text.slice(at));
}

type Range = { readonly from: number; readonly to: number; readonly isStop: boolean };

/** What is not masked as other words are. */
function ownRanges(text: string, { stops, keptWords }: ContentMaskOptions): Range[] {
  const ranges: Range[] = [];
  const add = (from: number, length: number, isStop: boolean): void =>
    void ranges.push({ from, to: from + length, isStop });
  const keep = (
    pattern: RegExp,
    isKept: (found: RegExpExecArray) => boolean = () => true,
  ): void => {
    for (const found of text.matchAll(pattern))
      if (isKept(found)) add(found.index, found[0].length, false);
  };
  for (const one of stops)
    for (let at = text.indexOf(one); at !== -1; at = text.indexOf(one, at + one.length))
      add(at, one.length, true);
  if (text.startsWith("data:"))
    keep(DATA_URL, ([, type = ""]) => type === "" || mediaTypes.has(type));
  if (text.includes("://")) keep(WEB_URL);
  if (text.includes("```")) keep(FENCE, ([word]) => fenceWords.has(word));
  if (text.includes("<")) keep(TAG);
  if (CALL_MARKUP.test(text)) keep(/[\w.-]+/g, ([word]) => keptWords.has(word));
  return ranges;
}

/** The pattern of a schema: what it says of characters stays, and words in it are masked. */
export const maskPattern = (pattern: string, { words }: ContentMaskOptions): string =>
  pattern.replaceAll(
    /\\[pPkux](?:\{[^}]*\}|<[^>]*>|[\da-fA-F]{2,4})|\\.|\[(?:[^\]\\]|\\.)*\]|\(\?<?\w*[>=!:]?|([\p{L}\p{N}]{2,})/gsu,
    (found, word?: string) => (word === undefined ? found : words.text(word)),
  );
