import type { Source } from "../../stream/flow.ts";
import type { Stage } from "../../stream/stage.ts";

/** Events that may wait for the reader before the source is paused. */
const MOST_WAITING = 256;

export type Iteration<In, Out> = {
  readonly source: Source<In>;
  /** A stage that waits for no moment and ends no source. */
  readonly stage: Pick<Stage<In, Out>, "each" | "end">;
  readonly signal: AbortSignal;
};

/**
 * The events of a source through a stage, for `for await`. A slow reader pauses the source, one
 * that leaves stops it, and so does the signal, whose reason is thrown then.
 */
export async function* iterate<In, Out>(of: Iteration<In, Out>): AsyncGenerator<Out, void> {
  const { source, stage, signal } = of;
  signal.throwIfAborted();
  const waiting: Out[] = [];
  const add = (event: Out): void => void waiting.push(event);
  let isOver = false;
  let isPaused = false;
  let wake = (): void => {};
  const abort = (): void => wake();
  signal.addEventListener("abort", abort, { once: true });
  const flow = source({
    each: (event) => stage.each(event, add),
    flush() {
      if (waiting.length > MOST_WAITING && !isPaused) {
        isPaused = true;
        flow.pause();
      }
      wake();
    },
    end() {
      isOver = true;
      stage.end?.(add);
      wake();
    },
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      yield* waiting.splice(0);
      if (waiting.length > 0) continue;
      if (isOver) return;
      if (isPaused) {
        isPaused = false;
        flow.resume();
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || isOver || signal.aborted) resolve();
      });
    }
  } finally {
    signal.removeEventListener("abort", abort);
    if (!isOver) flow.stop();
  }
}
