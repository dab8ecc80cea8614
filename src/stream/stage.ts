import type { TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";

export type Emit<Out> = (event: Out) => void;

/**
 * One step on the way of events: for each event that it takes it emits none, one or several. A
 * stage is made per turn, has a few variables and never waits. If a rule depends on silence, `due`
 * names a moment, and the owner of the stage calls `lapse` then. A stage calls `emit` in place of
 * returning events, so that a stage with nothing to change costs one call and no allocation.
 */
export type Stage<In, Out> = {
  each(event: In, emit: Emit<Out>): void;
  /** Called after the last event. */
  end?(emit: Emit<Out>): void;
  due?(): number | undefined;
  /** Called at the moment that `due` has named. */
  lapse?(moment: number, emit: Emit<Out>): void;
  /**
   * True once the stage needs nothing more: the source is stopped, and the stage ended. Events
   * that the source had already read may still come before.
   */
  done?(): boolean;
};

/** A stage between events of one kind of names. */
export type EventStage<Name extends AnyName> = Stage<TurnEvent<Name>, TurnEvent<Name>>;

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
    return earliestDue(this.#stages);
  }

  lapse(moment: number): void {
    for (const [at, stage] of this.#stages.entries()) {
      const emit = this.#emits[at];
      if (emit !== undefined) wake(stage, moment, emit);
    }
  }

  done(): boolean {
    for (const stage of this.#stages) if (stage.done?.() === true) return true;
    return false;
  }
}

/** A line of stages as one stage. */
export function chain<Event>(stages: readonly Stage<Event, Event>[]): Stage<Event, Event> {
  let out: Emit<Event>;
  const line = new StageLine<Event>(stages, (event) => out(event));
  return {
    each(event, emit) {
      out = emit;
      line.each(event);
    },
    end(emit) {
      out = emit;
      line.end();
    },
    due: () => line.due(),
    lapse(moment, emit) {
      out = emit;
      line.lapse(moment);
    },
    done: () => line.done(),
  };
}

/** The first moment that any of the stages waits for. */
export function earliestDue(
  stages: Iterable<Pick<Stage<never, never>, "due">>,
): number | undefined {
  let earliest: number | undefined;
  for (const stage of stages) {
    const due = stage.due?.();
    if (due !== undefined && (earliest === undefined || due < earliest)) earliest = due;
  }
  return earliest;
}

/** Calls `lapse` if the moment that the stage waits for has come: stages of a line wait for different moments. */
function wake<In, Out>(stage: Stage<In, Out>, moment: number, emit: Emit<Out>): void {
  const due = stage.due?.();
  if (due !== undefined && due <= moment) stage.lapse?.(moment, emit);
}

/** Runs a stage over a finished list of events. */
export function runStage<In, Out>(stage: Stage<In, Out>, events: Iterable<In>): Out[] {
  const emitted: Out[] = [];
  const emit = (event: Out): void => void emitted.push(event);
  for (const event of events) stage.each(event, emit);
  stage.end?.(emit);
  return emitted;
}

export type PerChoice<Name extends AnyName> = EventStage<Name> & {
  /** True if one choice needs nothing more. */
  readonly isDone: (choice: number) => boolean;
};

/**
 * Gives each choice of a turn its own stage, so that a rule about calls or text never counts
 * across choices. Events of the whole turn pass unchanged. Every stage receives a failure, to
 * close its open blocks, and nothing follows it. `asked` is the number of choices that the client
 * wants: one that has not begun is not done either. Once all are done, a failure is ignored.
 */
export function perChoice<Name extends AnyName>(
  make: () => EventStage<Name>,
  asked = 1,
): PerChoice<Name> {
  const stages = new Map<number, EventStage<Name>>();
  const isDone = (choice: number): boolean => stages.get(choice)?.done?.() === true;
  const areDone = (): boolean => {
    if (stages.size < asked) return false;
    for (const choice of stages.keys()) if (!isDone(choice)) return false;
    return true;
  };
  return {
    each(event, emit) {
      if ("choice" in event) {
        let stage = stages.get(event.choice);
        if (stage === undefined) stages.set(event.choice, (stage = make()));
        return stage.each(event, emit);
      }
      if (event.type === "turn-fail") {
        if (areDone()) return;
        const emitOther = (other: TurnEvent<Name>): void => {
          if (other !== event) emit(other);
        };
        for (const stage of stages.values()) stage.each(event, emitOther);
        stages.clear();
      }
      emit(event);
    },
    end(emit) {
      for (const stage of stages.values()) stage.end?.(emit);
    },
    due: () => earliestDue(stages.values()),
    lapse(moment, emit) {
      for (const stage of stages.values()) wake(stage, moment, emit);
    },
    done: areDone,
    isDone,
  };
}
