import type { Clock } from "../turn/clock.ts";
import type { Flow, Sink, Source } from "./flow.ts";
import type { Stage } from "./stage.ts";

/**
 * Drives a source through a stage into a sink, and returns the hand on the
 * source. The only place where a stage's `due` meets the clock. The sink may
 * stop the flow from within any of its calls, and hears nothing afterwards.
 */
export function pump<In, Out>(
  source: Source<In>,
  stage: Stage<In, Out>,
  sink: Sink<Out>,
  clock: Clock,
): Flow {
  /** The source is through, or has been stopped. */
  let drained = false;
  /** The sink has been told, or wants to hear no more. */
  let over = false;
  let timer: { readonly moment: number; readonly cancel: () => void } | undefined;
  const emit = (event: Out): void => {
    if (!over) sink.each(event);
  };

  const drain = (): void => {
    drained = true;
    timer?.cancel();
    timer = undefined;
  };
  const finish = (): void => {
    if (drained) return;
    drain();
    stage.end?.(emit);
    if (!over) sink.flush();
    if (over) return;
    over = true;
    sink.end();
  };
  /** After each step: is the stage satisfied, and when does it want to be woken? */
  const settle = (): void => {
    sink.flush();
    if (drained) return;
    if (stage.done?.() === true) {
      flow.stop();
      return finish();
    }
    const due = stage.due?.();
    if (due === timer?.moment) return;
    timer?.cancel();
    timer =
      due === undefined ? undefined : { moment: due, cancel: clock.at(due, () => lapse(due)) };
  };
  const lapse = (moment: number): void => {
    timer = undefined;
    stage.lapse?.(moment, emit);
    if (!drained) settle();
  };

  const flow = source({
    each(event) {
      if (!drained) stage.each(event, emit);
    },
    flush() {
      if (!drained) settle();
    },
    end: finish,
  });
  return {
    pause: () => flow.pause(),
    resume: () => flow.resume(),
    stop() {
      over = true;
      if (drained) return;
      drain();
      flow.stop();
    },
  };
}
