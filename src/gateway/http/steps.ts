import type { Clock } from "../../turn/clock.ts";

/** Work on a request of more characters is done in steps. */
const LONG = 128 * 1024;
/** The text of one that is longer has taken long to decode. */
export const VERY_LONG = 1024 * 1024;
/** Steps that have taken less time together, in milliseconds, are done one after the other. */
export const SHORT_MS = 5;

export const isLong = (text: string): boolean => text.length > LONG;

/** Called between two steps: where they have taken long, it waits until others were served. */
export type Rest = () => Promise<void> | undefined;

/** Has the steps of work on all long requests done one at a time, and whatever else there is to do in between. */
export class StepQueue {
  readonly #clock: Pick<Clock, "now" | "at">;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Pick<Clock, "now" | "at">) {
    this.#clock = clock;
  }

  /** For the steps of one request, which begin now or began so many milliseconds ago. */
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
