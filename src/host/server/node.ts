/** Serves Node's HTTP requests as exchanges. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Exchange, Reply, ReplyData } from "../../gateway/http/exchange.ts";
import { trackAnswer, untrackAnswer, type OpenAnswer } from "./half-closed.ts";

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
  #left: ((why?: "stalled") => void) | undefined;
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

  onLeave(then: (why?: "stalled") => void): void {
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

  stalled(): void {
    this.#left?.("stalled");
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
