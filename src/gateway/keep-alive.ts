import type { Stage } from "../stream/stage.ts";
import type { Clock } from "../turn/clock.ts";

/** Proxies close a connection that is silent for a minute, some after half of one. */
const SILENCE_MS = 10_000;

/**
 * Lets a client know that its turn is still under way, while a round runs of
 * which it may be shown nothing.
 */
export function keepAlive<Event>(
  clock: Pick<Clock, "now">,
  isHidden: () => boolean,
  write: () => void,
): Stage<Event, Event> {
  let last = clock.now();
  return {
    each(event, emit) {
      last = clock.now();
      emit(event);
    },
    due: () => (isHidden() ? last + SILENCE_MS : undefined),
    lapse(moment) {
      last = moment;
      write();
    },
  };
}
