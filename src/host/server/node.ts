/** Serves Node's HTTP requests as exchanges. */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import {
  decompress,
  isKnownEncoding,
  notUtf8,
  tooLarge,
  unknownEncoding,
} from "../../gateway/body.ts";
import type { Exchange, Reply, ReplyData } from "../../gateway/exchange.ts";
import { Fault } from "../../turn/fault.ts";
import { nodeDecompressors as decompressors } from "../platform/node-runtime.ts";
import { trackAnswer, untrackAnswer, type OpenAnswer } from "./half-closed.ts";

/** The whole body as text. One too large is refused at once, and the rest of it read past. */
export function collectBody(
  payload: IncomingMessage,
  limit: number,
  done: (fault: Fault | null, body?: string) => void,
): void {
  const chunks: Buffer<ArrayBuffer>[] = [];
  const encoding = payload.headers["content-encoding"];
  let size = 0;
  if (announcedOf(payload) > limit) return done(tooLarge(limit));
  if (encoding !== undefined && !isKnownEncoding(encoding, decompressors))
    return done(unknownEncoding(encoding, decompressors));
  payload.on("data", (chunk: Buffer<ArrayBuffer>) => {
    if (size > limit) return;
    size += chunk.length;
    if (size > limit) {
      chunks.length = 0;
      done(tooLarge(limit));
    } else chunks.push(chunk);
  });
  const read = (body: Buffer): void =>
    isUtf8(body) ? done(null, body.toString()) : done(notUtf8());
  payload.on("end", () => {
    if (size > limit) return;
    const body = wholeOf(chunks);
    // The request outlives its body by far.
    chunks.length = 0;
    if (encoding === undefined) read(body);
    else
      decompress(body, { encoding, limit, decompressors }).then(
        (bytes) => read(asBuffer(bytes)),
        done,
      );
  });
  payload.on("error", (error) => {
    if (size <= limit) done(cutOff(error));
    size = Infinity;
  });
}

/** How long its body is, as far as it says so. */
export const announcedOf = ({ headers }: IncomingMessage): number =>
  Number(headers["content-length"] ?? 0);

const cutOff = (error: Error): Fault =>
  new Fault(
    "request.invalid",
    "The body did not arrive as announced; check `content-length` and the encoding.",
    {},
    error,
  );

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const wholeOf = (chunks: readonly Buffer<ArrayBuffer>[]): Buffer<ArrayBuffer> =>
  chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);

/** How a request came. */
export type Arrival = {
  /** How much of the path is the app's. */
  readonly prefixLength?: number | undefined;
  readonly foreign?: string | undefined;
};
const plainly: Arrival = {};

/** What Node received, as the gateway takes it. */
export function exchangeOf(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  { prefixLength = 0, foreign }: Arrival = plainly,
): Exchange {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  return {
    method: request.method ?? "GET",
    path: mark < 0 ? url.slice(prefixLength) : url.slice(prefixLength, mark),
    query: mark < 0 ? "" : url.slice(mark + 1),
    headers: request.headers,
    foreign,
    body,
    reply: new NodeReply(response),
  };
}

/**
 * A reply over Node's response. Made for every request, so it holds fields and
 * no closures. What it is given is held until this round of the event loop is
 * over: each write may have to wake its reader, and writes that follow each
 * other closely wake one reader of many only once.
 */
class NodeReply implements Reply, OpenAnswer {
  readonly #response: ServerResponse;
  #status = 200;
  #headers: Readonly<Record<string, string>> = {};
  #held = "";
  #isHolding = false;
  #ended = false;
  #drained: (() => void) | undefined;
  #left: (() => void) | undefined;
  /** Whether what was written so far ends with the end of a frame. */
  #isWhole = true;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Said with the first of the body: only then is it known whether that is all of it. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status;
    this.#headers = headers;
  }

  write(data: ReplyData): boolean {
    const response = this.#response;
    if (this.isOver()) return true;
    if (!response.headersSent) {
      response.writeHead(this.#status, this.#headers);
      if (response.socket !== null) speaking.add(response.socket);
    }
    if (typeof data !== "string") return this.#sendBytes(data);
    this.#isWhole = data.endsWith("\n\n") || (data === "" && this.#isWhole);
    this.#hold(data);
    return this.#held.length < MOST_HELD ? !response.writableNeedDrain : this.#send();
  }

  end(data: ReplyData = ""): void {
    const response = this.#response;
    if (this.isOver()) return;
    if (!response.headersSent) {
      const headers = isBodiless(this.#status)
        ? this.#headers
        : { ...this.#headers, "content-length": String(Buffer.byteLength(data)) };
      response.writeHead(this.#status, headers);
    } else if (response.socket !== null) speaking.delete(response.socket);
    if (typeof data !== "string") this.#sendBytes(data);
    this.#ended = true;
    untrackAnswer(response.req.socket, this);
    this.#hold(typeof data === "string" ? data : "");
  }

  onDrain(then: () => void): void {
    if (this.#drained === undefined) this.#response.on("drain", () => this.#drained?.());
    this.#drained = then;
  }

  onLeave(then: () => void): void {
    const response = this.#response;
    if (response.destroyed) queueMicrotask(then);
    else if (this.#left === undefined) {
      trackAnswer(response.req.socket, this);
      response.once("close", () => {
        if (!response.writableFinished) this.#left?.();
      });
    }
    this.#left = then;
  }

  probe(): boolean {
    const response = this.#response;
    if (this.isOver()) return false;
    if (response.headersSent) {
      if (this.#isWhole) this.#hold(SSE_NOTHING);
    } else if (response.req.httpVersion !== "1.0") response.writeContinue();
    // The older version has no word for it, and proxies that speak it close when their client leaves.
    else response.destroy();
    return !response.destroyed;
  }

  release(): void {
    if (this.#isHolding && !this.#response.destroyed) this.#send();
  }

  // Writing to a response that is over would raise an error for nobody to catch.
  isOver(): boolean {
    return this.#ended || this.#response.destroyed;
  }

  /** Bytes are not held: whoever sends them has gathered them. */
  #sendBytes(bytes: Uint8Array): boolean {
    this.#isWhole = false;
    if (this.#held !== "") this.#send();
    return this.#response.write(bytes);
  }

  #hold(text: string): void {
    this.#held += text;
    if (this.#isHolding) return;
    this.#isHolding = true;
    if (holding.push(this) === 1) setImmediate(releaseAll);
  }

  #send(): boolean {
    const response = this.#response;
    const text = this.#held;
    this.#held = "";
    this.#isHolding = false;
    if (!this.#ended) return response.write(text);
    if (text === "") response.end();
    else response.end(text);
    return true;
  }
}

/** A comment, which every reader of a stream passes over. */
const SSE_NOTHING = ":\n\n";

const speaking = new WeakSet<Socket>();

/** Whether a connection is in the middle of an answer: whatever else is said there would be taken for a part of it. */
export const isSpeaking = (socket: Socket): boolean => speaking.has(socket);

/** More than this is not held back. */
const MOST_HELD = 16 * 1024;

let holding: NodeReply[] = [];

function releaseAll(): void {
  const all = holding;
  holding = [];
  for (const reply of all) reply.release();
}

const isBodiless = (status: number): boolean => status === 204 || status === 304;
