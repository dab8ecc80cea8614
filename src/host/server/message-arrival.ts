/** Counts what arrives over a WebSocket in the budget of all bodies, and ends a message that comes too slowly. */

import { HeldBytes, type ByteShare } from "../../gateway/http/budget.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Fault } from "../../turn/fault.ts";
import { FrameTracker } from "./frame-tracker.ts";
import {
  LEAST_BYTES,
  LONGEST_MS,
  slowBodiesBy,
  tooSlow,
  type SlowBodies,
  type SlowBody,
} from "./slow-bodies.ts";

/** Bytes that a network read costs beside its own, and a frame: their objects are kept until the message is whole. */
const READ_COST = 512;
const FRAME_COST = 128;

export class MessageArrival implements SlowBody {
  readonly #clock: Clock;
  readonly #watch: SlowBodies;
  readonly #refuse: (fault: Fault) => void;
  readonly #held: HeldBytes;
  readonly #frames = new FrameTracker();
  #beganMs: number | undefined;
  #bytes = 0;
  dueMs = 0;
  #before = 0;

  /** `refuse` is called for a message that cannot go on; what there is of it is held until `release`. */
  constructor(share: ByteShare, clock: Clock, refuse: (fault: Fault) => void) {
    this.#clock = clock;
    this.#watch = slowBodiesBy(clock);
    this.#refuse = refuse;
    this.#held = new HeldBytes(share);
  }

  /**
   * Counts what a chunk leaves to be kept. The library has taken it in before, so
   * that of messages which became whole in it nothing is counted. A part of a
   * chunk keeps all of it in memory, so all of it is counted.
   */
  add(chunk: Uint8Array): void {
    const parts = this.#frames.parts;
    const hasEnded = this.#frames.read(chunk);
    if (hasEnded) this.release();
    if (!this.#frames.isAmid) return;
    this.#begin();
    this.#bytes += chunk.length;
    const begun = this.#frames.parts - (hasEnded ? 0 : parts);
    try {
      this.#held.take(chunk.length + READ_COST + begun * FRAME_COST);
    } catch (error) {
      this.#watch.delete(this);
      this.#refuse(error as Fault);
    }
  }

  look(): void {
    const tookMs = this.#clock.now() - (this.#beganMs ?? 0);
    if (tookMs >= LONGEST_MS || this.#bytes - this.#before < LEAST_BYTES)
      return this.#refuse(tooSlow("message"));
    this.#before = this.#bytes;
    this.#watch.add(this);
  }

  /** Gives back what is held: the message is whole, or the connection closed. */
  release(): void {
    this.#beganMs = undefined;
    this.#watch.delete(this);
    this.#held.release();
  }

  #begin(): void {
    if (this.#beganMs !== undefined) return;
    this.#beganMs = this.#clock.now();
    this.#bytes = 0;
    this.#before = 0;
    this.#watch.add(this);
  }
}
