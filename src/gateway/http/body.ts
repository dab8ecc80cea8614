/** Undoes the content encodings of request bodies, within the size limit. */

import { Fault } from "../../turn/fault.ts";
import { ByteBuffer, type HeldBytes } from "./budget.ts";

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
  const message = `\`content-encoding: ${header.slice(0, 80)}\` is not read here; use one of ${acceptEncoding}, or send the body as it is.`;
  return new Fault("request.encoding", message, { acceptEncoding });
}

type DecompressOptions = {
  /** The value of `content-encoding`. */
  readonly encoding: string;
  /** Bytes. */
  readonly limit: number;
  readonly decompressors: Decompressors;
  /** Holds the decompressed bytes. */
  readonly held: HeldBytes;
};

/** The body as it was before it was compressed, and never more than `limit` bytes of it. */
export async function decompress(
  body: Bytes,
  { encoding, limit, decompressors, held }: DecompressOptions,
): Promise<Bytes> {
  if (!isKnownEncoding(encoding, decompressors)) throw unknownEncoding(encoding, decompressors);
  let open = body;
  for (const name of encodingsIn(encoding).toReversed()) {
    const made = new ByteBuffer((bytes) => held.take(bytes));
    const each = (piece: Bytes): void => {
      if (made.length + piece.length > limit) throw tooLarge(limit);
      made.add(piece);
    };
    await decompressors
      .get(name)?.(open, each)
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
    `The body is not whole, or not \`${name}\` as its \`content-encoding\` says; send it again, or as it is.`,
    {},
    cause,
  );

/** Decoding such a body would change its text. */
export const notUtf8 = (): Fault =>
  new Fault(
    "request.not_json",
    "The request body is not UTF-8; send JSON as text in UTF-8, and if it is packed, name its `content-encoding`.",
  );

export const tooLarge = (limit: number): Fault =>
  new Fault(
    "request.too_large",
    `The body is larger than ${limit} bytes; send less, or raise \`server.body_limit\`.`,
  );
