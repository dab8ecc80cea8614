/** Undoes the content encodings of request bodies, within the size limit. */

import { Fault } from "../../turn/fault.ts";
import type { HeldBytes } from "./budget.ts";

/** Undoes one `content-encoding`. Calls `each` with every piece; `each` may throw. */
export type Decompress = (body: Bytes, each: (piece: Bytes) => void) => Promise<void>;

type Bytes = Uint8Array<ArrayBuffer>;

/** By the names that clients give them. */
export type Decompressors = ReadonlyMap<string, Decompress>;

/** The decoders that every runtime has; `bare` is deflate without its header. */
export const commonDecompressors = (
  gzip: Decompress,
  deflate: Decompress,
  bare: Decompress,
): readonly (readonly [string, Decompress])[] => [
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", (body, each) => (hasZlibHeader(body) ? deflate : bare)(body, each)],
];

/** True if a `deflate` body has the header of the standard; many clients leave it out. */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;

/** Clients compress a body once; more encodings are an attack. */
const MOST_ENCODINGS = 3;

/** In the order in which they were applied. */
const encodingsIn = (header: string): readonly string[] =>
  header
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");

/** Whether a body with this `content-encoding` can be read. */
export function isKnownEncoding(header: string, known: Decompressors): boolean {
  const names = encodingsIn(header);
  return names.length <= MOST_ENCODINGS && names.every((name) => known.has(name));
}

/** `x-gzip` is an old name of one of them. */
const encodingNames = (known: Decompressors): string =>
  [...known.keys()].filter((name) => name !== "x-gzip").join(", ");

export function unknownEncoding(header: string, known: Decompressors): Fault {
  const acceptEncoding = encodingNames(known);
  const message = `\`content-encoding: ${header.slice(0, 80)}\` is not supported; use one of ${acceptEncoding}, or send the body as it is.`;
  return new Fault("request.encoding", message, { acceptEncoding });
}

type DecompressOptions = {
  /** The value of `content-encoding`. */
  readonly encoding: string;
  readonly decompressors: Decompressors;
  /** Holds the decompressed bytes. */
  readonly held: HeldBytes;
};

/** The body as it was before it was compressed, within the limit of `held`. */
export async function decompress(
  body: Bytes,
  { encoding, decompressors, held }: DecompressOptions,
): Promise<Bytes> {
  if (!isKnownEncoding(encoding, decompressors)) throw unknownEncoding(encoding, decompressors);
  let open = body;
  for (const name of encodingsIn(encoding).toReversed()) {
    const made = new ByteBuffer(held);
    await decompressors
      .get(name)?.(open, (piece) => made.add(piece))
      .catch((error: unknown) => {
        throw error instanceof Fault ? error : notEncoded(name, error);
      });
    open = made.takeAll();
  }
  return open;
}

const notEncoded = (name: string, cause: unknown): Fault =>
  new Fault(
    "request.invalid",
    `The body is truncated, or not in the \`content-encoding\` \`${name}\`; send it again, or without compression.`,
    {},
    cause,
  );

/** Decoding such a body would change its text. */
export const notUtf8 = (): Fault =>
  new Fault(
    "request.not_json",
    "The request body is not UTF-8; send JSON in UTF-8, and name its `content-encoding` if it is compressed.",
  );

export const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `The body is larger than ${limit} bytes; send less, or raise \`server.body_limit\`.`,
  );

/** The room that a second chunk makes; from there on the room doubles, up to the announced length. */
const FIRST_BYTES = 64 * 1024;
const none: Bytes = new Uint8Array(0);

/**
 * Joins chunks as they come: a chunk of one byte would otherwise keep its whole network read in
 * memory. The first chunk is kept as it is, since most bodies have no second one.
 */
export class ByteBuffer {
  readonly #held: HeldBytes;
  readonly #announced: number;
  #bytes: Bytes = none;
  #length = 0;

  constructor(held: HeldBytes, announced = Infinity) {
    this.#held = held;
    this.#announced = announced;
  }

  get length(): number {
    return this.#length;
  }

  /** Throws a Fault if the body becomes too large, or if there is no room for it. */
  add(chunk: Bytes): void {
    const { limit } = this.#held;
    const length = this.#length + chunk.length;
    if (length > limit) throw tooLarge(limit);
    if (this.#length === 0) {
      this.#held.take(chunk.length);
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#enlarge(length);
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** All of it; the buffer is empty afterwards. */
  takeAll(): Bytes {
    const all = this.#bytes.subarray(0, this.#length);
    this.#bytes = none;
    this.#length = 0;
    return all;
  }

  #enlarge(least: number): void {
    const room = Math.max(least, FIRST_BYTES, 2 * this.#bytes.length);
    const size = least > this.#announced ? room : Math.min(room, this.#announced);
    this.#held.take(size - this.#bytes.length);
    const larger = new Uint8Array(size);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
