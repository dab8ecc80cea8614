import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";

/** Share of log probabilities: they are many times as long as their text. */
const LOGPROBS = 1 / 8;
/** Share of notes on an item: its end repeats most of them, and their pictures are large. */
const NOTE = 1 / 4;

/**
 * The number of characters that an event adds to an answer: its text, or the whole event as JSON.
 * Doors that repeat the whole answer in their last event keep all of it. Frames, which are only
 * forwarded, count 0.
 */
export function lengthOf(event: TurnEvent<AnyName>): number {
  // The most frequent types come first.
  switch (event.type) {
    case "frame":
      return 0;
    case "text-delta": {
      const { text, logprobs } = event;
      return logprobs === undefined ? text.length : text.length + LOGPROBS * jsonLength(logprobs);
    }
    case "reasoning-delta":
    case "call-delta":
    case "refusal-delta":
      return event.text.length;
    case "item-note":
      return NOTE * jsonLength(event.raw);
    case "turn-start":
    case "call-end":
    case "usage":
    case "turn-end":
    case "turn-fail":
      return 0;
    default:
      return jsonLength(event);
  }
}

const jsonLength = (value: object): number => JSON.stringify(value).length;

export const answerTooLong = (limit: number): Fault =>
  new Fault(
    "upstream.too_long",
    `The answer is longer than ${limit} characters and was ended there; ask for less, or raise \`server.answer_limit\`.`,
  );

/** Characters of an answer that a reader may hold back: only the reader counts them, before they become events. */
const LONGEST_HELD = 16 * 1024 * 1024;

/** Throws a Fault if a reader holds back too much. */
export function checkHeld(length: number): void {
  if (length > LONGEST_HELD) throw answerTooLong(LONGEST_HELD);
}
