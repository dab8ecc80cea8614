/** Wraps sources: errors thrown by a sink end the turn, and pauses stop its clock. */

import type { Clock } from "../turn/clock.ts";
import type { Source } from "./flow.ts";
import type { PausableClock } from "./pausable-clock.ts";

/** A source whose pauses stop the clock too: while a full reply holds it up, no time passes for it. */
export const pausingTime =
  <Event>(source: Source<Event>, time: PausableClock): Source<Event> =>
  (sink) => {
    const flow = source(sink);
    return {
      pause() {
        time.pause();
        flow.pause();
      },
      resume() {
        time.resume();
        flow.resume();
      },
      stop: () => flow.stop(),
    };
  };

/**
 * A source that hands what its sink throws to `crashed`: an error in a stage must
 * end one turn, not the process whose socket happened to call it.
 */
export function guardedSource<Event>(
  source: Source<Event>,
  crashed: (error: unknown) => void,
): Source<Event> {
  return (sink) => {
    let over = false;
    const trap = (error: unknown): void => {
      over = true;
      crashed(error);
    };
    return source({
      each(event) {
        if (over) return;
        try {
          sink.each(event);
        } catch (error) {
          trap(error);
        }
      },
      flush() {
        if (over) return;
        try {
          sink.flush();
        } catch (error) {
          trap(error);
        }
      },
      end() {
        if (over) return;
        try {
          sink.end();
        } catch (error) {
          trap(error);
        }
      },
    });
  };
}

/** The same for a moment that a stage waited for. */
export const guardedClock = (clock: Clock, crashed: (error: unknown) => void): Clock => ({
  now: () => clock.now(),
  date: () => clock.date(),
  at: (moment, then) =>
    clock.at(moment, () => {
      try {
        then();
      } catch (error) {
        crashed(error);
      }
    }),
});
