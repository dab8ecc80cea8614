import { Fault } from "../../turn/fault.ts";
import type { Worker } from "./worker.ts";

/** A turn's place at a process, to be left once. */
export type Seat = { readonly worker: Worker; readonly leave: () => void };

type Waiting = { readonly take: (seat: Seat) => void };

export type PoolOptions = {
  /** How many turns a process carries at once. */
  readonly seats: number;
  /** How many turns may wait for a seat. */
  readonly queue: number;
  readonly name: string;
};

/** Spreads turns over processes. Who finds no seat waits in line, and who finds no line is refused. */
export class Pool {
  readonly workers: readonly Worker[];
  readonly #options: PoolOptions;
  readonly #line = new Set<Waiting>();

  constructor(workers: readonly Worker[], options: PoolOptions) {
    this.workers = workers;
    this.#options = options;
  }

  /** Asks for a seat; the returned function gives the place in line up. `wanted`: rather at this one. */
  enter(take: (seat: Seat) => void, wanted?: Worker): () => void {
    const worker = wanted ?? this.#freest();
    if (worker !== undefined && (wanted !== undefined || worker.turns < this.#options.seats)) {
      take(this.#seat(worker));
      return () => {};
    }
    if (this.#line.size >= this.#options.queue) throw full(this.#options.name);
    const waiting = { take };
    this.#line.add(waiting);
    return () => void this.#line.delete(waiting);
  }

  #freest(): Worker | undefined {
    return this.workers.reduce((best, one) => (one.turns < best.turns ? one : best));
  }

  #seat(worker: Worker): Seat {
    let left = false;
    worker.turns++;
    return {
      worker,
      leave: () => {
        if (left) return;
        left = true;
        worker.turns--;
        const [next] = this.#line;
        if (next === undefined || worker.turns >= this.#options.seats) return;
        this.#line.delete(next);
        next.take(this.#seat(worker));
      },
    };
  }
}

const full = (name: string): Fault =>
  new Fault(
    "upstream.overloaded",
    `Upstream \`${name}\` has as many turns as it can take, and as many waiting as may wait; try again, or raise \`processes\`, \`seats\` or \`queue\`.`,
    { retryAfter: "5" },
  );
