export type Emit<Out> = (event: Out) => void;

/**
 * One step in the life of an event: in goes one, out come none, one or many.
 * A stage is made per turn, keeps its own few variables and never waits. A
 * stage that cares about silence names a moment in `due`; the pump wakes it
 * then. What comes out is handed to `emit` rather than returned, so that a
 * stage with nothing to change costs a call and no allocation.
 */
export type Stage<In, Out> = {
  each(event: In, emit: Emit<Out>): void;
  /** Nothing more comes. */
  end?(emit: Emit<Out>): void;
  due?(): number | undefined;
  /** The moment named in `due` has come. */
  lapse?(moment: number, emit: Emit<Out>): void;
  /**
   * True once the stage needs nothing more: the source is stopped, and the
   * stage ended. What the source had at hand already may still come before.
   */
  done?(): boolean;
};

export function chain<A, B, C>(first: Stage<A, B>, second: Stage<B, C>): Stage<A, C> {
  let out: Emit<C>;
  const hand: Emit<B> = (event) => second.each(event, out);
  return {
    each(event, emit) {
      out = emit;
      first.each(event, hand);
    },
    end(emit) {
      out = emit;
      first.end?.(hand);
      second.end?.(emit);
    },
    due: () => earliest(first.due?.(), second.due?.()),
    lapse(moment, emit) {
      out = emit;
      wake(first, moment, hand);
      wake(second, moment, emit);
    },
    done: () => (first.done?.() ?? false) || (second.done?.() ?? false),
  };
}

/**
 * Stages that an event passes one after the other. Each stage has its own emitter, made once,
 * so that an event costs two calls for each stage.
 */
export class StageLine<Event> {
  readonly #stages: readonly Stage<Event, Event>[];
  /** `#emits[at]` hands an event of the stage `at` to the next one. */
  readonly #emits: Emit<Event>[] = [];
  /** Takes an event into the first stage. */
  readonly each: Emit<Event>;
  /** True if a stage may name a moment, or end the source. */
  readonly mayAct: boolean = false;

  constructor(stages: readonly Stage<Event, Event>[], out: Emit<Event>) {
    this.#stages = stages;
    let next = out;
    for (let at = stages.length - 1; at >= 0; at--) {
      const stage = stages[at];
      if (stage === undefined) continue;
      const emit = next;
      this.#emits[at] = emit;
      this.mayAct ||= stage.due !== undefined || stage.done !== undefined;
      next = (event) => stage.each(event, emit);
    }
    this.each = next;
  }

  end(): void {
    for (let at = 0; at < this.#stages.length; at++) {
      const emit = this.#emits[at];
      if (emit !== undefined) this.#stages[at]?.end?.(emit);
    }
  }

  due(): number | undefined {
    let due: number | undefined;
    for (const stage of this.#stages) if (stage.due !== undefined) due = earliest(due, stage.due());
    return due;
  }

  lapse(moment: number): void {
    for (const [at, stage] of this.#stages.entries()) {
      const emit = this.#emits[at];
      if (stage.due !== undefined && emit !== undefined) wake(stage, moment, emit);
    }
  }

  done(): boolean {
    for (const stage of this.#stages) if (stage.done?.() === true) return true;
    return false;
  }
}

export const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** Lapses a stage if the moment is its own: of stages that wait together, one is woken first. */
export function wake<In, Out>(stage: Stage<In, Out>, moment: number, emit: Emit<Out>): void {
  const due = stage.due?.();
  if (due !== undefined && due <= moment) stage.lapse?.(moment, emit);
}

/** Runs a stage over events that are all there, as tests and whole bodies do. */
export function runStage<In, Out>(stage: Stage<In, Out>, events: Iterable<In>): Out[] {
  const emitted: Out[] = [];
  const emit = (event: Out): void => void emitted.push(event);
  for (const event of events) stage.each(event, emit);
  stage.end?.(emit);
  return emitted;
}
