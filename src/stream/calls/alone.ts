import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Stage } from "../stage.ts";
import { isText } from "./tail.ts";

/**
 * Leaves out the text of one choice if it makes calls. Whether it does is known
 * at the end, so this is for answers that are given as a whole.
 */
export function callsAlone<Name extends AnyName>(
  report: OnDecision,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const waiting: TurnEvent<Name>[] = [];
  let hasCalled = false;
  return {
    each(event, emit) {
      if (event.type === "call-end" && event.complete) hasCalled = true;
      waiting.push(event);
      if (event.type !== "turn-end" && event.type !== "turn-fail") return;
      const reason = "an answer with calls holds no text in this output mode";
      if (hasCalled && waiting.some(isText)) report({ path: "output", action: "dropped", reason });
      for (const one of waiting) if (!hasCalled || !isText(one)) emit(one);
    },
  };
}
