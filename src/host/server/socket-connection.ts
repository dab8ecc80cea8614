import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Gateway } from "../../gateway/gateway.ts";
import { type ByteShare, HeldBytes } from "../../gateway/http/budget.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { Session } from "../../gateway/http/session.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { MessageArrival } from "./message-arrival.ts";
import { SocketReply } from "./socket-reply.ts";

export type ConnectionOptions = {
  readonly gateway: Pick<
    Gateway,
    "handle" | "refuse" | "bodyLimit" | "bodyBudget" | "sessionBudget"
  >;
  /** Whose bytes are those that arrive. */
  readonly tenant: Tenant;
  /** What the request that opened it said; each message is a request with the same. */
  readonly request: Pick<Exchange, "path" | "query" | "headers" | "foreign">;
  readonly clock: Clock;
};

/** How often it is looked whether the other side is still there. */
export const PING_MS = 30_000;
/** As at OpenAI: clients count on a connection for an hour and open the next one in time. */
export const LIFETIME_MS = 60 * 60_000;
/** More messages than this never wait for their turn. */
const MOST_WAITING = 32;

const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

type Message =
  | {
      readonly type: "whole";
      readonly text: string;
      readonly isBinary: boolean;
      readonly bytes: number;
      readonly held: HeldBytes;
    }
  /** One that could not be taken in. It is answered when those before it were, and nothing behind it is read. */
  | { readonly type: "refused"; readonly fault: Fault };

/**
 * One WebSocket. A message is an exchange; one at a time has its turn, as at
 * OpenAI, and those that come meanwhile wait, within the limit for bodies.
 */
export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #wire: Duplex;
  readonly #options: ConnectionOptions;
  #waiting: Message[] = [];
  #waitingBytes = 0;
  readonly #session: Session;
  readonly #share: ByteShare;
  readonly #arrival: MessageArrival;
  #isReadPast = false;
  #reply: SocketReply | undefined;
  /** Why it is to be closed once its turn is over. */
  #ending: (() => void) | undefined;
  #isHeard = true;
  readonly #timers: (() => void)[] = [];

  constructor(socket: WebSocket, wire: Duplex, options: ConnectionOptions) {
    this.#socket = socket;
    this.#wire = wire;
    this.#options = options;
    const { gateway, tenant, clock } = options;
    this.#share = { budget: gateway.bodyBudget, tenant, limit: gateway.bodyLimit };
    this.#session = new Session({ budget: gateway.sessionBudget, tenant });
    this.#arrival = new MessageArrival(this.#share, clock, (fault) => this.#refuseArrival(fault));
    // As `binaryType` is by default, a message is one Buffer.
    socket.on("message", (data, isBinary) => this.#hear(data as Buffer, isBinary));
    socket.on("pong", () => (this.#isHeard = true));
    socket.on("ping", () => (this.#isHeard = true));
    // What is wrong with a message or the connection closes it; `close` follows.
    socket.on("error", () => this.#readPast());
    socket.on("close", () => this.#closed());
    // Behind the listener of the socket: it has taken the messages out of a chunk by then.
    wire.on("data", (chunk: Buffer) => this.#arrival.add(chunk));
    wire.on("drain", () => this.#reply?.drain());
    this.#watch();
    this.#expire();
  }

  /** Closes it when it has no turn under way. */
  stop(): void {
    this.#endWith(() => this.#close(GOING_AWAY, "The gateway is shutting down."));
  }

  #endWith(ending: () => void): void {
    this.#ending ??= ending;
    if (this.#reply === undefined) this.#ending();
  }

  /** A connection whose other side answers no ping is gone, though nobody said so. */
  #watch(): void {
    const { clock } = this.#options;
    this.#timers[0] = clock.at(
      clock.now() + PING_MS,
      () => {
        if (!this.#isHeard) return this.#socket.terminate();
        this.#isHeard = false;
        this.#socket.ping();
        this.#watch();
      },
      "background",
    );
  }

  #expire(): void {
    const { clock } = this.#options;
    const expire = (): void =>
      this.#endWith(() => {
        this.#refuse(tooOld());
        this.#close(GOING_AWAY, "An hour is over.");
      });
    this.#timers[1] = clock.at(clock.now() + LIFETIME_MS, expire, "background");
  }

  #refuse(fault: Fault): void {
    const send = (json: string): void => this.#socket.send(json);
    new SocketReply({ send, isFull: () => false, failed: () => {}, over: () => {} }).refuse(
      fault,
      {},
    );
  }

  #hear(data: Buffer, isBinary: boolean): void {
    this.#isHeard = true;
    if (this.#isReadPast) return;
    // What held it while it arrived is free for its time of waiting.
    this.#arrival.release();
    const held = new HeldBytes(this.#share);
    const bytes = data.length;
    const message: Message = { type: "whole", text: data.toString(), isBinary, bytes, held };
    if (this.#reply === undefined) return this.#serve(message);
    try {
      held.take(bytes);
    } catch (error) {
      return this.#refuseArrival(error as Fault);
    }
    this.#waitingBytes += bytes;
    this.#waiting.push(message);
    if (
      this.#waiting.length <= MOST_WAITING &&
      this.#waitingBytes <= this.#options.gateway.bodyLimit
    )
      return;
    this.#readPast();
    this.#close(POLICY_VIOLATION, "Too many messages wait for their turn.");
  }

  /** What there is of the message stays in the library until the connection closes, so the connection cannot go on. */
  #refuseArrival(fault: Fault): void {
    if (this.#isReadPast) return;
    this.#readPast();
    const refused: Message = { type: "refused", fault };
    if (this.#reply === undefined) this.#serve(refused);
    else this.#waiting.push(refused);
  }

  /** What still comes is read and dropped: a client that is sending reads nothing before it is through. */
  #readPast(): void {
    if (this.#isReadPast) return;
    this.#isReadPast = true;
    this.#wire.removeAllListeners("data");
    this.#wire.on("data", () => (this.#isHeard = true));
    this.#wire.resume();
  }

  #close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    // The closing frame of the other side is read past too, and the library would wait for it.
    if (this.#isReadPast) this.#wire.end();
  }

  #serve(message: Message): void {
    const { gateway, request } = this.#options;
    const reply = new SocketReply({
      send: (json) => this.#socket.send(json),
      isFull: () => this.#wire.writableNeedDrain,
      failed: () => this.#session.fail(),
      over: () => this.#over(),
    });
    this.#reply = reply;
    const exchange: Exchange = {
      ...request,
      method: "POST",
      body: message.type === "whole" ? message.text : "",
      session: this.#session,
      reply,
    };
    if (message.type === "refused") {
      const isBusy = message.fault.code === "gateway.busy";
      this.#ending = () =>
        this.#close(isBusy ? TRY_AGAIN_LATER : POLICY_VIOLATION, "A message was refused.");
      return gateway.refuse(exchange, message.fault);
    }
    message.held.release();
    if (message.isBinary) gateway.refuse(exchange, notText());
    else gateway.handle(exchange);
  }

  /** Not at once: whoever ended the reply may still be at work on its turn. */
  #over(): void {
    queueMicrotask(() => {
      this.#reply = undefined;
      if (this.#ending !== undefined) return this.#ending();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.type === "whole") this.#waitingBytes -= next.bytes;
      this.#serve(next);
    });
  }

  #closed(): void {
    for (const callOff of this.#timers) callOff();
    this.#arrival.release();
    for (const message of this.#waiting) if (message.type === "whole") message.held.release();
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
    "This connection has been open for 60 minutes, which is as long as one may be; open another.",
    { upstreamCode: "websocket_connection_limit_reached" },
  );

export type Sockets = {
  /** Whether a request becomes a WebSocket. All others are served as if they had not asked for it. */
  wants(request: IncomingMessage): boolean;
  open(request: IncomingMessage, wire: Duplex, head: Buffer): void;
  /** Closes each as soon as it has no turn under way. */
  stop(): void;
};

/** The WebSockets of a server. */
export function openSockets(gateway: Gateway, clock: Clock): Sockets {
  const connections = new Set<SocketConnection>();
  let server = serverFor(gateway.bodyLimit);
  return {
    wants(request) {
      const { headers } = request;
      if (!/(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? "")) return false;
      // One that names the whole address means a proxy.
      if (request.url?.startsWith("/") !== true) return false;
      if (headers.origin !== undefined && gateway.originPolicy(headers.origin) === "refused")
        return false;
      return tenantOf(gateway, request) !== undefined;
    },
    open(request, wire, head) {
      const tenant = tenantOf(gateway, request);
      if (tenant === undefined) {
        wire.destroy();
        return;
      }
      // The limit is asked for each time: a new configuration may have moved it.
      if (server.limit !== gateway.bodyLimit) server = serverFor(gateway.bodyLimit);
      server.upgrade(request, wire, head, (socket) => {
        const asked = withoutId(requestOf(gateway, request));
        const options = { gateway, tenant, request: asked, clock };
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

function serverFor(limit: number) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limit,
    // Each compressed connection would hold about 300 kB of windows.
    perMessageDeflate: false,
  });
  return { limit, upgrade: server.handleUpgrade.bind(server) };
}

function requestOf(gateway: Gateway, { url = "/", headers }: IncomingMessage) {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  return { path, query, headers, foreign: gateway.foreignIn(headers.host ?? "") };
}

const tenantOf = (gateway: Gateway, request: IncomingMessage): Tenant | undefined =>
  gateway.socketTenant({ ...requestOf(gateway, request), method: request.method ?? "" });

/** The id was that of the request that opened the connection; each of its turns has one of its own. */
const withoutId = <Request extends { readonly headers: IncomingMessage["headers"] }>(
  request: Request,
): Request => {
  const { "x-request-id": _, ...headers } = request.headers;
  return { ...request, headers };
};
