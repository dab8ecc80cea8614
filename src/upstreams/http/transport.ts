import type { Clock } from "../../turn/clock.ts";
import type { Headers } from "../retry.ts";

/** All in milliseconds. */
export type Timeouts = {
  readonly connect: number;
  /** Wait for a free connection of the upstream. */
  readonly queue: number;
  readonly headers: number;
  /** Silence in mid-answer. */
  readonly idle: number;
};

/** Names and values in turn. */
type FlatHeaders = readonly string[];

export function pairsOf(flat: FlatHeaders): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) pairs.push([flat[at] ?? "", flat[at + 1] ?? ""]);
  return pairs;
}

export type HttpRequest = {
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  readonly headers: string[];
  readonly body?: Uint8Array | undefined;
};

/** Holds one exchange: `abort` ends it with `onResponseError`, at any time. */
export type ResponseController = {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
};

/**
 * Receives one response while it arrives. The methods are those of an undici
 * handler, so that undici drives it without anything in between.
 */
export type ResponseHandler = {
  onRequestStart(controller: ResponseController): void;
  onResponseStart(controller: ResponseController, status: number, headers: Headers): void;
  onResponseData(controller: ResponseController, chunk: Uint8Array): void;
  onResponseEnd(): void;
  /** The error has a `code` if the connection failed, and none if a method above threw it. */
  onResponseError(controller: ResponseController, error: Error): void;
};

/** Bytes to text; a character may be cut between two chunks. */
export type Utf8Decoder = { write(chunk: Uint8Array): string; end(): string };

/** Sends requests to one origin. */
export type Transport = {
  /** Reports failures to the handler; some runtimes do so before this returns. */
  send(request: HttpRequest, handler: ResponseHandler): void;
  encode(text: string): Uint8Array;
  newDecoder(): Utf8Decoder;
  /** Waits for running exchanges for `CLOSE_MS`, then aborts them. */
  close(): Promise<void>;
};

export type ConnectOptions = {
  readonly origin: string;
  readonly timeouts: Timeouts;
  /** Most connections at once; `fetch` has no such limit. */
  readonly connections: number;
  readonly proxy?: URL | undefined;
  readonly clock: Clock;
};

/** Makes the transport of one upstream; each runtime has its own. */
export type Connect = (options: ConnectOptions) => Transport;

const CLOSE_MS = 10_000;

/** Waits until all exchanges have ended, for `CLOSE_MS` at most. */
export async function untilIdle(clock: Clock, idle: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancelTimer = clock.at(clock.now() + CLOSE_MS, resolve);
  await Promise.race([idle, promise]);
  cancelTimer();
}
