import type { Clock } from "../../turn/clock.ts";

type Releasable = { release(): void };
type Entry = { readonly key: string; readonly cancelTimer: () => void };

export type ParkedOptions = {
  readonly clock: Clock;
  /** How long a thread may wait for results, in milliseconds. */
  readonly ttl: number;
  /** How many threads may wait; beyond it the oldest is released. */
  readonly limit: number;
};

/** Threads that wait for the results of their calls, by the key of their conversation. */
export class ParkedThreads<T extends Releasable> {
  readonly #options: ParkedOptions;
  /** Oldest first. Two conversations may be the same, and have the same key. */
  readonly #entries = new Map<T, Entry>();

  constructor(options: ParkedOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** False: no thread may wait. */
  park(key: string, thread: T): boolean {
    const { clock, ttl, limit } = this.#options;
    if (ttl === 0 || limit === 0) return false;
    const cancelTimer = clock.at(clock.now() + ttl, () => this.#release(thread));
    this.#entries.set(thread, { key, cancelTimer });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > limit && oldest !== undefined) this.#release(oldest);
    return true;
  }

  /** Removes one thread of this key and returns it. */
  take(key: string): T | undefined {
    for (const [thread, entry] of this.#entries) {
      if (entry.key !== key) continue;
      this.remove(thread);
      return thread;
    }
    return undefined;
  }

  remove(thread: T): void {
    this.#entries.get(thread)?.cancelTimer();
    this.#entries.delete(thread);
  }

  clear(): void {
    for (const thread of this.#entries.keys()) this.#release(thread);
  }

  #release(thread: T): void {
    this.remove(thread);
    thread.release();
  }
}
