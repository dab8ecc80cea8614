import { wordsOnly } from "../turn/failure-reason.ts";
import type { AttemptReport, Happening, Report } from "./happening.ts";

/** Where everything that happens in a gateway is reported, and everybody who follows it hears it. */
export type Bus = {
  readonly report: Report;
  /** Hears every happening from now on, until the returned function is called. */
  subscribe(listener: Report, options?: SubscribeOptions): () => void;
  /** Whether anybody hears of steps, attempts and calls: else none are made. */
  readonly followsSteps: boolean;
};

export type SubscribeOptions = {
  /** Whether to hear also of each step, attempt and call of a turn. */
  readonly steps?: boolean | undefined;
};

/** Listeners are called in the order they came, and none can keep a happening from another. */
export function createBus(): Bus {
  let listeners: readonly Report[] = [];
  let followers = 0;
  return {
    report(happening: Happening): void {
      for (const listener of listeners)
        try {
          listener(happening);
        } catch {
          // Whoever only follows a turn must not end it.
        }
    },
    get followsSteps() {
      return followers > 0;
    },
    subscribe(listener, { steps = false } = {}) {
      // Everybody has an entry of their own, also who subscribes twice.
      const entry: Report = (happening) => {
        if (steps || !isStep(happening)) listener(happening);
      };
      listeners = [...listeners, entry];
      if (steps) followers++;
      return () => {
        if (steps && listeners.includes(entry)) followers--;
        listeners = listeners.filter((other) => other !== entry);
      };
    },
  };
}

type Reasoned = Pick<AttemptReport, "reason">;

/** The same happening without the messages of reasons, which may quote requests. */
export function withoutMessages(happening: Happening): Happening {
  switch (happening.type) {
    case "turn":
      return happening.attempts.every(hasNone)
        ? happening
        : { ...happening, attempts: happening.attempts.map(told) };
    case "attempt":
    case "fallback":
      return told(happening);
    default:
      return happening;
  }
}

const hasNone = ({ reason }: Reasoned): boolean => reason?.message === undefined;

const told = <One extends Reasoned>(one: One): One =>
  hasNone(one) ? one : { ...one, reason: one.reason && wordsOnly(one.reason) };

const isStep = ({ type }: Happening): boolean =>
  type === "step" || type === "attempt" || type === "call";
