/** Takes in the bodies of requests: within their limits, and not for ever. */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import {
  decompress,
  isKnownEncoding,
  notUtf8,
  tooLarge,
  unknownEncoding,
} from "../../gateway/http/body.ts";
import { type ByteShare, ByteBuffer, HeldBytes } from "../../gateway/http/budget.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { nodeDecompressors as decompressors } from "../platform/node-runtime.ts";
import {
  LEAST_BYTES,
  type SlowBodies,
  slowBodiesBy,
  type SlowBody,
  tooSlow,
} from "./slow-bodies.ts";

type Done = (fault: Fault | null, body?: string) => void;
type Payload = Pick<IncomingMessage, "headers" | "on">;

/** The whole body as text. One that is refused is read past, so that its client reads the answer. */
export function collectBody(payload: Payload, share: ByteShare, clock: Clock, done: Done): void {
  new Intake(payload, share, clock, done).begin();
}

class Intake implements SlowBody {
  readonly #payload: Payload;
  readonly #share: ByteShare;
  readonly #done: Done;
  readonly #held: HeldBytes;
  readonly #bytes: ByteBuffer;
  readonly #watch: SlowBodies;
  #isOver = false;
  dueMs = 0;
  /** How much had come by the time of the look before. */
  #before = 0;

  constructor(payload: Payload, share: ByteShare, clock: Clock, done: Done) {
    this.#payload = payload;
    this.#share = share;
    this.#watch = slowBodiesBy(clock);
    this.#done = done;
    this.#held = new HeldBytes(share);
    this.#bytes = new ByteBuffer((bytes) => this.#held.take(bytes));
  }

  begin(): void {
    const payload = this.#payload;
    const { limit } = this.#share;
    const encoding = payload.headers["content-encoding"];
    if (announcedOf(payload) > limit) return this.#end(tooLarge(limit));
    if (encoding !== undefined && !isKnownEncoding(encoding, decompressors))
      return this.#end(unknownEncoding(encoding, decompressors));
    payload.on("data", (chunk: Buffer<ArrayBuffer>) => this.#add(chunk));
    payload.on("end", () => this.#whole(encoding));
    payload.on("error", (error) => this.#end(cutOff(error)));
    this.#watch.add(this);
  }

  /** Ends it where it came too slowly since the look before. */
  look(): void {
    const { length } = this.#bytes;
    if (length - this.#before < LEAST_BYTES) return this.#end(tooSlow("body"));
    this.#before = length;
    this.#watch.add(this);
  }

  #add(chunk: Buffer<ArrayBuffer>): void {
    if (this.#isOver) return;
    const { limit } = this.#share;
    if (this.#bytes.length + chunk.length > limit) return this.#end(tooLarge(limit));
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
    const { limit } = this.#share;
    decompress(bytes, { encoding, limit, decompressors, held: this.#held })
      .then((unpacked) => this.#read(unpacked))
      .catch((error: Fault) => this.#end(error));
  }

  #read({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): void {
    const bytes = Buffer.from(buffer, byteOffset, byteLength);
    if (isUtf8(bytes)) this.#end(null, bytes.toString());
    else this.#end(notUtf8());
  }

  /** Told once; what the body held is given back before. */
  #end(fault: Fault | null, body?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.delete(this);
    this.#bytes.takeAll();
    this.#held.release();
    this.#done(fault, body);
  }
}

/** How long its body is, as far as it says so. */
export const announcedOf = ({ headers }: Pick<IncomingMessage, "headers">): number =>
  Number(headers["content-length"] ?? 0);

const cutOff = (error: Error): Fault =>
  new Fault(
    "request.invalid",
    "The body did not arrive as announced; check `content-length` and the encoding.",
    {},
    error,
  );
