/** Counts the bytes that arrive on a WebSocket in the budget of all bodies, and refuses slow messages. */

import { type ByteShare, HeldBytes } from "../../gateway/http/budget.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Fault } from "../../turn/fault.ts";
import {
  LEAST_BYTES,
  LONGEST_MS,
  type SlowBodies,
  slowBodiesBy,
  type SlowBody,
  tooSlow,
} from "./body-intake.ts";

/** Bytes of the objects of a network read and of a frame, which are kept until the message is whole. */
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

  /** `refuse` is called for a message that is too slow or too large; its bytes are held until `release`. */
  constructor(share: ByteShare, clock: Clock, refuse: (fault: Fault) => void) {
    this.#clock = clock;
    this.#watch = slowBodiesBy(clock);
    this.#refuse = refuse;
    this.#held = new HeldBytes(share);
  }

  /**
   * Counts a chunk after the library has read it. The messages that it ends are not counted. If it
   * leaves an unfinished message, all of it is counted, because a part keeps the whole in memory.
   */
  add(chunk: Uint8Array): void {
    const parts = this.#frames.parts;
    const hasEnded = this.#frames.read(chunk);
    if (hasEnded) this.release();
    if (!this.#frames.isAmid) return;
    if (this.#beganMs === undefined) {
      this.#beganMs = this.#clock.now();
      this.#bytes = 0;
      this.#before = 0;
      this.#watch.add(this);
    }
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

  /** Gives the bytes back: the message is whole, or the connection closed. */
  release(): void {
    this.#beganMs = undefined;
    this.#watch.delete(this);
    this.#held.release();
  }
}

/**
 * Follows the frames on a WebSocket (RFC 6455, section 5.2) without keeping any: the library
 * reports only whole messages, and the bytes of an unfinished one must be counted.
 */
export class FrameTracker {
  /** Frames of the message under way, the arriving one included. */
  parts = 0;
  /** Bytes that the head of the arriving frame has, and those of them that have come. */
  #headSize = 2;
  #headRead = 0;
  /** The end of the length in the head. */
  #lengthEnd = 2;
  /** Bytes of its payload that have not come yet. */
  #left = 0;
  #isFinal = true;
  #isControl = false;

  /** True if a message or a frame has begun and not ended. */
  get isAmid(): boolean {
    return this.parts > 0 || this.#headRead > 0;
  }

  /** Reads the next chunk. True if it ends the message that was under way. */
  read(chunk: Uint8Array): boolean {
    let hasEnded = false;
    for (let at = 0; at < chunk.length;) {
      if (this.#headRead < this.#headSize) this.#readHead(chunk[at++] ?? 0);
      else {
        const skipped = Math.min(this.#left, chunk.length - at);
        this.#left -= skipped;
        at += skipped;
      }
      if (this.#headRead < this.#headSize || this.#left > 0) continue;
      this.#headRead = 0;
      this.#headSize = 2;
      // Control frames may come between the frames of a message, and end none.
      if (this.#isFinal && !this.#isControl) this.parts = 0;
      if (!this.isAmid) hasEnded = true;
    }
    return hasEnded;
  }

  #readHead(byte: number): void {
    const at = this.#headRead++;
    if (at === 0) {
      this.#isFinal = (byte & 0x80) !== 0;
      this.#isControl = (byte & 0x08) !== 0;
      if (!this.#isControl) this.parts++;
    } else if (at === 1) {
      const length = byte & 0x7f;
      this.#left = length < 126 ? length : 0;
      this.#lengthEnd = length < 126 ? 2 : length === 126 ? 4 : 10;
      this.#headSize = this.#lengthEnd + ((byte & 0x80) === 0 ? 0 : 4);
    } else if (at < this.#lengthEnd) this.#left = this.#left * 256 + byte;
  }
}
