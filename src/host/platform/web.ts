import {
  type Decompress,
  type Decompressors,
  commonDecompressors,
} from "../../gateway/http/body.ts";
import type { Platform, Runtime } from "../../gateway/platform.ts";
import { type Fetch, fetchTransport } from "../../upstreams/http/fetch-transport.ts";
import { systemClock } from "./clock.ts";
import { newId } from "./ids.ts";
import { sha256 } from "./sha256.ts";

/** The services of a runtime with the interfaces of the Web. */
export const webPlatform = (): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report: Object.assign(() => {}, { types: [] }),
  runtime: webRuntime(),
});

/** Every runtime has these three formats; few have more. */
type Format = "gzip" | "deflate" | "deflate-raw";

const through =
  (format: Format): Decompress =>
  async (body, each) => {
    const bytes = new Blob([body]);
    const stream = bytes.stream().pipeThrough(new DecompressionStream(format));
    // A throw in the loop cancels the stream.
    for await (const piece of stream) each(piece);
  };

const decompressors: Decompressors = new Map(
  commonDecompressors(through("gzip"), through("deflate"), through("deflate-raw")),
);

export type WebRuntimeOptions = {
  /** Sends the requests to HTTP upstreams; default: the global `fetch`. */
  readonly fetch?: Fetch | undefined;
};

/** The common part of Bun, Deno, workers and Node: no sockets, no processes, no files. */
export const webRuntime = ({ fetch }: WebRuntimeOptions = {}): Runtime => ({
  sha256,
  decompressors,
  // Looked up at each call: some runtimes and many tests replace it later.
  connect: fetchTransport(fetch ?? ((url, init) => globalThis.fetch(url, init))),
});
