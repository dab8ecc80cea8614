import type { Clock } from "../../turn/clock.ts";

// A longer delay overflows the timer and fires at once.
const longest = 2_147_483_647;

/** The machine's own time. */
export const systemClock: Clock = {
  now: Date.now,
  at(moment, then, background) {
    let timer: ReturnType<typeof setTimeout>;
    const wait = (): void => {
      const rest = moment - Date.now();
      timer = rest > longest ? setTimeout(wait, longest) : setTimeout(then, Math.max(0, rest));
      if (background !== undefined && typeof timer === "object") timer.unref();
    };
    wait();
    return () => clearTimeout(timer);
  },
};
