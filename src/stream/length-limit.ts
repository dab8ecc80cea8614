import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";

/** How many characters of texts and calls an event brings. Doors that repeat the whole answer in their last event keep all of it. */
export function lengthOf(event: TurnEvent<AnyName>): number {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
    case "call-delta":
      return event.text.length;
    default:
      return 0;
  }
}

/** An answer has more characters than one may have. */
export const answerTooLong = (limit: number): Fault =>
  new Fault(
    "upstream.too_long",
    `The answer is longer than ${limit} characters and was ended there; ask for less, or raise \`server.answer_limit\`.`,
  );
