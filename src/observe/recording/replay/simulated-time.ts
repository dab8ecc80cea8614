import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../../turn/clock.ts";

type Alarm = { readonly moment: number; readonly ring: () => void; readonly isBackground: boolean };

/** A clock that jumps to what is due next whenever nothing else is left to do: waits take no time. */
export type SimulatedTime = Clock & {
  /** Lets everything happen until it is so; false: nothing is left that could. */
  run(isSo: () => boolean): Promise<boolean>;
};

export function simulatedTime(date: number): SimulatedTime {
  let now = 0;
  const alarms = new Set<Alarm>();
  const next = (): Alarm | undefined => {
    let first: Alarm | undefined;
    for (const alarm of alarms)
      if (!alarm.isBackground && (first === undefined || alarm.moment < first.moment))
        first = alarm;
    return first;
  };
  return {
    now: () => now,
    date: () => date + now,
    at(moment, ring, background) {
      const alarm = { moment, ring, isBackground: background !== undefined };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
    async run(isSo) {
      for (;;) {
        // What was set off goes on in promises and micro-tasks.
        for (let round = 0; round < SETTLING; round++) await setImmediate();
        if (isSo()) return true;
        const alarm = next();
        if (alarm === undefined) return false;
        alarms.delete(alarm);
        now = Math.max(now, alarm.moment);
        alarm.ring();
      }
    },
  };
}

const SETTLING = 3;
