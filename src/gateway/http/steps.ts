import type { Report } from "../../observe/happening.ts";
import type { Clock } from "../../turn/clock.ts";

/** Characters above which work on a request is done in steps. */
const LONG = 128 * 1024;
/** Characters above which decoding the body has already taken long. */
export const VERY_LONG = 1024 * 1024;
/** Milliseconds of steps that run without a pause. */
export const SHORT_MS = 5;

export const isLong = (text: string): boolean => text.length > LONG;

/** Called between two steps: if they have taken long, waits until other requests were served. */
export type Rest = () => Promise<void> | undefined;

/** Runs the steps of all long requests one at a time; the event loop serves other work in between. */
export class StepQueue {
  readonly #clock: Pick<Clock, "now" | "at">;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Pick<Clock, "now" | "at">) {
    this.#clock = clock;
  }

  /** For the steps of one request, which began `agoMs` milliseconds ago. */
  resting(agoMs = 0): Rest {
    let since = this.#clock.now() - agoMs;
    return () => {
      if (this.#clock.now() - since < SHORT_MS) return undefined;
      return this.#next().then(() => void (since = this.#clock.now()));
    };
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) this.#goLater();
    });
  }

  #goLater(): void {
    this.#clock.at(this.#clock.now(), () => {
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#goLater();
    });
  }
}

/** Receives the duration of each piece of work that ran without a break. */
export type WorkWatch = (work: "request" | "answer", requestId: string, ms: number) => void;

/**
 * Reports work on one request that held the event loop longer than a budget. It reads the clock
 * twice for each request and for each network read of an answer.
 */
export const workWatch =
  (budgetMs: number, report: Report): WorkWatch =>
  (work, requestId, ms) => {
    if (ms > budgetMs) report({ type: "blocked", work, requestId, ms });
  };
