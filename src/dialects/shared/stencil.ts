/** Matches frames that differ from the one before in a few values, so that they need no parsing. */

import { jsonOf } from "../../json/json.ts";
import { spanAt, type Span } from "../../json/scan.ts";

/**
 * Most frames of a stream differ from the one before in a few values: the text
 * of a delta, perhaps a number, and padding that hides the text's length. A
 * stencil is a frame with holes there. A frame that fits it means the same but
 * for what is in the holes, so the rest of it need not be parsed again.
 */
export type Stencil = {
  /** What stands before, between and behind the holes. */
  readonly pieces: readonly string[];
  readonly holes: readonly Hole["type"][];
  /** What stood in the holes of the last frame that fitted. */
  text: string;
  number: number;
  padding: string;
};

/** Where in a frame a value stands that changes from one to the next. */
export type Hole = {
  readonly type: "text" | "number" | "padding";
  readonly path: readonly string[];
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MOST_PAUSES = 63;

/** Keeps the stencil of the frame that was parsed last. */
export class Stencils {
  #stencil: Stencil | undefined;
  // Where frames never fit, stencils are made ever more seldom.
  #pause = 0;
  #rest = 0;

  /** The stencil with the values of this frame; undefined if the frame has to be parsed. */
  fit(data: string): Stencil | undefined {
    const stencil = this.#stencil;
    if (stencil === undefined) return undefined;
    if (!fits(stencil, data)) {
      this.#stencil = undefined;
      return undefined;
    }
    this.#pause = 0;
    this.#rest = 0;
    return stencil;
  }

  /** Takes a frame that had to be parsed, and whose only effect was what is in the holes. */
  learn(data: string, holes: readonly Hole[]): void {
    if (this.#rest-- > 0) return;
    this.#rest = this.#pause;
    this.#pause = Math.min(this.#pause * 2 + 1, MOST_PAUSES);
    this.#stencil = cut(data, holes);
  }
}

/** Cuts the holes out of a frame, if they are all found. */
export function cut(data: string, holes: readonly Hole[]): Stencil | undefined {
  const spans = holes.map((hole) => spanOf(data, hole)).filter((span) => span !== undefined);
  if (spans.length < holes.length) return undefined;
  spans.sort((one, other) => one.from - other.from);
  const pieces: string[] = [];
  let at = 0;
  for (const { from, end } of spans) {
    pieces.push(data.slice(at, from));
    at = end;
  }
  pieces.push(data.slice(at));
  return { pieces, holes: spans.map(({ type }) => type), text: "", number: 0, padding: "" };
}

/** Takes the values out of a frame, if it fits. A text that says nothing is left to the parser. */
export function fits(stencil: Stencil, data: string): boolean {
  const { pieces, holes } = stencil;
  let at = 0;
  for (let which = 0; which < holes.length; which++) {
    const piece = pieces[which] ?? "";
    const from = at + piece.length;
    // Comparing slices takes a fifth of the time of `startsWith`.
    if (data.slice(at, from) !== piece) return false;
    const type = holes[which] ?? "padding";
    at = valueEnd(data, from, type);
    if (at === -1) return false;
    const literal = data.slice(from, at);
    if (type === "number") stencil.number = Number(literal);
    else if (type === "padding") stencil.padding = literal;
    else {
      const text = literal.includes("\\") ? jsonOf(`"${literal}"`) : literal;
      // Not a lawful escape, or nothing at all.
      if (typeof text !== "string" || text === "") return false;
      stencil.text = text;
    }
  }
  return data.slice(at) === pieces[holes.length];
}

type Found = Span & { readonly type: Hole["type"] };

/**
 * Where the value of a hole stands; of a text, between its quotes. The rest of a
 * frame that fits is the very text of this one, so it is enough to look here.
 */
function spanOf(data: string, { type, path }: Hole): Found | undefined {
  const span = spanAt(data, path);
  if (span === undefined) return undefined;
  const isQuoted = data.charCodeAt(span.from) === QUOTE;
  if (isQuoted !== (type !== "number")) return undefined;
  const from = isQuoted ? span.from + 1 : span.from;
  const end = isQuoted ? span.end - 1 : span.end;
  return valueEnd(data, from, type) === end ? { type, from, end } : undefined;
}

function valueEnd(data: string, at: number, type: Hole["type"]): number {
  return type === "number" ? numberEnd(data, at) : literalEnd(data, at, type === "text");
}

/** The quote that closes the string that begins at `at`; one that is not looked at may hold no escapes. */
function literalEnd(data: string, at: number, mayEscape: boolean): number {
  for (; at < data.length; at++) {
    const char = data.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH) {
      if (!mayEscape) return -1;
      at++;
    } else if (char < 0x20) return -1;
  }
  return -1;
}

/** Behind the whole number that begins at `at`. */
function numberEnd(data: string, at: number): number {
  let end = at;
  while (isDigit(data.charCodeAt(end))) end++;
  const length = end - at;
  if (length === 0 || length > 15) return -1;
  return length > 1 && data[at] === "0" ? -1 : end;
}

const isDigit = (char: number): boolean => char >= 0x30 && char <= 0x39;
