import type { Clock } from "../turn/clock.ts";
import type { Flow, Sink, Source } from "./flow.ts";
import type { Stage } from "./stage.ts";

/**
 * Drives a source through a stage into a sink, and returns the hand on the
 * source. The only place where a stage's `due` meets the clock.
 */
export function pump<In, Out>(
  source: Source<In>,
  stage: Stage<In, Out>,
  sink: Sink<Out>,
  clock: Clock,
): Flow {
  let over = false;
  let timer: { moment: number; cancel: () => void } | undefined;
  const emit = (event: Out): void => sink.each(event);

  const close = (): void => {
    over = true;
    timer?.cancel();
    timer = undefined;
  };
  const finish = (): void => {
    if (over) return;
    close();
    stage.end?.(emit);
    sink.flush();
    sink.end();
  };
  /** After each step: is the stage satisfied, and when does it want to be woken? */
  const settle = (): void => {
    sink.flush();
    if (stage.done?.() === true) {
      flow.stop();
      finish();
      return;
    }
    const due = stage.due?.();
    if (due === timer?.moment) return;
    timer?.cancel();
    timer = due === undefined ? undefined : { moment: due, cancel: clock.at(due, lapse) };
  };
  const lapse = (): void => {
    if (over) return;
    timer = undefined;
    stage.lapse?.(emit);
    settle();
  };

  const flow = source({
    each(event) {
      if (!over) stage.each(event, emit);
    },
    flush() {
      if (!over) settle();
    },
    end: finish,
  });
  return {
    pause: () => flow.pause(),
    resume: () => flow.resume(),
    stop() {
      close();
      flow.stop();
    },
  };
}
