import type { TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { earliestDue, wake, type EventStage } from "./stage.ts";

export type PerChoice<Name extends AnyName> = EventStage<Name> & {
  /** True if one choice needs nothing more. */
  readonly isDone: (choice: number) => boolean;
};

/**
 * Gives each choice of a turn its own stage, so that a rule about calls or text never counts
 * across choices. Events of the whole turn pass unchanged. Every stage receives a failure, to
 * close its open blocks, and nothing follows it. `asked` is the number of choices that the client
 * wants: one that has not begun is not done either. Once all are done, a failure is ignored.
 */
export function perChoice<Name extends AnyName>(
  make: () => EventStage<Name>,
  asked = 1,
): PerChoice<Name> {
  const stages = new Map<number, EventStage<Name>>();
  const isDone = (choice: number): boolean => stages.get(choice)?.done?.() === true;
  const areDone = (): boolean => {
    if (stages.size < asked) return false;
    for (const choice of stages.keys()) if (!isDone(choice)) return false;
    return true;
  };
  return {
    each(event, emit) {
      if ("choice" in event) {
        let stage = stages.get(event.choice);
        if (stage === undefined) stages.set(event.choice, (stage = make()));
        return stage.each(event, emit);
      }
      if (event.type === "turn-fail") {
        if (areDone()) return;
        const emitOther = (other: TurnEvent<Name>): void => {
          if (other !== event) emit(other);
        };
        for (const stage of stages.values()) stage.each(event, emitOther);
        stages.clear();
      }
      emit(event);
    },
    end(emit) {
      for (const stage of stages.values()) stage.end?.(emit);
    },
    due: () => earliestDue(stages.values()),
    lapse(moment, emit) {
      for (const stage of stages.values()) wake(stage, moment, emit);
    },
    done: areDone,
    isDone,
  };
}
