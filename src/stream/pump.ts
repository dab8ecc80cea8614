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
    time.wakeAt(undefined);
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
    time.wakeAt(stage.due?.());
  };
  const time = new StreamClock(clock, (moment) => {
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

/**
 * The clock of one stream, with one alarm. It stands still while the stream is
 * paused: silence that a slow reader causes must not look like silence of the source.
 */
export class StreamClock {
  readonly #clock: Clock;
  readonly #ring: (moment: number) => void;
  /** Milliseconds of all pauses that have ended. */
  #pausedMs = 0;
  #pausedSince: number | undefined;
  /** The moment of the alarm. */
  #moment: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ring: (moment: number) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  now(): number {
    return (this.#pausedSince ?? this.#clock.now()) - this.#pausedMs;
  }

  /** Sets the alarm, or turns it off; an earlier setting no longer counts. */
  wakeAt(moment: number | undefined): void {
    if (moment === this.#moment) return;
    this.#moment = moment;
    this.#start();
  }

  pause(): void {
    if (this.#pausedSince !== undefined) return;
    this.#pausedSince = this.#clock.now();
    this.#start();
  }

  resume(): void {
    if (this.#pausedSince === undefined) return;
    this.#pausedMs += this.#clock.now() - this.#pausedSince;
    this.#pausedSince = undefined;
    this.#start();
  }

  #start(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const moment = this.#moment;
    if (moment === undefined || this.#pausedSince !== undefined) return;
    this.#cancel = this.#clock.at(moment + this.#pausedMs, () => {
      this.#cancel = undefined;
      this.#moment = undefined;
      this.#ring(moment);
    });
  }
}
