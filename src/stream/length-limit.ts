import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { Stage } from "./stage.ts";

/**
 * Ends an answer that is longer than so many characters in all its texts and
 * calls. Doors that repeat the whole answer in their last event keep all of it.
 */
export function lengthLimit<Name extends AnyName>(
  limit: number,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  let length = 0;
  return {
    each(event, emit) {
      if (length > limit) return;
      switch (event.type) {
        case "text-delta":
        case "reasoning-delta":
        case "call-delta":
          length += event.text.length;
          break;
        default:
      }
      emit(length > limit ? { type: "turn-fail", fault: tooLong(limit) } : event);
    },
    done: () => length > limit,
  };
}

const tooLong = (limit: number): Fault =>
  new Fault(
    "upstream.too_long",
    `The answer is longer than ${limit} characters and was ended there; ask for less, or raise \`server.answer_limit\`.`,
  );
