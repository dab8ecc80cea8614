import { hasZlibHeader, type Decompress, type Decompressors } from "../../gateway/body.ts";
import type { Runtime } from "../../gateway/runtime.ts";
import { fetchTransport, type Fetch } from "../../upstreams/http/fetch-transport.ts";
import { sha256 } from "./sha256.ts";

/** Every runtime has these three formats; few have more. */
type Format = "gzip" | "deflate" | "deflate-raw";

const through =
  (format: Format): Decompress =>
  async (body, limit) => {
    const bytes = new Blob([body]);
    return collect(bytes.stream().pipeThrough(new DecompressionStream(format)), limit);
  };

async function collect(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = stream.getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

const gzip = through("gzip");
const wrapped = through("deflate");
const bare = through("deflate-raw");

const decompressors: Decompressors = new Map([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", (body, limit) => (hasZlibHeader(body) ? wrapped : bare)(body, limit)],
]);

export type WebRuntimeOptions = {
  /** What reaches HTTP upstreams; default: the global one. */
  readonly fetch?: Fetch | undefined;
};

/** What Bun, Deno, workers and Node have in common: no sockets, no processes, no files. */
export const webRuntime = ({ fetch }: WebRuntimeOptions = {}): Runtime => ({
  sha256,
  decompressors,
  // Looked up at each call: some runtimes and many tests replace it later.
  connect: fetchTransport(fetch ?? ((url, init) => globalThis.fetch(url, init))),
});
