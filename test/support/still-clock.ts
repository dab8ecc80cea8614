import type { Clock } from "../../src/turn/clock.ts";

export type StillClock = Clock & {
  /** Lets time pass: calls what falls due on the way, in order, also what that sets in turn. */
  move(ms: number): void;
  /** How many moments are still waited for. */
  waiting(): number;
};

type Alarm = { readonly moment: number; readonly ring: () => void };

/** A clock that stands still until it is moved. */
export function stillClock(start = 0): StillClock {
  let now = start;
  const alarms = new Set<Alarm>();
  const next = (until: number): Alarm | undefined => {
    let first: Alarm | undefined;
    for (const alarm of alarms)
      if (alarm.moment <= until && (first === undefined || alarm.moment < first.moment))
        first = alarm;
    return first;
  };
  return {
    now: () => now,
    date: () => now,
    at(moment, then) {
      const alarm = { moment, ring: then };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
    move(ms) {
      const until = now + ms;
      for (let alarm = next(until); alarm !== undefined; alarm = next(until)) {
        alarms.delete(alarm);
        now = Math.max(now, alarm.moment);
        alarm.ring();
      }
      now = until;
    },
    waiting: () => alarms.size,
  };
}
