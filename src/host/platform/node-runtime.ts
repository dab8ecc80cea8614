import { hash } from "node:crypto";
import { resolve } from "node:path";
import { promisify } from "node:util";
import {
  brotliDecompress,
  constants,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
  type InputType,
} from "node:zlib";
import { hasZlibHeader, type Decompress, type Decompressors } from "../../gateway/body.ts";
import type { Runtime } from "../../gateway/runtime.ts";
import { openDatabaseStore } from "../../store/open-database.ts";
import { codexUpstream } from "../../upstreams/codex/codex.ts";
import { undiciTransport } from "../../upstreams/http/undici-transport.ts";

type Unzip<Options> = (body: InputType, options: Options) => Promise<Buffer<ArrayBuffer>>;
type Limited = { readonly maxOutputLength: number };

const bounded =
  <More extends object>(unzip: Unzip<Limited & More>, more: More): Decompress =>
  async (body, maxOutputLength) => {
    try {
      return await unzip(body, { maxOutputLength, ...more });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
      throw error;
    }
  };

const gzip = bounded(promisify(gunzip), {});
const wrapped = bounded(promisify(inflate), {});
const bare = bounded(promisify(inflateRaw), {});
const br = bounded(promisify(brotliDecompress), {});
/** A frame of zstd says how much its reader has to keep at hand, as a power of two, and gets no more. */
const params = { [constants.ZSTD_d_windowLogMax]: 25 };
const zstd = bounded(promisify(zstdDecompress), { params });

export const nodeDecompressors: Decompressors = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", (body, limit) => (hasZlibHeader(body) ? wrapped : bare)(body, limit)],
  ["br", br],
  ["zstd", zstd],
]);

/** Node's sockets, processes and native code. */
export const nodeRuntime: Runtime = {
  sha256: (text) => hash("sha256", text, "buffer"),
  decompressors: nodeDecompressors,
  connect: undiciTransport,
  codex: (options) => codexUpstream({ ...options, home: resolve(options.home) }),
  openStore: openDatabaseStore,
};
