/** Watches what is on its way to the gateway, bodies and messages, and ends what comes too slowly. */

import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";

/** In this time so many bytes must come, or the rest. A connection of 40 kbit/s manages that. */
const LOOK_MS = 15_000;
export const LEAST_BYTES = 64 * 1024;
/** How long a request may take to arrive in all. */
export const LONGEST_MS = 300_000;

export type SlowBody = {
  /** When it is looked at next. */
  dueMs: number;
  /** Ends it where it came too slowly since the look before, or adds it again. */
  look(): void;
};

/**
 * The bodies under way, the one to be looked at next first. One timer serves them
 * all, and goes on after a body is there: nearly every one is, long before its look.
 */
export class SlowBodies {
  readonly #clock: Clock;
  readonly #bodies = new Set<SlowBody>();
  #isTimed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(body: SlowBody): void {
    body.dueMs = this.#clock.now() + LOOK_MS;
    this.#bodies.add(body);
    if (!this.#isTimed) this.#time(body.dueMs);
  }

  delete(body: SlowBody): void {
    this.#bodies.delete(body);
  }

  #time(moment: number): void {
    this.#isTimed = true;
    this.#clock.at(moment, () => this.#look(), "background");
  }

  #look(): void {
    const now = this.#clock.now();
    for (const body of this.#bodies) {
      if (body.dueMs > now) return this.#time(body.dueMs);
      this.#bodies.delete(body);
      body.look();
    }
    this.#isTimed = false;
  }
}

const watches = new WeakMap<Clock, SlowBodies>();

export function slowBodiesBy(clock: Clock): SlowBodies {
  const known = watches.get(clock) ?? new SlowBodies(clock);
  watches.set(clock, known);
  return known;
}

export const tooSlow = (what: "body" | "message"): Fault =>
  new Fault(
    "request.timeout",
    `The ${what} came slower than ${LEAST_BYTES} bytes in ${LOOK_MS / 1000} seconds or took over ${LONGEST_MS / 1000} seconds; send it again.`,
  );
