import type { TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { earliest, wake, type Stage } from "./stage.ts";

export type PerChoice<Name extends AnyName> = Stage<TurnEvent<Name>, TurnEvent<Name>> & {
  /** Whether one choice needs nothing more. */
  readonly isDone: (choice: number) => boolean;
};

/**
 * Gives every choice of a turn a stage of its own, so that a rule about calls
 * or text never counts across choices. Events of the whole turn go by
 * untouched; a failure every stage hears of, to close what it holds open, and
 * nothing follows it. `asked` is how many choices the client wants: one that has
 * not begun is not done either. Once all are done no failure spoils them.
 */
export function perChoice<Name extends AnyName>(
  make: () => Stage<TurnEvent<Name>, TurnEvent<Name>>,
  asked = 1,
): PerChoice<Name> {
  const stages = new Map<number, Stage<TurnEvent<Name>, TurnEvent<Name>>>();
  const stageOf = (choice: number): Stage<TurnEvent<Name>, TurnEvent<Name>> => {
    let stage = stages.get(choice);
    if (stage === undefined) stages.set(choice, (stage = make()));
    return stage;
  };
  const isDone = (choice: number): boolean => stages.get(choice)?.done?.() === true;
  const areDone = (): boolean => {
    if (stages.size < asked) return false;
    for (const choice of stages.keys()) if (!isDone(choice)) return false;
    return true;
  };
  return {
    each(event, emit) {
      if ("choice" in event) return stageOf(event.choice).each(event, emit);
      if (event.type === "turn-fail") {
        if (areDone()) return;
        const say = (said: TurnEvent<Name>): void => {
          if (said !== event) emit(said);
        };
        for (const stage of stages.values()) stage.each(event, say);
        stages.clear();
      }
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
    done: areDone,
    isDone,
  };
}
