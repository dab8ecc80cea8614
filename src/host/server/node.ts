/** Serves Node's HTTP requests as exchanges. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Exchange, Reply, ReplyData } from "../../gateway/http/exchange.ts";
import type { Clock } from "../../turn/clock.ts";

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

/** Tells clients that have left from those that have only ended their side. */

/** An answer under way. */
export type OpenAnswer = {
  isOver(): boolean;
  /** Says what changes nothing; false once there is nothing to be said any more. */
  probe(): boolean;
  /** Its client has read nothing for too long, and is about to be cut off. */
  stalled(): void;
};

/** The answers that somebody waits for, by their connections; nearly always one. */
const awaited = new WeakMap<Socket, OpenAnswer | readonly OpenAnswer[]>();

function trackAnswer(socket: Socket, answer: OpenAnswer): void {
  const before = awaited.get(socket);
  awaited.set(socket, before === undefined ? answer : [before, answer].flat());
}

/** A connection that is kept for the next request keeps nothing of the last one. */
function untrackAnswer(socket: Socket, answer: OpenAnswer): void {
  const before = awaited.get(socket);
  if (before === answer) awaited.delete(socket);
  else if (Array.isArray(before)) {
    const others = before.filter((one) => one !== answer);
    if (others.length === 0) awaited.delete(socket);
    else awaited.set(socket, others);
  }
}

const openOn = (socket: Socket): readonly OpenAnswer[] =>
  [awaited.get(socket) ?? []].flat().filter((one) => !one.isOver());

/** Tells all answers on a connection that nobody reads it. */
export function tellStalled(socket: Socket): void {
  for (const answer of openOn(socket)) answer.stalled();
}

/** The first of them that is not over: what is asked for meanwhile is answered behind it. */
const currentOn = (socket: Socket): OpenAnswer | undefined => openOn(socket)[0];

/**
 * Follows a connection whose client has closed its side. It may be waiting for
 * its answer all the same, or be gone: only what is sent to it shows that nobody
 * is there, and only the second time. So something is said that changes nothing,
 * at growing intervals, for as long as there is an answer to wait for.
 */
export function askAfter(socket: Socket, clock: Clock): void {
  let pause = FIRST_ASKED_MS;
  let callOff = (): void => {};
  const ask = (): void => {
    if (socket.destroyed || currentOn(socket)?.probe() !== true) return;
    callOff = clock.at(clock.now() + pause, ask);
    pause = Math.min(pause * 2, LAST_ASKED_MS);
  };
  socket.once("close", () => callOff());
  ask();
}

const FIRST_ASKED_MS = 50;
const LAST_ASKED_MS = 15_000;
