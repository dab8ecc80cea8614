import { hash } from "node:crypto";
import { resolve } from "node:path";
import type { Transform } from "node:stream";
import { getHeapStatistics } from "node:v8";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import {
  type Decompress,
  type Decompressors,
  commonDecompressors,
} from "../../gateway/http/body.ts";
import type { Platform, Runtime } from "../../gateway/platform.ts";
import { openDatabaseStore } from "../../history/sql-log.ts";
import type { Happening, Report } from "../../observe/happening.ts";
import { codexUpstream } from "../../upstreams/codex/codex.ts";
import { undiciTransport } from "../../upstreams/http/undici-transport.ts";
import { environment } from "../config/env.ts";
import { systemClock } from "./clock.ts";
import { googleCredentials } from "./google-credentials.ts";
import { newId } from "./ids.ts";
import { printError } from "./print.ts";

/** The default `report` prints only exceptions: their frames without their texts, which may quote a request. */
const reportTrouble: Report = Object.assign(
  (happening: Happening) => {
    if (happening.type !== "trouble") return;
    const { error, requestId = "no request", frames } = happening;
    printError([`patchbay: ${error} (${requestId})`, ...frames.map((frame) => `    ${frame}`)]);
  },
  { types: ["trouble"] as const },
);

/** The services of Node for a gateway. */
export const nodePlatform = (report: Report = reportTrouble): Platform => ({
  clock: systemClock,
  newId,
  random: Math.random,
  report,
  runtime: nodeRuntime,
  environment: environment(),
});

/** Decompresses by a stream, piece by piece, so that a body that grows too large is stopped early. */
const through =
  (open: () => Transform): Decompress =>
  async (body, each) => {
    const unpacking = open();
    unpacking.end(body);
    // A throw in the loop destroys the stream.
    for await (const piece of unpacking) each(piece as Buffer<ArrayBuffer>);
  };

/** The largest window of a zstd frame, as a power of two. */
const params = { [constants.ZSTD_d_windowLogMax]: 25 };

export const nodeDecompressors: Decompressors = new Map([
  ...commonDecompressors(through(createGunzip), through(createInflate), through(createInflateRaw)),
  ["br", through(createBrotliDecompress)],
  ["zstd", through(() => createZstdDecompress({ params }))],
]);

/** Node's sockets, processes and native code. */
export const nodeRuntime: Runtime = {
  sha256: (text) => hash("sha256", text, "buffer"),
  decompressors: nodeDecompressors,
  heapBytes: getHeapStatistics().heap_size_limit,
  connect: undiciTransport,
  codex: (options) => codexUpstream({ ...options, home: resolve(options.home) }),
  credentials: { google: googleCredentials },
  openStore: openDatabaseStore,
};
