import { pump } from "../../stream/pump.ts";
import type { Flow, Source } from "../../stream/flow.ts";
import type { Stage } from "../../stream/stage.ts";
import type { Clock } from "../../turn/clock.ts";

/** So many events may wait for whoever reads them before the source is paused. */
const MOST_WAITING = 256;

export type Iteration<In, Out> = {
  readonly source: Source<In>;
  readonly stage: Stage<In, Out>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
};

/**
 * The events of a source through a stage, for `for await`. A slow reader slows
 * the source, one that leaves stops it, and so does the signal, whose reason is
 * thrown then.
 */
export async function* iterate<In, Out>(of: Iteration<In, Out>): AsyncGenerator<Out, void> {
  const { source, stage, clock, signal } = of;
  signal.throwIfAborted();
  const waiting: Out[] = [];
  let isOver = false;
  let isPaused = false;
  let wake = (): void => {};
  const abort = (): void => wake();
  signal.addEventListener("abort", abort, { once: true });
  const flow: Flow = pump(
    source,
    stage,
    {
      each: (event) => void waiting.push(event),
      flush() {
        if (waiting.length > MOST_WAITING && !isPaused) {
          isPaused = true;
          flow.pause();
        }
        wake();
      },
      end() {
        isOver = true;
        wake();
      },
    },
    clock,
  );
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
