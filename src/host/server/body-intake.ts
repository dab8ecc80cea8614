/** Reads the bodies of requests within their limits of size and time. */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import {
  ByteBuffer,
  decompress,
  isKnownEncoding,
  notUtf8,
  tooLarge,
  unknownEncoding,
} from "../../gateway/http/body.ts";
import { type ByteShare, HeldBytes } from "../../gateway/http/budget.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { nodeDecompressors as decompressors } from "../platform/node.ts";

type Done = (fault: Fault | null, body?: string) => void;
type Payload = Pick<IncomingMessage, "headers" | "on">;

/** Reads the whole body as text. The rest of a refused body is ignored, so that its client reads the answer. */
export function collectBody(payload: Payload, share: ByteShare, clock: Clock, done: Done): void {
  new Intake(payload, share, clock, done).begin();
}

class Intake implements SlowBody {
  readonly #payload: Payload;
  readonly #done: Done;
  readonly #held: HeldBytes;
  readonly #bytes: ByteBuffer;
  readonly #watch: SlowBodies;
  #isOver = false;
  dueMs = 0;
  /** Bytes at the previous look. */
  #before = 0;

  constructor(payload: Payload, share: ByteShare, clock: Clock, done: Done) {
    this.#payload = payload;
    this.#watch = slowBodiesBy(clock);
    this.#done = done;
    this.#held = new HeldBytes(share);
    this.#bytes = new ByteBuffer(this.#held, announcedOf(payload) || Infinity);
  }

  begin(): void {
    const payload = this.#payload;
    const { limit } = this.#held;
    const encoding = payload.headers["content-encoding"];
    if (announcedOf(payload) > limit) return this.#end(tooLarge(limit));
    if (encoding !== undefined && !isKnownEncoding(encoding, decompressors))
      return this.#end(unknownEncoding(encoding, decompressors));
    payload.on("data", (chunk: Buffer<ArrayBuffer>) => this.#add(chunk));
    payload.on("end", () => this.#whole(encoding));
    payload.on("error", (error) => this.#end(cutOff(error)));
    this.#watch.add(this);
  }

  /** Ends the body if it came too slowly since the previous look. */
  look(): void {
    const { length } = this.#bytes;
    if (length - this.#before < LEAST_BYTES) return this.#end(tooSlow("body"));
    this.#before = length;
    this.#watch.add(this);
  }

  #add(chunk: Buffer<ArrayBuffer>): void {
    if (this.#isOver) return;
    try {
      this.#bytes.add(chunk);
    } catch (error) {
      this.#end(error as Fault);
    }
  }

  #whole(encoding: string | undefined): void {
    if (this.#isOver) return;
    this.#watch.delete(this);
    const bytes = this.#bytes.takeAll();
    if (encoding === undefined) return this.#read(bytes);
    decompress(bytes, { encoding, decompressors, held: this.#held })
      .then((unpacked) => this.#read(unpacked))
      .catch((error: Fault) => this.#end(error));
  }

  #read({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): void {
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    if (isUtf8(bytes)) this.#end(null, bytes.toString());
    else this.#end(notUtf8());
  }

  /** Calls `done` once, after the bytes were given back. */
  #end(fault: Fault | null, body?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.delete(this);
    this.#bytes.takeAll();
    this.#held.release();
    this.#done(fault, body);
  }
}

/** The length in the head of a request; 0 if it names none. */
export const announcedOf = ({ headers }: Pick<IncomingMessage, "headers">): number =>
  Number(headers["content-length"] ?? 0);

const cutOff = (error: Error): Fault =>
  new Fault(
    "request.invalid",
    "The body did not arrive as announced; check `content-length` and the encoding.",
    {},
    error,
  );

/** Within this time, `LEAST_BYTES` or the rest of the body must arrive, which is 35 kbit/s. */
const LOOK_MS = 15_000;
export const LEAST_BYTES = 64 * 1024;
/** Milliseconds that a request may take to arrive. */
export const LONGEST_MS = 300_000;

/** A body or message that arrives. */
export type SlowBody = {
  /** The moment of the next look. */
  dueMs: number;
  /** Ends it if it came too slowly since the previous look, or adds it again. */
  look(): void;
};

/**
 * The arriving bodies, in the order of their next looks. One timer serves them all; it is not
 * stopped when a body is complete, because nearly every body is, long before its first look.
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
    `The ${what} arrived more slowly than ${LEAST_BYTES} bytes in ${LOOK_MS / 1000} seconds or took longer than ${LONGEST_MS / 1000} seconds; send it again.`,
  );
