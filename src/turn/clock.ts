/** The clock is passed in: pure rooms never read the machine's time. */
export type Clock = {
  /** Milliseconds on a monotonic clock, for waiting and durations: the machine's date may be set back. */
  now(): number;
  /** Milliseconds since the epoch by the machine's date, for output and storage. */
  date(): number;
  /**
   * Calls `then` at a moment of `now`; the returned function cancels that. A timer in the
   * `background` does not keep the process alive.
   */
  at(moment: number, then: () => void, background?: "background"): () => void;
};

/** Waits until a condition is true, or until a moment. The condition is checked at intervals. */
export function until(clock: Clock, isMet: () => boolean, moment: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isMet() || clock.now() >= moment) return resolve();
      clock.at(Math.min(moment, clock.now() + LOOK_MS), look);
    };
    look();
  });
}

const LOOK_MS = 20;

/** The result of some work. If it takes longer than `ms`, the error of `late` is thrown. */
export async function within<Result>(
  clock: Clock,
  ms: number,
  work: Promise<Result>,
  late: () => Error,
): Promise<Result> {
  const timeout = Promise.withResolvers<never>();
  const cancel = clock.at(clock.now() + ms, () => timeout.reject(late()));
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    cancel();
  }
}

/** Makes an id with a prefix: `newId("call")` gives `call_` and 24 characters or so. */
export type NewId = (prefix: string) => string;
