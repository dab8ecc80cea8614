import type { RateLimit } from "../../../turn/rate-limit.ts";

const MINUTE_MS = 60_000;

/**
 * A quota by the minute that fills up again steadily, and holds a minute's worth
 * at most. It may be overdrawn: how many tokens a turn takes shows only while it runs.
 */
export class Bucket {
  readonly #perMinute: number;
  #level: number;
  #at: number;
  /** What was taken since another replica was last told. */
  #unshared = 0;

  constructor(perMinute: number, now: number) {
    this.#perMinute = perMinute;
    this.#level = perMinute;
    this.#at = now;
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  spend(amount: number, now: number): void {
    this.#fill(now);
    this.#level -= amount;
    this.#unshared += amount;
  }

  /** Milliseconds until there is so much of it; 0: there is now. */
  waitFor(amount: number, now: number): number {
    this.#fill(now);
    return Math.max(0, Math.ceil(((amount - this.#level) * MINUTE_MS) / this.#perMinute));
  }

  /** What other replicas have to be told; they are taken for told. */
  takeUnshared(): number {
    const amount = this.#unshared;
    this.#unshared = 0;
    return amount;
  }

  /** It could not be told after all. */
  keepUnshared(amount: number): void {
    this.#unshared += amount;
  }

  /** The level by the count of all replicas; what was taken since they were told goes off it. */
  setShared(level: number, now: number): void {
    this.#level = Math.min(this.#perMinute, level) - this.#unshared;
    this.#at = now;
  }

  view(now: number): RateLimit {
    this.#fill(now);
    return {
      limit: this.#perMinute,
      remaining: Math.max(0, Math.floor(this.#level)),
      resetMs: this.waitFor(this.#perMinute, now),
    };
  }

  #fill(now: number): void {
    const gained = ((now - this.#at) * this.#perMinute) / MINUTE_MS;
    this.#level = Math.min(this.#perMinute, this.#level + gained);
    this.#at = now;
  }
}
