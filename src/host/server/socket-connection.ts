/** Serves the messages of WebSockets as exchanges. */

import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Duplex } from "node:stream";
import type * as ws from "ws";
import type { WebSocket } from "ws";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { type ByteShare, HeldBytes } from "../../gateway/http/budget.ts";
import type { Exchange, Reply, ReplyData } from "../../gateway/http/exchange.ts";
import { ConnectionLog } from "../../gateway/http/session.ts";
import { sseDone, SseReader } from "../../stream/sse.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { MessageArrival } from "./message-arrival.ts";

export type ConnectionOptions = {
  readonly gateway: Pick<
    Gateway,
    "handle" | "refuse" | "bodyLimit" | "bodyBudget" | "sessionBudget"
  >;
  /** The tenant whose budget holds the messages. */
  readonly tenant: Tenant;
  /** The request that opened the connection; each message is a request with its path and headers. */
  readonly request: Pick<Exchange, "path" | "query" | "headers" | "foreign">;
  readonly clock: Clock;
};

/** Milliseconds between two checks that the client is still there. */
export const PING_MS = 30_000;
/** The same as at OpenAI: clients use a connection for an hour and open the next one in time. */
export const LIFETIME_MS = 60 * 60_000;
/** Messages that may wait at a time. */
const MOST_WAITING = 32;

const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

type Message = {
  readonly text: string;
  readonly bytes: number;
  readonly held: HeldBytes;
  /** Set if the message is refused: that is its answer. */
  readonly fault?: Fault | undefined;
  /** True if the connection is closed after the answer, and no later message is read. */
  readonly isLast?: boolean;
};

/**
 * One WebSocket. A message is an exchange; they are served one at a time, as at OpenAI, and later
 * ones wait, within the limit for bodies.
 */
export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #wire: Duplex;
  readonly #options: ConnectionOptions;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  readonly #session: ConnectionLog;
  readonly #share: ByteShare;
  readonly #arrival: MessageArrival;
  /** True if the rest of the incoming data is dropped. */
  #isDropping = false;
  #reply: SocketReply | undefined;
  /** Closes the connection when no answer is under way. */
  #ending: (() => void) | undefined;
  /** True if the client has sent anything since the last ping. */
  #isAlive = true;
  #cancelPing = (): void => {};
  readonly #cancelExpiry: () => void;

  constructor(socket: WebSocket, wire: Duplex, options: ConnectionOptions) {
    this.#socket = socket;
    this.#wire = wire;
    this.#options = options;
    const { gateway, tenant, clock } = options;
    this.#share = { budget: gateway.bodyBudget, tenant, limit: gateway.bodyLimit };
    this.#session = new ConnectionLog({ budget: gateway.sessionBudget, tenant });
    this.#arrival = new MessageArrival(this.#share, clock, (fault) => this.#refuseLast(fault));
    // By the default of `binaryType`, a message is one Buffer.
    socket.on("message", (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on("pong", () => (this.#isAlive = true));
    socket.on("ping", () => (this.#isAlive = true));
    // A wrong message or a broken connection closes it; `close` follows.
    socket.on("error", () => this.#dropRest());
    socket.on("close", () => this.#closed());
    // The listener of the library was added first, so it has emitted the messages of a chunk before this one runs.
    wire.on("data", (chunk: Buffer) => this.#arrival.add(chunk));
    wire.on("drain", () => this.#reply?.drain());
    this.#pingLater();
    const expire = (): void =>
      this.#endWith(() => {
        this.#socket.send(errorEvent(tooOld(), {}));
        this.#close(GOING_AWAY, "The connection reached its limit of 60 minutes.");
      });
    this.#cancelExpiry = clock.at(clock.now() + LIFETIME_MS, expire, "background");
  }

  /** Closes the connection as soon as no answer is under way. */
  stop(): void {
    this.#endWith(() => this.#close(GOING_AWAY, "The gateway is shutting down."));
  }

  #endWith(ending: () => void): void {
    this.#ending ??= ending;
    if (this.#reply === undefined) this.#ending();
  }

  /** A client that does not answer a ping is gone, though its connection is open. */
  #pingLater(): void {
    const { clock } = this.#options;
    const ping = (): void => {
      if (!this.#isAlive) return this.#socket.terminate();
      this.#isAlive = false;
      this.#socket.ping();
      this.#pingLater();
    };
    this.#cancelPing = clock.at(clock.now() + PING_MS, ping, "background");
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#isAlive = true;
    if (this.#isDropping) return;
    // A message that has to wait counts its bytes again below.
    this.#arrival.release();
    const held = new HeldBytes(this.#share);
    const bytes = data.length;
    const fault = isBinary ? notText() : undefined;
    const message: Message = { text: data.toString(), bytes, held, fault };
    if (this.#reply === undefined) return this.#serve(message);
    try {
      held.take(bytes);
    } catch (error) {
      return this.#refuseLast(error as Fault);
    }
    this.#waitingBytes += bytes;
    this.#waiting.push(message);
    if (
      this.#waiting.length <= MOST_WAITING &&
      this.#waitingBytes <= this.#options.gateway.bodyLimit
    )
      return;
    this.#dropRest();
    this.#close(POLICY_VIOLATION, "Too many messages are waiting.");
  }

  /** Refuses a message after those before it are answered. The library holds its data until the connection closes, so it is the last. */
  #refuseLast(fault: Fault): void {
    if (this.#isDropping) return;
    this.#dropRest();
    const message = { text: "", bytes: 0, held: new HeldBytes(this.#share), fault, isLast: true };
    if (this.#reply === undefined) this.#serve(message);
    else this.#waiting.push(message);
  }

  /** Reads and drops what still comes: a client that is sending reads nothing until it has finished. */
  #dropRest(): void {
    if (this.#isDropping) return;
    this.#isDropping = true;
    this.#wire.removeAllListeners("data");
    this.#wire.on("data", () => (this.#isAlive = true));
    this.#wire.resume();
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    // The closing frame of the client is dropped too, and the library would wait for it.
    if (this.#isDropping) this.#wire.end();
  }

  #serve({ text, held, fault, isLast = false }: Message): void {
    const { gateway, request } = this.#options;
    const session = this.#session;
    const reply = new SocketReply(this.#socket, this.#wire, session, () => this.#over());
    this.#reply = reply;
    const exchange: Exchange = { ...request, method: "POST", body: text, session, reply };
    const code = fault?.code === "gateway.busy" ? TRY_AGAIN_LATER : POLICY_VIOLATION;
    if (isLast) this.#ending = () => this.#close(code, "A message was refused.");
    held.release();
    if (fault === undefined) gateway.handle(exchange);
    else gateway.refuse(exchange, fault);
  }

  /** Serves the next message later, because the caller may still be at work on the turn that has ended. */
  #over(): void {
    queueMicrotask(() => {
      this.#reply = undefined;
      if (this.#ending !== undefined) return this.#ending();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#waitingBytes -= next.bytes;
      this.#serve(next);
    });
  }

  #closed(): void {
    this.#cancelPing();
    this.#cancelExpiry();
    this.#arrival.release();
    for (const { held } of this.#waiting) held.release();
    this.#waiting = [];
    this.#session.close();
    this.#reply?.leave();
  }
}

const notText = (): Fault =>
  new Fault("request.invalid", "A message must be text: JSON in a text frame.");

const tooOld = (): Fault =>
  new Fault(
    "request.invalid",
    "This connection reached its limit of 60 minutes; open another one.",
    { upstreamCode: "websocket_connection_limit_reached" },
  );

/** Headers of a refusal that clients read in the event. */
const shownHeaders = new Set(["x-request-id", "retry-after", "x-should-retry"]);
const DONE = sseDone.slice("data: ".length).trim();

function errorEvent(fault: Fault, head: Readonly<Record<string, string>>): string {
  const headers = Object.fromEntries(
    Object.entries(head).filter(([name]) => shownHeaders.has(name)),
  );
  const { error } = faultBody(fault);
  // The SDKs look for the headers in the error, Codex beside it.
  const event = { type: "error", status: fault.status, error: { ...error, headers }, headers };
  return JSON.stringify(event);
}

/**
 * A reply whose events are sent one in a message. Doors write a stream of server-sent events; it
 * is split again, so that an answer over a WebSocket is the same in every part. A failure is one
 * event on a WebSocket and two in the stream, `error` and `response.failed`; clients end the turn
 * at either, so the first is left out if the second follows.
 */
class SocketReply implements Reply {
  readonly #socket: WebSocket;
  readonly #wire: Duplex;
  readonly #session: ConnectionLog;
  readonly #over: () => void;
  readonly #reader: SseReader;
  #error: string | undefined;
  #isOver = false;
  #drained: (() => void) | undefined;
  #left: (() => void) | undefined;

  constructor(socket: WebSocket, wire: Duplex, session: ConnectionLog, over: () => void) {
    this.#socket = socket;
    this.#wire = wire;
    this.#session = session;
    this.#over = over;
    this.#reader = new SseReader((json, name) => this.#send(json, name), { longest: Infinity });
  }

  /** A message has no head. */
  head(): void {}

  write(data: ReplyData): boolean {
    if (this.#isOver) return true;
    this.#reader.feed(textOf(data));
    return !this.#wire.writableNeedDrain;
  }

  end(data: ReplyData = ""): void {
    if (this.#isOver) return;
    this.#reader.feed(textOf(data));
    this.#reader.end();
    if (this.#error !== undefined) this.#socket.send(this.#error);
    this.#finish();
  }

  refuse(fault: Fault, head: Readonly<Record<string, string>>): void {
    if (this.#isOver) return;
    this.#session.fail();
    this.#socket.send(errorEvent(fault, head));
    this.#finish();
  }

  onDrain(then: () => void): void {
    this.#drained = then;
  }

  onLeave(then: () => void): void {
    this.#left = then;
  }

  drain(): void {
    this.#drained?.();
  }

  /** The connection is closed. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#left?.();
  }

  #finish(): void {
    this.#isOver = true;
    this.#over();
  }

  #send(json: string, name: string | undefined): void {
    if (json === DONE) return;
    if (name === "error") {
      this.#error = json;
      return;
    }
    if (name === "response.failed") this.#session.fail();
    else if (this.#error !== undefined) this.#socket.send(this.#error);
    this.#error = undefined;
    this.#socket.send(json);
  }
}

const textOf = (data: ReplyData): string =>
  typeof data === "string" ? data : new TextDecoder().decode(data);

export type Sockets = {
  /** True if a request becomes a WebSocket. All others are served as if they had not asked for it. */
  wants(request: IncomingMessage): boolean;
  open(request: IncomingMessage, wire: Duplex, head: Buffer): void;
  /** Closes each connection as soon as no answer is under way on it. */
  stop(): void;
};

/** The WebSockets of a server. */
export function openSockets(gateway: Gateway, clock: Clock): Sockets {
  const connections = new Set<SocketConnection>();
  let server: ReturnType<typeof serverFor> | undefined;
  return {
    wants(request) {
      const { headers } = request;
      if (!/(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? "")) return false;
      // A request that names the whole address is meant for a proxy.
      if (request.url?.startsWith("/") !== true) return false;
      if (headers.origin !== undefined && gateway.originPolicy(headers.origin) === "refused")
        return false;
      return gateway.socketTenant(requestOf(gateway, request)) !== undefined;
    },
    open(request, wire, head) {
      const opened = requestOf(gateway, request);
      const tenant = gateway.socketTenant(opened);
      if (tenant === undefined) {
        wire.destroy();
        return;
      }
      // Read each time: a new configuration may change it.
      if (server?.limit !== gateway.bodyLimit) server = serverFor(gateway.bodyLimit);
      server.upgrade(request, wire, head, (socket) => {
        // This id is of the request that opened the connection; each turn has its own id.
        const { "x-request-id": _, ...headers } = opened.headers;
        const options = { gateway, tenant, request: { ...opened, headers }, clock };
        const connection = new SocketConnection(socket, wire, options);
        connections.add(connection);
        socket.on("close", () => connections.delete(connection));
      });
    },
    stop() {
      for (const connection of connections) connection.stop();
    },
  };
}

const load = createRequire(import.meta.url);

/** Loads the library, 0.4 MB, with the first WebSocket: most gateways get none. */
function serverFor(limit: number) {
  const { WebSocketServer } = load("ws") as typeof ws;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limit,
    // Each compressed connection would hold about 300 kB of windows.
    perMessageDeflate: false,
  });
  return { limit, upgrade: server.handleUpgrade.bind(server) };
}

function requestOf(gateway: Gateway, { method = "", url = "/", headers }: IncomingMessage) {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  return { method, path, query, headers, foreign: gateway.foreignIn(headers.host ?? "") };
}
