import type { TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { earliest, wake, type Stage } from "./stage.ts";

/**
 * Gives every choice of a turn a stage of its own, so that a rule about calls
 * or text never counts across choices. Events of the whole turn go by
 * untouched, and nothing follows a failure. `asked` is how many choices the
 * client wants: one that has not begun is not done either.
 */
export function perChoice<Name extends AnyName>(
  make: () => Stage<TurnEvent<Name>, TurnEvent<Name>>,
  asked = 1,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const stages = new Map<number, Stage<TurnEvent<Name>, TurnEvent<Name>>>();
  const stageOf = (choice: number): Stage<TurnEvent<Name>, TurnEvent<Name>> => {
    let stage = stages.get(choice);
    if (stage === undefined) stages.set(choice, (stage = make()));
    return stage;
  };
  return {
    each(event, emit) {
      if ("choice" in event) return stageOf(event.choice).each(event, emit);
      if (event.type === "turn-fail") stages.clear();
      emit(event);
    },
    end(emit) {
      for (const stage of stages.values()) stage.end?.(emit);
    },
    due() {
      let due: number | undefined;
      for (const stage of stages.values()) due = earliest(due, stage.due?.());
      return due;
    },
    lapse(moment, emit) {
      for (const stage of stages.values()) wake(stage, moment, emit);
    },
    done() {
      if (stages.size < asked) return false;
      for (const stage of stages.values()) if (stage.done?.() !== true) return false;
      return true;
    },
  };
}
