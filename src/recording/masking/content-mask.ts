/** Masks what somebody wrote or a model said: text, or JSON in a text. */

import { decodeJson, encodeLike, jsonLeaves } from "./json-leaves.ts";
import { isName } from "./leaf-policy.ts";
import type { WordMask } from "./word-mask.ts";

export type ContentMaskOptions = {
  readonly words: WordMask;
  /** Texts that stay wherever they stand, such as stop sequences. */
  readonly keptTexts: readonly string[];
  /** Words that stay in texts with markup for calls: the names of tools and of their arguments. */
  readonly keptWords: ReadonlySet<string>;
};

/** Markup that the gateway reads in texts, and what says so. */
const CALL_MARKUP = /<\/?(?:use_tool|tool_call|tool_name|function|invoke|antml)/;
const TAG =
  /<\/?(?:use_tool|tool_call|tool_name|name|arguments|function|invoke|parameter|think(?:ing)?)\b/g;
const FENCE = /(?<=```)\w+/g;
/** What an address of content says of it. */
const DATA_URL = /^data:[\w./+;=-]*,/;
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
  const kept = keptRanges(text, options);
  if (kept.length === 0) return options.words.text(text);
  let masked = "";
  let at = 0;
  for (const [from, to] of kept.toSorted(([a], [b]) => a - b)) {
    if (from < at) continue;
    masked += options.words.text(text.slice(at, from)) + text.slice(from, to);
    at = to;
  }
  return masked + options.words.text(text.slice(at));
}

type Range = readonly [from: number, to: number];

function keptRanges(text: string, { keptTexts, keptWords }: ContentMaskOptions): Range[] {
  const ranges: Range[] = [];
  const keep = (pattern: RegExp): void => {
    for (const { index, 0: found } of text.matchAll(pattern))
      ranges.push([index, index + found.length]);
  };
  if (text.startsWith("data:")) keep(new RegExp(DATA_URL, "g"));
  if (text.includes("://")) keep(WEB_URL);
  if (text.includes("```")) keep(FENCE);
  if (text.includes("<")) keep(TAG);
  for (const one of keptTexts)
    for (let at = text.indexOf(one); at !== -1; at = text.indexOf(one, at + one.length))
      ranges.push([at, at + one.length]);
  if (CALL_MARKUP.test(text))
    for (const { index, 0: word } of text.matchAll(/[\w.-]+/g))
      if (keptWords.has(word)) ranges.push([index, index + word.length]);
  return ranges;
}
