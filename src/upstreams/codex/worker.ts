import type { Clock } from "../../turn/clock.ts";
import type { Fault } from "../../turn/fault.ts";
import { type CodexContext, CodexError, failureOf } from "./faults.ts";
import type { AppServer } from "./server.ts";

/** Starts a process; `onExit` is called if it ends. */
type Start = (onExit: () => void) => Promise<AppServer>;

/** After this number of failed starts in a row, turns fail at once in place of waiting for the next. */
const MAX_FAILURES = 4;
const FIRST_REST = 100;
const MAX_REST = 30_000;
/** The longest rest after starts that succeeded, in milliseconds: turns wait for it. */
const MAX_REST_AFTER_EXIT = 2_000;
/** The end of a process that ran so long has no cause in its start. */
const STABLE_MS = 60_000;

/** One process: started when it is first needed, and again when it has ended. */
export class Worker {
  readonly #start: Start;
  readonly #clock: Clock;
  readonly #codex: CodexContext;
  #server: Promise<AppServer> | undefined;
  /** Failed starts and early exits in a row. */
  #failures = 0;
  #startedAt = 0;
  #restsUntil = 0;
  #error: CodexError | undefined;
  #closed = false;
  /** Running turns. */
  turns = 0;

  constructor(start: Start, clock: Clock, codex: CodexContext) {
    this.#start = start;
    this.#clock = clock;
    this.#codex = codex;
  }

  /** The running process, started if need be. */
  server(): Promise<AppServer> {
    if (this.#server !== undefined) return this.#server;
    const server = (this.#server = this.#begin());
    server.catch(() => void (this.#server === server && (this.#server = undefined)));
    return server;
  }

  /** The fault that keeps it from serving; a process that is not running is started to find out. */
  async trouble(): Promise<Fault | undefined> {
    if (!this.#isResting() || this.#error === undefined) await this.server().catch(() => {}); // `#error` has it.
    return this.#error === undefined ? undefined : failureOf(this.#error, this.#codex).fault;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const server = await this.#server?.catch(() => undefined); // A failed start left no process.
    await server?.close();
  }

  async #begin(): Promise<AppServer> {
    if (this.#isResting()) {
      if (this.#error !== undefined && !this.#mayPass()) throw this.#error;
      await new Promise<void>((resolve) => void this.#clock.at(this.#restsUntil, resolve));
    }
    try {
      if (this.#closed) throw new CodexError({ type: "closing" });
      const server = await this.#start(() => this.#exited());
      this.#error = undefined;
      this.#startedAt = this.#clock.now();
      return server;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const unstartable = { type: "unstartable", why } as const;
      this.#error = error instanceof CodexError ? error : new CodexError(unstartable, error);
      this.#rest(MAX_REST);
      throw this.#error;
    }
  }

  #isResting(): boolean {
    return this.#clock.now() < this.#restsUntil;
  }

  /** True if the next start may succeed without an operator. */
  #mayPass(): boolean {
    return this.#failures < MAX_FAILURES && failureOf(this.#error, this.#codex).again;
  }

  /** After one early exit the next start follows at once, after several in a row it waits. */
  #exited(): void {
    this.#server = undefined;
    if (this.#clock.now() - this.#startedAt >= STABLE_MS) this.#failures = 0;
    if (this.#failures > 0) this.#rest(MAX_REST_AFTER_EXIT);
    else this.#failures = 1;
  }

  #rest(longest: number): void {
    this.#failures++;
    this.#restsUntil = this.#clock.now() + Math.min(longest, FIRST_REST * 2 ** this.#failures);
  }
}

/** A running turn's share of a process; `leave` gives it back, once. */
export type TurnSlot = { readonly worker: Worker; readonly leave: () => void };

type Waiting = { readonly start: (slot: TurnSlot) => void };

type PoolOptions = {
  readonly turnsPerProcess: number;
  /** Most turns that wait for a slot. */
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
   * queue. A turn that continues a parked thread starts at once on the process of
   * that thread, also if it has no free slot.
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
