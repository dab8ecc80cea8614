import type { Happening, Report } from "./happening.ts";

/** Where everything that happens in a gateway is reported, and everybody who follows it hears it. */
export type Bus = {
  readonly report: Report;
  /** Hears every happening from now on, until the returned function is called. */
  subscribe(listener: Report): () => void;
};

/** Listeners are called in the order they came, and none can keep a happening from another. */
export function createBus(): Bus {
  let listeners: readonly Report[] = [];
  return {
    report(happening: Happening): void {
      for (const listener of listeners)
        try {
          listener(happening);
        } catch {
          // Whoever only follows a turn must not end it.
        }
    },
    subscribe(listener) {
      // Everybody has an entry of their own, also who subscribes twice.
      const entry: Report = (happening) => listener(happening);
      listeners = [...listeners, entry];
      return () => {
        listeners = listeners.filter((other) => other !== entry);
      };
    },
  };
}
