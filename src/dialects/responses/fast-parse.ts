import type { Fields } from "../../turn/turn.ts";
import { fieldsIn, textOf } from "../loose.ts";

/**
 * Most frames differ from the one before in three values: their number, the
 * text of their delta, and padding that hides its length. A template is a frame
 * with holes there. A frame that fits it means the same but for those values,
 * so the rest of it need not be parsed again.
 */
type Template = {
  /** What stands before, between and behind the holes. */
  readonly pieces: readonly string[];
  readonly holes: readonly Hole[];
  /** The frame as parsed, with the values of the last one that fitted. */
  readonly raw: Record<Hole, unknown>;
};
type Hole = "sequence_number" | "delta" | "obfuscation";

/** Frames of these types are read at once and not kept, so they may share one object. */
const spoken =
  /^response\.(output_text|refusal|reasoning_text|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.delta$/;

/** What is put into the holes to see whether they are where we think. */
const PROBE_NUMBER = 987654321;
const PROBE_TEXT = "\u{f0000}hole\u{f0001}";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MOST_PAUSES = 63;

/** Parses frames of one stream: `JSON.parse`, but for those that fit a template. */
export function frameParser(): (data: string) => Fields | undefined {
  let template: Template | undefined;
  // Where frames never fit, templates are tried ever more seldom.
  let pause = 0;
  let rest = 0;
  return (data) => {
    if (template !== undefined) {
      if (fits(template, data)) {
        pause = 0;
        rest = 0;
        return template.raw;
      }
      template = undefined;
    }
    const raw = fieldsIn(data);
    if (raw === undefined || typeof raw.type !== "string" || !spoken.test(raw.type)) return raw;
    if (rest-- > 0) return raw;
    rest = pause;
    pause = Math.min(pause * 2 + 1, MOST_PAUSES);
    template = learn(data, raw);
    return raw;
  };
}

/** Fills the holes from a frame, if it fits. */
function fits({ pieces, holes, raw }: Template, data: string): boolean {
  let at = 0;
  for (let which = 0; which < holes.length; which++) {
    const piece = pieces[which] ?? "";
    const from = at + piece.length;
    // Cheaper than `startsWith`.
    if (data.slice(at, from) !== piece) return false;
    const isNumber = holes[which] === "sequence_number";
    at = isNumber ? numberEnd(data, from) : textEnd(data, from);
    if (at === -1) return false;
    const literal = data.slice(from, at);
    if (isNumber) raw.sequence_number = Number(literal);
    else {
      const text = literal.includes("\\") ? unescaped(literal) : literal;
      if (text === undefined) return false;
      if (holes[which] === "delta") raw.delta = text;
      else raw.obfuscation = text;
    }
  }
  return data.slice(at) === pieces[holes.length];
}

function unescaped(literal: string): string | undefined {
  try {
    return JSON.parse(`"${literal}"`) as string;
  } catch {
    return undefined; // Not a lawful escape: what that means the parser says.
  }
}

/** Behind a whole number that begins at `at`. */
function numberEnd(data: string, at: number): number {
  let end = at;
  while (isDigit(data.charCodeAt(end))) end++;
  const length = end - at;
  if (length === 0 || length > 15) return -1;
  return length > 1 && data[at] === "0" ? -1 : end;
}

const isDigit = (char: number): boolean => char >= 0x30 && char <= 0x39;

/** The quote that closes the string that begins at `at`. */
function textEnd(data: string, at: number): number {
  for (let end = at; end < data.length; end++) {
    const char = data.charCodeAt(end);
    if (char === QUOTE) return end;
    if (char === BACKSLASH) end++;
    else if (char < 0x20) return -1;
  }
  return -1;
}

function learn(data: string, raw: Fields): Template | undefined {
  if (typeof raw.delta !== "string" || typeof raw.sequence_number !== "number") return undefined;
  // Alternatives for each token are another matter each time.
  if (Array.isArray(raw.logprobs) && raw.logprobs.length > 0) return undefined;
  const wanted: Hole[] = ["sequence_number", "delta"];
  if (textOf(raw.obfuscation) !== undefined) wanted.push("obfuscation");
  const spans = wanted.map((hole) => spanOf(data, hole));
  if (spans.some(({ end }) => end === -1)) return undefined;
  spans.sort((one, other) => one.from - other.from);

  const pieces: string[] = [];
  let at = 0;
  for (const { from, end } of spans) {
    pieces.push(data.slice(at, from));
    at = end;
  }
  pieces.push(data.slice(at));
  const holes = spans.map(({ hole }) => hole);
  return isSound(pieces, holes) ? { pieces, holes, raw: { ...raw } as Template["raw"] } : undefined;
}

/** Where the value of a key stands; of a text, between its quotes. */
function spanOf(data: string, hole: Hole): { hole: Hole; from: number; end: number } {
  const isNumber = hole === "sequence_number";
  const key = isNumber ? `"${hole}":` : `"${hole}":"`;
  const from = data.indexOf(key) + key.length;
  if (from < key.length) return { hole, from, end: -1 };
  return { hole, from, end: isNumber ? numberEnd(data, from) : textEnd(data, from) };
}

/**
 * Whether the holes are where we think: the same words may stand anywhere, and
 * a key twice. The rest of a frame that fits is the very text of this one, so
 * it is enough that this one with other values in the holes has them there.
 */
function isSound(pieces: readonly string[], holes: readonly Hole[]): boolean {
  let text = "";
  for (const [which, piece] of pieces.entries()) {
    const hole = holes[which];
    text += piece;
    if (hole !== undefined) text += hole === "sequence_number" ? PROBE_NUMBER : PROBE_TEXT;
  }
  const probe = fieldsIn(text);
  return holes.every(
    (hole) => probe?.[hole] === (hole === "sequence_number" ? PROBE_NUMBER : PROBE_TEXT),
  );
}
