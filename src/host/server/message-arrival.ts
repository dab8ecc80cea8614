/** Counts what arrives over a WebSocket in the budget of all bodies, and ends a message that comes too slowly. */

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

/** The frame that is being read (RFC 6455, section 5.2). */
type Frame = {
  /** Bytes of its head: how many there are to be, and how many have come. */
  headSize: number;
  headRead: number;
  /** Where the bytes of a long length end. */
  lengthEnd: number;
  /** Bytes of its payload that have yet to come. */
  left: number;
  isFinal: boolean;
  isControl: boolean;
};

/**
 * Follows the frames on a WebSocket without keeping any, to know what of a chunk
 * belongs to a message that is not whole: the WebSocket library reports messages
 * only when they are.
 */
export class FrameTracker {
  readonly #frame: Frame = {
    headSize: 2,
    headRead: 0,
    lengthEnd: 2,
    left: 0,
    isFinal: true,
    isControl: false,
  };
  #parts = 0;

  /** Frames of the message under way, the one in arrival included. */
  get parts(): number {
    return this.#parts;
  }

  /** Whether a message or a frame has begun and not ended. */
  get isAmid(): boolean {
    return this.#parts > 0 || this.#frame.headRead > 0;
  }

  /** Reads what came next. True where all that was under way before has ended. */
  read(chunk: Uint8Array): boolean {
    const frame = this.#frame;
    let hasEnded = false;
    for (let at = 0; at < chunk.length;) {
      if (frame.headRead < frame.headSize) this.#readHead(chunk[at++] ?? 0);
      else {
        const skipped = Math.min(frame.left, chunk.length - at);
        frame.left -= skipped;
        at += skipped;
      }
      if (frame.headRead === frame.headSize && frame.left === 0) {
        this.#endFrame();
        if (!this.isAmid) hasEnded = true;
      }
    }
    return hasEnded;
  }

  #readHead(byte: number): void {
    const frame = this.#frame;
    const at = frame.headRead++;
    if (at === 0) {
      frame.isFinal = (byte & 0x80) !== 0;
      frame.isControl = (byte & 0x08) !== 0;
      if (!frame.isControl) this.#parts++;
    } else if (at === 1) {
      const length = byte & 0x7f;
      frame.left = length < 126 ? length : 0;
      frame.lengthEnd = length < 126 ? 2 : length === 126 ? 4 : 10;
      frame.headSize = frame.lengthEnd + ((byte & 0x80) === 0 ? 0 : 4);
    } else if (at < frame.lengthEnd) frame.left = frame.left * 256 + byte;
  }

  /** Control frames may come between the frames of a message, and end none. */
  #endFrame(): void {
    const frame = this.#frame;
    frame.headRead = 0;
    frame.headSize = 2;
    if (frame.isFinal && !frame.isControl) this.#parts = 0;
  }
}
