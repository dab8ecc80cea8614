import type { Clock } from "../../turn/clock.ts";

// A longer delay overflows the timer and fires at once.
const longest = 2_147_483_647;

/** Whole milliseconds, as durations are logged; by the epoch at the start, so that it reads like a date. */
const now = (): number => Math.floor(origin + performance.now());
/** Read once: it never changes, and to read it takes longer than the clock itself. */
const origin = performance.timeOrigin;

export const systemClock: Clock = {
  now,
  date: () => Date.now(),
  at(moment, then, background) {
    let timer: ReturnType<typeof setTimeout>;
    const wait = (): void => {
      const rest = moment - now();
      timer = rest > longest ? setTimeout(wait, longest) : setTimeout(then, Math.max(0, rest));
      if (background !== undefined && typeof timer === "object") timer.unref();
    };
    wait();
    return () => clearTimeout(timer);
  },
};
