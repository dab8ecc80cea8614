/** Serves Node's HTTP requests as exchanges. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionBytes } from "../../gateway/http/budget.ts";
import type { Exchange, Reply, ReplyData } from "../../gateway/http/exchange.ts";
import type { Clock } from "../../turn/clock.ts";
import { isInReserve } from "../../upstreams/http/descriptor-reserve.ts";

/** The parts of a request that its host knows. */
export type Arrival = {
  /** Characters of the path that belong to the app around the gateway. */
  readonly prefixLength?: number | undefined;
  readonly foreign?: string | undefined;
};
const plainly: Arrival = {};

/** A request of Node as the gateway takes it. */
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

/** A client's connection. */
type Connection = ConnectionBytes & {
  /** The response to its latest request. */
  latest: ServerResponse | undefined;
  /** True if it has one of the last descriptors; it is closed after its first answer. */
  readonly isInReserve: boolean;
  /** True in the middle of an answer: other bytes would become a part of that answer. */
  isInAnswer: boolean;
  /** Replies under way; nearly always one. The client reads the first; the others wait for it. */
  readonly open: NodeReply[];
};

const connections = new WeakMap<Socket, Connection>();

export function connectionOf(socket: Socket): Connection {
  let known = connections.get(socket);
  if (known === undefined) {
    const reserve = isInReserve(socket);
    known = { held: 0, latest: undefined, isInReserve: reserve, isInAnswer: false, open: [] };
    connections.set(socket, known);
  }
  return known;
}

/**
 * A reply over Node's response. Made for every request, so it holds fields and no closures. Data
 * is held until the end of this round of the event loop: each write may wake its reader, and
 * writes that follow each other closely wake one reader of many only once.
 */
class NodeReply implements Reply {
  readonly #response: ServerResponse;
  readonly #connection: Connection;
  #status = 200;
  #headers: Readonly<Record<string, string>> = {};
  #held = "";
  #isHolding = false;
  #ended = false;
  #drained: (() => void) | undefined;
  #left: ((why?: "stalled") => void) | undefined;
  /** True if the data so far ends with the end of a frame. */
  #isWhole = true;
  /** Text without a meaning. Its last line ends as a frame does. */
  #idle = SSE_NOTHING;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#connection = connectionOf(response.req.socket);
  }

  /** Kept for the first data: only then is it known whether that is the whole body. */
  head(status: number, headers: Readonly<Record<string, string>>, idle = SSE_NOTHING): void {
    this.#status = status;
    this.#headers = headers;
    this.#idle = idle;
  }

  write(data: ReplyData): boolean {
    const response = this.#response;
    if (this.isOver()) return true;
    if (!response.headersSent) {
      response.writeHead(this.#status, this.#headers);
      // A response without a socket waits behind another.
      if (response.socket !== null) this.#connection.isInAnswer = true;
    }
    if (typeof data !== "string") return this.#sendBytes(data);
    this.#isWhole = data.endsWith(this.#idle.slice(1)) || (data === "" && this.#isWhole);
    this.#hold(data);
    return this.#held.length < MOST_HELD ? !response.writableNeedDrain : this.#send();
  }

  end(data: ReplyData = "", broken = false): void {
    const response = this.#response;
    if (this.isOver()) return;
    if (broken) return this.#breakOff(data);
    if (!response.headersSent) {
      const headers = isBodiless(this.#status)
        ? this.#headers
        : { ...this.#headers, "content-length": String(Buffer.byteLength(data)) };
      response.writeHead(this.#status, headers);
    } else if (response.socket !== null) this.#connection.isInAnswer = false;
    if (typeof data !== "string") this.#sendBytes(data);
    this.#ended = true;
    const { open } = this.#connection;
    while (open[0]?.isOver() === true) open.shift();
    this.#hold(typeof data === "string" ? data : "");
  }

  /** Sends the last data before it closes the connection. */
  #breakOff(data: ReplyData): void {
    this.write(data);
    this.#ended = true;
    const response = this.#response;
    const text = this.#held;
    this.#held = "";
    response.write(text, () => response.destroy());
  }

  onDrain(then: () => void): void {
    if (this.#drained === undefined) this.#response.on("drain", () => this.#drained?.());
    this.#drained = then;
  }

  onLeave(then: (why?: "stalled") => void): void {
    const response = this.#response;
    if (response.destroyed) queueMicrotask(then);
    else if (this.#left === undefined) {
      this.#connection.open.push(this);
      response.once("close", () => {
        if (!response.writableFinished) this.#left?.();
      });
    }
    this.#left = then;
  }

  /** The client has read nothing for too long, and is about to be cut off. */
  stalled(): void {
    if (!this.isOver()) this.#left?.("stalled");
  }

  /** Sends bytes without a meaning; false if the client has left. */
  probe(): boolean {
    const response = this.#response;
    if (response.headersSent) {
      if (this.#isWhole) this.#hold(this.#idle);
    } else if (response.req.httpVersion !== "1.0") response.writeContinue();
    // HTTP/1.0 has no such bytes, and proxies that speak it close when their client leaves.
    else response.destroy();
    return !response.destroyed;
  }

  release(): void {
    if (this.#isHolding && !this.#response.destroyed) this.#send();
  }

  /** A write to a response that has ended would raise an error that no code catches. */
  isOver(): boolean {
    return this.#ended || this.#response.destroyed;
  }

  /** Bytes are not held: their sender has gathered them. */
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
    // Node reserves three bytes for each character of a text in UTF-8, and one in Latin-1.
    const encoding = Buffer.byteLength(text) === text.length ? "latin1" : "utf8";
    if (!this.#ended) return response.write(text, encoding);
    if (text === "") response.end();
    else response.end(text, encoding);
    return true;
  }
}

/** A comment, which every reader of a stream ignores. */
const SSE_NOTHING = ":\n\n";

/** Characters that are held at most. */
const MOST_HELD = 16 * 1024;

let holding: NodeReply[] = [];

function releaseAll(): void {
  const all = holding;
  holding = [];
  for (const reply of all) reply.release();
}

const isBodiless = (status: number): boolean => status === 204 || status === 304;

/**
 * Follows a connection whose client has closed its side. The client may still wait for its
 * answer, or be gone: only bytes that are sent to it show that it is gone, and only the second
 * time. So bytes without a meaning are sent at growing intervals while an answer is under way.
 */
export function probeClient(socket: Socket, clock: Clock): void {
  let pause = FIRST_PROBE_MS;
  let cancel = (): void => {};
  const probe = (): void => {
    if (socket.destroyed) return;
    const reply = connectionOf(socket).open.find((one) => !one.isOver());
    if (reply?.probe() !== true) return;
    cancel = clock.at(clock.now() + pause, probe);
    pause = Math.min(pause * 2, LAST_PROBE_MS);
  };
  socket.once("close", () => cancel());
  probe();
}

const FIRST_PROBE_MS = 50;
const LAST_PROBE_MS = 15_000;
