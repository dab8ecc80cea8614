import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";

/** Characters that a part of an answer counts in addition, for the object that is kept of it. */
const PART = 64;
/** Share of log probabilities: they are many times as long as their text. */
const LOGPROBS = 1 / 8;
/** Share of notes on an item: its end repeats most of them, and their pictures are large. */
const NOTE = 1 / 4;

/**
 * The number of characters that an event adds to an answer. Doors that repeat the whole answer in
 * their last event keep all of it. Frames, which are only forwarded, count 0.
 */
export function lengthOf(event: TurnEvent<AnyName>): number {
  // The most frequent types come first.
  switch (event.type) {
    case "frame":
      return 0;
    case "text-delta":
      return event.logprobs === undefined
        ? event.text.length
        : event.text.length + LOGPROBS * jsonLength(event.logprobs);
    case "reasoning-delta":
    case "call-delta":
    case "refusal-delta":
      return event.text.length;
    case "text-start":
    case "text-break":
    case "reasoning-start":
    case "item-start":
      return PART;
    case "call-start":
      return (
        PART +
        event.name.length +
        event.id.length +
        (event.extra === undefined ? 0 : jsonLength(event.extra))
      );
    case "text-note":
      return PART + jsonLength(event.annotation);
    case "vendor-extra":
    case "text-end":
      return event.extra === undefined ? 0 : jsonLength(event.extra);
    case "reasoning-end":
      return (event.encrypted?.length ?? 0) + jsonLength(event.details) + jsonLength(event.extra);
    case "item-end":
      return jsonLength(event.raw);
    case "item-note":
      return NOTE * jsonLength(event.raw);
    case "turn-start":
    case "call-end":
    case "usage":
    case "turn-end":
    case "turn-fail":
      return 0;
    default:
      return event satisfies never;
  }
}

const jsonLength = (value: unknown): number =>
  value === undefined ? 0 : JSON.stringify(value).length;

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
