import type { TurnBegun, TurnDone, TurnStep } from "../../observe/happening.ts";
import type { Clock } from "../../turn/clock.ts";

/** A turn under way as operators see it. It holds no content. */
export type RunningTurnView = Omit<TurnBegun, "type" | "route" | "requestBytes" | "toolBytes"> &
  Pick<TurnDone, "rounds" | "plan" | "ms" | "firstEventMs"> & {
    /** In milliseconds since the epoch. */
    readonly startedAt: number;
    readonly step: TurnStep;
    /** Calls that have begun. */
    readonly calls: number;
    readonly attempts: number;
  };

/** A turn under way. */
export type RunningTurn = {
  /** Left out for a request that is not a turn yet. */
  view?(): RunningTurnView;
  /** Ends it with a failure that says that the gateway stops. */
  halt(): void;
  /** Called at regular intervals while it runs. */
  tick?(): void;
  /** Its place in the list. */
  place: number;
};

/**
 * The turns under way. An array and not a Set: the tables of a Set that gains and loses a member
 * with every request keep all their members out of reach of the young generation's collector.
 */
export class RunningTurns {
  readonly #turns: RunningTurn[] = [];
  readonly #clock: Clock | undefined;
  #tickMs = 0;
  #isTimed = false;

  /** Turns are ticked only if there is a clock. */
  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  /** Sets how often turns are ticked; 0: never. */
  tickEvery(ms: number): void {
    this.#tickMs = ms;
  }

  get size(): number {
    return this.#turns.length;
  }

  add(turn: RunningTurn): void {
    turn.place = this.#turns.push(turn) - 1;
    if (!this.#isTimed) this.#time();
  }

  /** One timer for all turns: a timer for each would be set again with every write. */
  #time(): void {
    if (this.#clock === undefined || this.#tickMs === 0) return;
    this.#isTimed = true;
    this.#clock.at(this.#clock.now() + this.#tickMs, () => this.#tick(), "background");
  }

  #tick(): void {
    this.#isTimed = false;
    for (const turn of this.#turns.slice()) turn.tick?.();
    if (this.#turns.length > 0) this.#time();
  }

  /** Returns false if it was removed before. */
  remove(turn: RunningTurn): boolean {
    if (this.#turns[turn.place] !== turn) return false;
    const last = this.#turns.pop();
    if (last !== undefined && last !== turn) {
      this.#turns[turn.place] = last;
      last.place = turn.place;
    }
    return true;
  }

  list(): readonly RunningTurnView[] {
    return this.#turns.flatMap((turn) => turn.view?.() ?? []);
  }

  haltAll(): void {
    // A turn leaves the list when it is halted.
    for (const turn of this.#turns.slice()) turn.halt();
  }
}
