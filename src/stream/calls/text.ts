import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Emit, EventStage } from "../stage.ts";

type Event = TurnEvent<ClientName>;

/**
 * Leaves out the text after the last call of one choice. Events after a call wait until another
 * call begins, or until the end shows that it was the last.
 */
export function suppressTail(report: OnDecision): EventStage<ClientName> {
  let waiting: Event[] = [];
  let hasCalled = false;

  const release = (emit: Emit<Event>, isShown: (event: Event) => boolean = () => true): void => {
    const events = waiting;
    waiting = [];
    for (const event of events) if (isShown(event)) emit(event);
  };
  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          release(emit);
          hasCalled = true;
          return emit(event);
        case "refusal-delta":
          // The message of a refusal is always shown.
          release(emit);
          hasCalled = false;
          return emit(event);
        case "turn-end":
        case "turn-fail":
          if (waiting.some(isText))
            report({
              path: "output",
              action: "dropped",
              reason: "text behind the last call is left out",
            });
          release(emit, (one) => !isText(one));
          return emit(event);
        default:
          if (waiting.length > 0 || (hasCalled && isText(event))) waiting.push(event);
          else emit(event);
      }
    },
  };
}

const isText = ({ type }: Event): boolean => type.startsWith("text-");

/** Leaves out the text of one choice if it makes calls. All events wait for its end, so this is for whole answers. */
export function callsAlone(report: OnDecision): EventStage<ClientName> {
  const waiting: Event[] = [];
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
