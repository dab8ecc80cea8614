/** Work in steps that are short each, so that turns under way need not wait for all of it. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Does all of it at once. */
export function finishSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export type SliceOptions = {
  readonly now: () => number;
  /** Lets others work. */
  readonly pause: () => Promise<unknown>;
};

/** How long others wait at a time, unless one step takes longer. */
const SLICE_MS = 2;

/** Does it in slices of a few milliseconds. */
export async function finishInSlices<Result>(
  steps: Steps<Result>,
  { now, pause }: SliceOptions,
): Promise<Result> {
  let began = now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (now() - began < SLICE_MS) continue;
    await pause();
    began = now();
  }
}
