import type { Clock } from "../turn/clock.ts";

export type PausableClock = Clock & {
  pause(): void;
  resume(): void;
};

type Alarm = { readonly moment: number; readonly ring: () => void; callOff: () => void };

/**
 * A clock that stands still while nobody can say anything. Where a slow client
 * holds an upstream up, that it is silent is not its doing, and no rule that
 * waits for silence may take it for that.
 */
export function pausableClock(clock: Clock): PausableClock {
  /** How long it stood still in all, and since when it does. */
  let lost = 0;
  let since: number | undefined;
  const alarms = new Set<Alarm>();
  const set = (alarm: Alarm): void => {
    alarm.callOff = clock.at(alarm.moment + lost, () => {
      alarms.delete(alarm);
      alarm.ring();
    });
  };
  return {
    now: () => (since ?? clock.now()) - lost,
    date: () => clock.date(),
    at(moment, then) {
      const alarm: Alarm = { moment, ring: then, callOff() {} };
      alarms.add(alarm);
      if (since === undefined) set(alarm);
      return () => {
        alarms.delete(alarm);
        alarm.callOff();
      };
    },
    pause() {
      if (since !== undefined) return;
      since = clock.now();
      for (const alarm of alarms) alarm.callOff();
    },
    resume() {
      if (since === undefined) return;
      lost += clock.now() - since;
      since = undefined;
      for (const alarm of alarms) set(alarm);
    },
  };
}
