import { earliest, type Stage } from "./stage.ts";

/**
 * Gives every choice of a turn a stage of its own, so that a rule about calls
 * or text never counts across choices. Events of the whole turn go by untouched.
 */
export function perChoice<Event extends object>(
  make: () => Stage<Event, Event>,
): Stage<Event, Event> {
  const stages: (Stage<Event, Event> | undefined)[] = [];
  const all = (): Stage<Event, Event>[] => stages.filter((stage) => stage !== undefined);
  return {
    each(event, emit) {
      if (!("choice" in event) || typeof event.choice !== "number") return emit(event);
      (stages[event.choice] ??= make()).each(event, emit);
    },
    end(emit) {
      for (const stage of all()) stage.end?.(emit);
    },
    due: () =>
      all().reduce<number | undefined>((due, stage) => earliest(due, stage.due?.()), undefined),
    lapse(emit) {
      for (const stage of all()) stage.lapse?.(emit);
    },
    done: () => stages.length > 0 && all().every((stage) => stage.done?.() ?? false),
  };
}
