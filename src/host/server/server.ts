import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { ConnectionBytes } from "../../gateway/http/budget.ts";
import { until } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { isInReserve } from "../../upstreams/http/descriptor-reserve.ts";
import { systemClock } from "../platform/clock.ts";
import { type Address, addressesOf, bindFault, portOf, urlOf } from "./address.ts";
import { announcedOf, collectBody, LONGEST_MS } from "./body-intake.ts";
import { askAfter, exchangeOf, isSpeaking, tellStalled } from "./node.ts";
import { openSockets, type Sockets } from "./socket-connection.ts";

export type Server = {
  /** Where it really listens, such as `http://127.0.0.1:11435`. */
  readonly url: string;
  /** Stops accepting, lets running streams end for as long as the gateway's grace, or another, and lets go. */
  close(graceMs?: number): Promise<void>;
};

export type Patience = {
  /** How long a request may take to arrive, in milliseconds. */
  readonly requestMs: number;
  /** How often that is looked at. */
  readonly checkMs: number;
};

/**
 * Puts a gateway on a port of its own. The gateway has routes, bodies and
 * errors of its own, so a framework in between would only add its price.
 */
export async function openServer(
  gateway: Gateway,
  { host, port }: Address,
  { requestMs, checkMs }: Patience = { requestMs: LONGEST_MS, checkMs: 30_000 },
): Promise<Server> {
  const webSockets = openSockets(gateway, systemClock);
  const state: State = {
    gateway,
    servers: [],
    sockets: new Set(),
    webSockets,
    arriving: 0,
    closing: false,
  };
  const options = {
    shouldUpgradeCallback: (request: IncomingMessage) => webSockets.wants(request),
    requestTimeout: requestMs,
    headersTimeout: Math.min(requestMs, 60_000),
    connectionsCheckingInterval: checkMs,
    keepAliveTimeout: KEPT_MS,
  };
  const serve = listenerFor(state);
  const listen = async (address: string, at: number): Promise<number> => {
    const server = createServer(options, (request, response) => serve(request, response));
    // Who has said all it will may still want to hear the answer.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on("clientError", refuseGarbage);
    server.on("checkContinue", (request, response) => serve(request, response, true));
    // Whatever else is expected may be passed over.
    server.on("checkExpectation", (request, response) => serve(request, response));
    server.on("upgrade", (request, socket, head) => webSockets.open(request, quiet(socket), head));
    // No tunnels are made here, and nobody else would say so.
    server.on("connect", (_request, socket) => refuseTunnel(socket));
    server.on("timeout", endIdle);
    server.on("connection", (socket) => {
      // Asked for each time: a new configuration may have moved it.
      server.timeout = gateway.stallMs;
      socket.setTimeout(gateway.stallMs);
      state.sockets.add(socket);
      socket.once("close", () => state.sockets.delete(socket));
      socket.once("end", () => askAfter(socket, systemClock));
    });
    server.listen(at, address);
    await once(server, "listening");
    state.servers.push(server);
    return portOf(server);
  };
  try {
    const [first, ...others] = await addressesOf(host);
    const taken = await listen(first, port);
    // Whether a machine really has the other loopback address shows only here.
    for (const other of others) await listen(other, taken).catch(() => {});
    return {
      url: urlOf({ host, port: taken }),
      close: (graceMs = gateway.graceMs) => close(state, graceMs),
    };
  } catch (error) {
    throw bindFault(error, { host, port });
  }
}

type State = {
  readonly gateway: Gateway;
  readonly servers: HttpServer[];
  readonly sockets: Set<Socket>;
  readonly webSockets: Sockets;
  /** Requests whose bodies are on their way. */
  arriving: number;
  closing: boolean;
};

/** Clients pause between requests; a connection kept over that saves a handshake. */
const KEPT_MS = 72_000;

const listenerFor =
  (state: State) =>
  (request: IncomingMessage, response: ServerResponse, isAsking = false): void => {
    const { gateway } = state;
    const { origin } = request.headers;
    const arrival = { foreign: gateway.foreignIn(takeHost(request)) };
    const connection = connectionOf(request.socket);
    connection.latest = response;
    // The gateway itself answers while it stops, in the caller's dialect.
    if (state.closing || connection.isInReserve) response.shouldKeepAlive = false;
    if (origin !== undefined) {
      const standing = gateway.originPolicy(origin);
      if (standing === "refused")
        return gateway.refuse(exchangeOf(request, response, ""), foreign(origin));
      if (standing === "welcome") allowOrigin(response, origin);
      if (standing === "welcome" && isPreflight(request)) return allow(request, response);
    }
    const exchange = exchangeOf(request, response, "", arrival);
    const admitted = gateway.admit(exchange);
    if (isAsking) answerAsking(request, response, gateway, admitted !== undefined);
    // Who was not let in has been told why, and what it still sends is read past.
    if (admitted === undefined) return;
    if (request.method === "GET" || request.method === "HEAD") return gateway.serve(admitted, "");
    // The limit is asked for each time: a new configuration may have moved it.
    const { bodyLimit: limit, bodyBudget: budget } = gateway;
    state.arriving++;
    const share = { limit, budget, tenant: admitted.tenant, connection };
    collectBody(request, share, systemClock, (fault, body) => {
      state.arriving--;
      if (fault === null) return gateway.serve(admitted, body ?? "");
      // What is too slow would be read past for as long as it takes.
      if (fault.code === "request.timeout") response.shouldKeepAlive = false;
      gateway.refuse(exchange, fault);
    });
  };

/** Who asks before sending a body is spared one that would be refused, and then has none to send. */
function answerAsking(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyLimit }: Gateway,
  isAdmitted: boolean,
): void {
  if (isAdmitted && announcedOf(request) <= bodyLimit) response.writeContinue();
  else response.shouldKeepAlive = false;
}

/** A connection that is no longer HTTP's has no time of HTTP's either. */
function quiet(socket: Duplex): Duplex {
  if (socket instanceof Socket) socket.setTimeout(0);
  return socket;
}

type Connection = ConnectionBytes & {
  /** The response that it was asked for last. */
  latest: ServerResponse | undefined;
  /** It has one of the last descriptors, and gives it back with its first answer. */
  readonly isInReserve: boolean;
};

const connections = new WeakMap<Socket, Connection>();

function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const made: Connection = { held: 0, latest: undefined, isInReserve: isInReserve(socket) };
  connections.set(socket, made);
  return made;
}

/**
 * A connection on which nothing has moved for a while. Its answer may be a long
 * time coming; but one that waits to be read holds an upstream for nobody.
 */
function endIdle(socket: Socket): void {
  const response = connections.get(socket)?.latest;
  const isAwaited = response !== undefined && !response.writableFinished;
  if (socket.writableLength === 0 && isAwaited) return;
  if (socket.writableLength > 0) tellStalled(socket);
  socket.destroy();
}

/** What a request is sent to. One that names the whole address, as to a proxy, keeps only the path of it. */
function takeHost(request: IncomingMessage): string {
  const { url = "/", headers } = request;
  if (url.startsWith("/")) return headers.host ?? "";
  const [, host = headers.host ?? "", path = url] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  request.url = path.startsWith("/") || path === url ? path : `/${path}`;
  return host;
}

async function close(state: State, graceMs: number): Promise<void> {
  const { gateway, servers, sockets } = state;
  const last = systemClock.now() + graceMs;
  state.closing = true;
  state.webSockets.stop();
  const closed = servers.map((server) => {
    // To Node a connection is idle once its answer was handed over, though a slow
    // reader has yet to get it; so who is done is decided below.
    server.closeIdleConnections = () => {};
    return once(server.close(), "close");
  });
  await gateway.close(graceMs);
  // Who is still sending a request is owed an answer too: that it goes elsewhere.
  await until(systemClock, () => state.arriving === 0, last);
  // Replies hold their last words for one round of the event loop.
  await setImmediate();
  for (const socket of sockets) socket.destroySoon();
  const latest = Math.max(last, systemClock.now() + flushMs);
  const callOff = systemClock.at(latest, () => {
    for (const server of servers) server.closeAllConnections();
  });
  await Promise.all(closed);
  callOff();
}

/** How long the last words may take to reach a client when the grace is over. */
const flushMs = 1000;

/** What is not HTTP never becomes a request, so it is answered on the bare socket. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable || isSpeaking(socket))
    return void socket.destroy();
  sayBarely(socket, ...garbageFault(error.code));
}

function refuseTunnel(socket: Duplex): void {
  socket.on("error", () => {}); // Who is gone already needs no answer.
  const message = "This is no proxy, and takes no CONNECT; ask it for its routes.";
  sayBarely(
    socket,
    "405 Method Not Allowed\r\nallow: GET, HEAD, POST",
    new Fault("request.method", message),
  );
}

function sayBarely(socket: Duplex, status: string, fault: Fault): void {
  const body = JSON.stringify(faultBody(fault));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function garbageFault(code: string | undefined): readonly [string, Fault] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        "431 Request Header Fields Too Large",
        new Fault("request.invalid", "The headers are too large; send fewer or shorter ones."),
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [
        "408 Request Timeout",
        new Fault("request.timeout", "The request did not arrive in time; send it again."),
      ];
    default:
      return [
        "400 Bad Request",
        new Fault("request.invalid", "This is not a well-formed HTTP request; check what is sent."),
      ];
  }
}

/** Has a browser show the answer to the page that asked for it. */
function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "*");
  response.setHeader("vary", "origin");
}

/** Whether a browser only asks what its page may send. */
const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** It may send whatever it wants to: what the gateway makes of that is the same for all. */
function allow({ headers }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, {
    "access-control-allow-methods": "GET, HEAD, POST",
    "access-control-allow-headers": headers["access-control-request-headers"] ?? "*",
    "access-control-allow-private-network": "true",
    "access-control-max-age": "600",
  });
  response.end();
}

const foreign = (origin: string): Fault =>
  new Fault(
    "auth.origin",
    `Pages of ${origin.slice(0, 100)} may not use this gateway; name that in \`server.origins\`, or set \`server.keys\`.`,
  );
