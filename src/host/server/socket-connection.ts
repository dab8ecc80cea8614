import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Exchange } from "../../gateway/exchange.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { Session } from "../../gateway/session.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { SocketReply } from "./socket-reply.ts";

export type ConnectionOptions = {
  readonly gateway: Pick<Gateway, "handle" | "refuse" | "bodyLimit">;
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

type Message = { readonly text: string; readonly isBinary: boolean };

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
  readonly #session = new Session();
  #reply: SocketReply | undefined;
  /** Why it is to be closed once its turn is over. */
  #ending: (() => void) | undefined;
  #isHeard = true;
  readonly #timers: (() => void)[] = [];

  constructor(socket: WebSocket, wire: Duplex, options: ConnectionOptions) {
    this.#socket = socket;
    this.#wire = wire;
    this.#options = options;
    socket.on("message", (data, isBinary) => {
      this.#isHeard = true;
      // oxlint-disable-next-line typescript/no-base-to-string -- one Buffer, as `binaryType` is by default
      this.#take({ text: data.toString(), isBinary });
    });
    socket.on("pong", () => (this.#isHeard = true));
    socket.on("ping", () => (this.#isHeard = true));
    // What is wrong with a message or the connection closes it; `close` follows.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
    wire.on("drain", () => this.#reply?.drain());
    this.#watch();
    this.#expire();
  }

  /** Closes it when it has no turn under way. */
  stop(): void {
    this.#endWith(() => this.#socket.close(GOING_AWAY, "The gateway is shutting down."));
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
        this.#socket.close(GOING_AWAY, "An hour is over.");
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

  #take(message: Message): void {
    if (this.#reply === undefined) return this.#serve(message);
    this.#waitingBytes += message.text.length;
    this.#waiting.push(message);
    if (this.#waiting.length > MOST_WAITING || this.#waitingBytes > this.#options.gateway.bodyLimit)
      this.#socket.close(POLICY_VIOLATION, "Too many messages wait for their turn.");
  }

  #serve({ text, isBinary }: Message): void {
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
      body: text,
      session: this.#session,
      reply,
    };
    if (isBinary) gateway.refuse(exchange, notText());
    else gateway.handle(exchange);
  }

  /** Not at once: whoever ended the reply may still be at work on its turn. */
  #over(): void {
    queueMicrotask(() => {
      this.#reply = undefined;
      if (this.#ending !== undefined) return this.#ending();
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#waitingBytes -= next.text.length;
      this.#serve(next);
    });
  }

  #closed(): void {
    for (const callOff of this.#timers) callOff();
    this.#waiting = [];
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
