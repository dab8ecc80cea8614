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
  const emit = (event: Out): void => {
    if (!over) sink.each(event);
  };
  const drain = (): void => {
    drained = true;
    wakeAt(undefined);
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
    wakeAt(stage.due?.());
  };
  const wakeAt = alarm(clock, (moment) => {
    stage.lapse?.(moment, emit);
    if (!drained) settle();
  });
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

/** Rings at the moment it was set to last, if it was set to any. */
function alarm(clock: Clock, ring: (moment: number) => void): (moment?: number) => void {
  let set: { readonly moment: number; readonly callOff: () => void } | undefined;
  return (moment) => {
    if (moment === set?.moment) return;
    set?.callOff();
    set = undefined;
    if (moment === undefined) return;
    const callOff = clock.at(moment, () => {
      set = undefined;
      ring(moment);
    });
    set = { moment, callOff };
  };
}
