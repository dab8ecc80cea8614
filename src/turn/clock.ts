/** Time, passed in: pure rooms never ask the machine for it. */
export type Clock = {
  /**
   * Milliseconds on a clock that only goes forward, for waiting and for how long
   * something took: the machine's date may be set back while somebody waits.
   */
  now(): number;
  /** Milliseconds since the epoch by the machine's date, for what is shown or stored. */
  date(): number;
  /**
   * Calls `then` at the moment by `now`; the returned function calls it off. A process
   * with nothing else to do does not stay for what is in the `background`.
   */
  at(moment: number, then: () => void, background?: "background"): () => void;
};

/** Waits until something is so, or the moment has come. It is looked at from time to time. */
export function until(clock: Clock, isSo: () => boolean, moment: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isSo() || clock.now() >= moment) return resolve();
      clock.at(Math.min(moment, clock.now() + LOOK_MS), look);
    };
    look();
  });
}

const LOOK_MS = 20;

/** Makes an id with a prefix: `newId("call")` gives `call_` and 24 characters or so. */
export type NewId = (prefix: string) => string;
