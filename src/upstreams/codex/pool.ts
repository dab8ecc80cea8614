import { CodexError } from "./error.ts";
import type { Worker } from "./worker.ts";

/** A running turn's share of a process; `leave` gives it back, once. */
export type TurnSlot = { readonly worker: Worker; readonly leave: () => void };

type Waiting = { readonly start: (slot: TurnSlot) => void };

export type PoolOptions = {
  readonly turnsPerProcess: number;
  /** How many turns may wait for a slot. */
  readonly queue: number;
};

/** Spreads turns over processes. Turns without a slot wait; those beyond the queue are refused. */
export class Pool {
  readonly workers: readonly Worker[];
  readonly #options: PoolOptions;
  readonly #queue = new Set<Waiting>();

  constructor(workers: readonly Worker[], options: PoolOptions) {
    this.workers = workers;
    this.#options = options;
  }

  /**
   * Starts a turn as soon as there is a slot; the returned function leaves the
   * queue. A turn that goes on in a parked thread is started on that thread's
   * process at once, however many turns that has.
   */
  enter(start: (slot: TurnSlot) => void, parkedOn?: Worker): () => void {
    const worker =
      parkedOn ?? this.workers.reduce((best, one) => (one.turns < best.turns ? one : best));
    if (parkedOn !== undefined || this.#hasRoom(worker)) {
      start(this.#slot(worker));
      return () => {};
    }
    if (this.#queue.size >= this.#options.queue) throw new CodexError({ type: "queue-full" });
    const waiting = { start };
    this.#queue.add(waiting);
    return () => void this.#queue.delete(waiting);
  }

  #hasRoom({ turns }: Worker): boolean {
    return turns < this.#options.turnsPerProcess;
  }

  #slot(worker: Worker): TurnSlot {
    let left = false;
    worker.turns++;
    const leave = (): void => {
      if (left) return;
      left = true;
      worker.turns--;
      const [next] = this.#queue;
      if (next === undefined || !this.#hasRoom(worker)) return;
      this.#queue.delete(next);
      next.start(this.#slot(worker));
    };
    return { worker, leave };
  }
}
