/** Reads frames that differ from the one before only in the text of a delta, without parsing them. */

import type {
  CallDelta,
  Literals,
  ReasoningDelta,
  TextDelta,
  TurnEvent,
} from "../../turn/event.ts";
import { jsonOf } from "../../json/json.ts";
import { closingQuote, skipBlanks, valueEnd, type Span } from "../../json/scan.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";

type Event = TurnEvent<UpstreamName>;

/** A delta that comes in many frames. */
export type Delta = TextDelta | ReasoningDelta | CallDelta;

/** Frames that follow one another, read as one delta. */
export type FrameRun = {
  readonly literals: Literals;
  /** The offset of the next frame. */
  readonly end: number;
};

/**
 * A value that changes from frame to frame: the text of the delta, padding that hides the length of
 * the text, a sequence number, or a count of tokens.
 */
type Hole = {
  readonly type: "text" | "padding" | "number" | "count";
  /** The key of the value, which must stand once in the frame. */
  readonly key: string;
};

/** A parsed frame that later frames may repeat, and the object and the key that hold its text. */
export type Repeated = {
  readonly raw: Fields;
  readonly holder: Record<string, unknown>;
  readonly key: string;
  /** The key of an object whose numbers may differ: the reader finds them in the last frame of a run. */
  readonly counts?: string;
};

/** The text of a frame on the wire, cut at its holes. */
type Stencil = {
  /** Text before, between and behind the holes. */
  readonly pieces: readonly string[];
  readonly holes: readonly Hole["type"][];
};

const ZERO = 0x30;
const NINE = 0x39;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COLON = 0x3a;
const MOST_PAUSES = 63;

/**
 * Most frames of a stream have the same text but for a delta. A stencil is such a frame with holes:
 * a frame that fits it has the same meaning with another delta, so that a loop over the text of a network
 * read replaces parsing.
 */
export class FrameRuns {
  #stencil: Stencil | undefined;
  /** The frame of the stencil, with the text of the last run; a reader forgets it where frames begin to mean something else. */
  repeated: Repeated | undefined;
  // If frames never fit, stencils are made less and less often.
  #pause = 0;
  #rest = 0;
  /** Events of the frame that is being read, and the last of them. */
  #events = 0;
  #last: Event | undefined;
  #run: FrameRun | undefined;

  /** A frame begins. */
  begin(): void {
    this.#events = 0;
    this.#run = undefined;
  }

  /** Notes an event of the frame. The delta of a run receives the literals of the run. */
  pass(event: Event): Event {
    this.#events++;
    this.#last = event;
    const run = this.#run;
    return run !== undefined && isDelta(event) && event.text === run.literals.of
      ? { ...event, literals: run.literals }
      : event;
  }

  /** The delta of the frame, if the frame emitted no other event. */
  onlyDelta(): Delta | undefined {
    const event = this.#events === 1 ? this.#last : undefined;
    return event !== undefined && isDelta(event) && !("logprobs" in event) ? event : undefined;
  }

  /** Makes a stencil of a frame whose only effect is the text of its delta. */
  learn(data: string, name: string | undefined, frame: Repeated): void {
    if (this.#rest-- > 0) return;
    this.#rest = this.#pause;
    this.#pause = Math.min(this.#pause * 2 + 1, MOST_PAUSES);
    this.#stencil = data.includes("\n") ? undefined : stencilOf(data, name, frame);
    this.repeated = frame;
  }

  /** Begins a run: the frames of a text that fit, from `at` on. `sequence`: the number of the first. */
  take(text: string, at: number, sequence = 0): FrameRun | undefined {
    const [stencil, repeated] = [this.#stencil, this.repeated];
    if (stencil === undefined || repeated === undefined) return undefined;
    const literals: string[] = [];
    const end = matchFrames(stencil, literals, { text, at, sequence });
    if (literals.length === 0) return undefined;
    const joined = literals.join("");
    const read = joined.includes("\\") ? jsonOf(`"${joined}"`) : joined;
    if (typeof read !== "string") {
      // The parser finds the frame that is no JSON.
      this.#stencil = undefined;
      return undefined;
    }
    this.#pause = 0;
    this.#rest = 0;
    const pieces = hasOtherEscapes(joined) ? literals.map(rewritten) : literals;
    repeated.holder[repeated.key] = read;
    this.#events = 0;
    return (this.#run = { literals: { of: read, pieces }, end });
  }
}

const isDelta = (event: Event): event is Delta =>
  event.type === "text-delta" || event.type === "call-delta" || event.type === "reasoning-delta";

/** `JSON.stringify` escapes neither slashes nor characters by their numbers, with few exceptions. */
const hasOtherEscapes = (literal: string): boolean => /\\[u/]/.test(literal);

const rewritten = (literal: string): string => JSON.stringify(jsonOf(`"${literal}"`)).slice(1, -1);

/** Collects the texts of frames that fit; returns where the first frame that does not fit begins. */
function matchFrames(
  { pieces, holes }: Stencil,
  literals: string[],
  from: { readonly text: string; readonly at: number; readonly sequence: number },
): number {
  const { text } = from;
  const last = pieces[holes.length] ?? "";
  for (let frame = from.at, { sequence } = from; ; sequence++) {
    let at = frame;
    let literal = "";
    for (let hole = 0; hole < holes.length; hole++) {
      const piece = pieces[hole] ?? "";
      const start = at + piece.length;
      // Comparing slices takes a fifth of the time of `startsWith`.
      if (text.slice(at, start) !== piece) return frame;
      const type = holes[hole];
      if (type === "number") {
        const number = String(sequence);
        at = start + number.length;
        if (text.slice(start, at) !== number) return frame;
        continue;
      }
      if (type === "count") {
        for (at = start; text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE; at++);
        if (at === start || (text.charCodeAt(start) === ZERO && at > start + 1)) return frame;
        continue;
      }
      // The quote that closes the string.
      for (at = start; at < text.length && text.charCodeAt(at) !== QUOTE; at++) {
        const char = text.charCodeAt(at);
        if (char < SPACE) return frame;
        if (char === BACKSLASH) at++;
      }
      if (type === "text") literal = text.slice(start, at);
      else if (text.slice(start, at).includes("\\")) return frame;
    }
    // The parser knows what a frame without text means.
    if (literal === "" || text.slice(at, at + last.length) !== last) return frame;
    literals.push(literal);
    frame = at + last.length;
  }
}

/** Text of a delta, and the pieces that it came in. */
export type Pieces = { readonly text: string; readonly literals?: Literals | undefined };

/** The pieces of a text as JSON strings without quotes: writers write a frame for each. */
export const literalsOf = ({ text, literals }: Pieces): readonly string[] =>
  literals?.of === text ? literals.pieces : [JSON.stringify(text).slice(1, -1)];

/** A piece of reasoning that begins another paragraph, for dialects with one text of reasoning. */
export function asNextParagraph(piece: Pieces): Pieces {
  const text = `\n\n${piece.text}`;
  const [first = "", ...others] = literalsOf(piece);
  return { text, literals: { of: text, pieces: [`\\n\\n${first}`, ...others] } };
}

/** Cuts the holes out of a frame, if all of them are found. */
function stencilOf(
  data: string,
  name: string | undefined,
  { raw, key, counts = "" }: Repeated,
): Stencil | undefined {
  const holes: Hole[] = [{ type: "text", key }];
  if (raw.sequence_number !== undefined) holes.push({ type: "number", key: "sequence_number" });
  if (raw.obfuscation !== undefined) holes.push({ type: "padding", key: "obfuscation" });
  const spans: (Span & Pick<Hole, "type">)[] = [];
  for (const { type, key } of holes) {
    const span = onlyValue(data, key, type !== "number");
    if (span === undefined) return undefined;
    spans.push({ ...span, type });
  }
  if (raw[counts] !== undefined) {
    const span = onlyValue(data, counts, false);
    if (span === undefined) return undefined;
    for (const { index, 0: digits } of data
      .slice(span.from, span.end)
      .matchAll(/(?<=:)\d+(?=[,}])/g))
      spans.push({
        from: span.from + index,
        end: span.from + index + digits.length,
        type: "count",
      });
  }
  spans.sort((one, other) => one.from - other.from);
  const pieces: string[] = [];
  let at = 0;
  for (const { from, end } of spans) {
    pieces.push(data.slice(at, from));
    at = end;
  }
  pieces.push(data.slice(at));
  // An escaped key could be the real one.
  for (const piece of pieces) if (piece.includes("\\u")) return undefined;
  const last = pieces.length - 1;
  pieces[last] += "\n\n";
  pieces[0] = `${name === undefined ? "" : `event: ${name}\n`}data: ${pieces[0]}`;
  return { pieces, holes: spans.map(({ type }) => type) };
}

/** The value of a key that stands once in a frame; of a text the part between its quotes. */
function onlyValue(data: string, key: string, isText: boolean): Span | undefined {
  const quoted = `"${key}"`;
  const at = data.indexOf(quoted);
  if (at === -1 || data.indexOf(quoted, at + 1) !== -1) return undefined;
  const colon = skipBlanks(data, at + quoted.length);
  const from = skipBlanks(data, colon + 1);
  if (data.charCodeAt(colon) !== COLON || (data.charCodeAt(from) === QUOTE) !== isText)
    return undefined;
  return isText
    ? { from: from + 1, end: closingQuote(data, from + 1) }
    : { from, end: valueEnd(data, from) };
}
