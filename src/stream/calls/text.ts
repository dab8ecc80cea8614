import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Emit, Stage } from "../stage.ts";

/**
 * Leaves out the text behind the last call of one choice. Whether a call was the
 * last is known at the end, so what follows one waits until another begins.
 */
export function suppressTail<Name extends AnyName>(
  report: OnDecision,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  let waiting: TurnEvent<Name>[] = [];
  let hasCalled = false;

  const release = (
    emit: Emit<TurnEvent<Name>>,
    keep: (event: TurnEvent<Name>) => boolean,
  ): void => {
    const events = waiting;
    waiting = [];
    for (const event of events) if (keep(event)) emit(event);
  };
  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          release(emit, () => true);
          hasCalled = true;
          return emit(event);
        case "refusal-delta":
          // A refusal is no small talk: its message is shown.
          release(emit, () => true);
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

const textEvents: ReadonlySet<string> = new Set([
  "text-start",
  "text-delta",
  "text-break",
  "text-note",
  "text-end",
]);

const isText = ({ type }: { readonly type: string }): boolean => textEvents.has(type);

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
