import type { Clock } from "../../turn/clock.ts";
import type { Headers } from "../retry.ts";

/** All in milliseconds. */
export type Timeouts = {
  readonly connect: number;
  /** Of waiting for one of the upstream's connections to be free. */
  readonly queue: number;
  readonly headers: number;
  /** Of silence in mid-answer. */
  readonly idle: number;
};

export type HttpRequest = {
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  /** Names and values in turn. */
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
  /** With a `code` where the connection failed; whatever a method above threw has none. */
  onResponseError(controller: ResponseController, error: Error): void;
};

/** Bytes to text; a character may be cut between two chunks. */
export type Utf8Decoder = { write(chunk: Uint8Array): string; end(): string };

/** Sends requests to one origin. */
export type Transport = {
  /** Failures are told to the handler; some runtimes do so before this returns. */
  send(request: HttpRequest, handler: ResponseHandler): void;
  encode(text: string): Uint8Array;
  newDecoder(): Utf8Decoder;
  /** Lets running exchanges end, but not for ever. */
  close(): Promise<void>;
};

export type ConnectOptions = {
  readonly origin: string;
  readonly timeouts: Timeouts;
  /** How many connections it may hold at once, where the runtime lets us say. */
  readonly connections: number;
  readonly proxy?: URL | undefined;
  readonly clock: Clock;
};

/** Makes the transport of one upstream; each runtime has its own. */
export type Connect = (options: ConnectOptions) => Transport;

/** How long running exchanges have to end when a transport is closed. */
export const CLOSE_MS = 10_000;
