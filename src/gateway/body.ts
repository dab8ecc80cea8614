import { promisify } from "node:util";
import {
  brotliDecompress,
  constants,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
} from "node:zlib";
import { Fault } from "../turn/fault.ts";

/** Undoes one way of packing; never makes more than `most` bytes. */
type Unpack = (packed: Buffer, most: number) => Promise<Buffer>;

const ungzip = promisify(gunzip);
const unwrap = promisify(inflate);
const unwrapBare = promisify(inflateRaw);
const unbrotli = promisify(brotliDecompress);
const unzstd = promisify(zstdDecompress);

/** A frame of zstd says how much its reader has to keep at hand, as a power of two, and gets no more. */
const params = { [constants.ZSTD_d_windowLogMax]: 25 };

const gzip: Unpack = (packed, maxOutputLength) => ungzip(packed, { maxOutputLength });
const deflate: Unpack = (packed, maxOutputLength) =>
  (isWrapped(packed) ? unwrap : unwrapBare)(packed, { maxOutputLength });
const br: Unpack = (packed, maxOutputLength) => unbrotli(packed, { maxOutputLength });
const zstd: Unpack = (packed, maxOutputLength) => unzstd(packed, { maxOutputLength, params });

const unpackers: ReadonlyMap<string, Unpack> = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", deflate],
  ["br", br],
  ["zstd", zstd],
]);

/** Whether it has the head that the standard asks for; many leave it out. */
const isWrapped = ([first = 0, second = 0]: Buffer): boolean =>
  (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;

/** The ways of packing that are read, for those who ask. */
export const packings = "gzip, deflate, br, zstd";
/** Nobody packs what is packed; more often than this it would only cost. */
const MOST_PACKED = 3;

/** In the order in which it was packed. */
const namesIn = (encoding: string): readonly string[] =>
  encoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");

/** Whether a body with this `content-encoding` can be read. */
export function isKnownPacking(encoding: string): boolean {
  const names = namesIn(encoding);
  return names.length <= MOST_PACKED && names.every((name) => unpackers.has(name));
}

export const unknownPacking = (encoding: string): Fault =>
  new Fault(
    "request.encoding",
    `\`content-encoding: ${encoding.slice(0, 80)}\` is not read here; use one of ${packings}, or send the body as it is.`,
  );

/** The body as it was before it was packed, and never more than `limit` bytes of it. */
export async function unpacked(body: Buffer, encoding: string, limit: number): Promise<Buffer> {
  if (!isKnownPacking(encoding)) throw unknownPacking(encoding);
  let open = body;
  for (const name of namesIn(encoding).toReversed())
    try {
      open = (await unpackers.get(name)?.(open, limit)) ?? open;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(limit);
      throw new Fault(
        "request.invalid",
        `The body is not whole, or not \`${name}\` as its \`content-encoding\` says; send it again, or as it is.`,
        {},
        error,
      );
    }
  return open;
}

/** Read all the same, it would reach the model as other words than were sent. */
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
