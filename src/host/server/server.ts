import { once } from "node:events";
import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { until } from "../../turn/clock.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { systemClock } from "../platform/clock.ts";
import { createServer } from "../platform/node-http.ts";
import { type Address, addressesOf, bindFault, portOf, urlOf } from "./address.ts";
import { announcedOf, collectBody, LONGEST_MS } from "./body-intake.ts";
import { connectionOf, exchangeOf, probeClient } from "./node.ts";
import { openSockets, type Sockets } from "./socket-connection.ts";

export type Server = {
  /** The address that it listens at, such as `http://127.0.0.1:11435`. */
  readonly url: string;
  /** Stops accepting, waits for running streams as long as the grace, and closes all connections. */
  close(graceMs?: number): Promise<void>;
};

export type Patience = {
  /** Milliseconds that a request may take to arrive. */
  readonly requestMs: number;
  /** Milliseconds between two checks of that limit. */
  readonly checkMs: number;
};

/** Serves a gateway on a port. The gateway does its own routing, so a framework would only add cost. */
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
    // A client that has ended its side may still wait for the answer.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on("clientError", refuseGarbage);
    server.on("checkContinue", (request, response) => serve(request, response, true));
    // Other expectations may be ignored.
    server.on("checkExpectation", (request, response) => serve(request, response));
    server.on("upgrade", (request, socket, head) => webSockets.open(request, socket, head));
    server.on("connect", (_request, socket) => refuseTunnel(socket));
    server.on("timeout", (socket) => void endIdle(socket));
    server.on("connection", (socket) => {
      // Read each time: a new configuration may change it.
      server.timeout = gateway.stallMs;
      socket.setTimeout(gateway.stallMs);
      state.sockets.add(socket);
      socket.once("close", () => state.sockets.delete(socket));
      socket.once("end", () => probeClient(socket, systemClock));
    });
    server.listen(at, address);
    await once(server, "listening");
    state.servers.push(server);
    return portOf(server);
  };
  try {
    const [first, ...others] = await addressesOf(host);
    const taken = await listen(first, port);
    // Only listening shows if a machine has the other loopback address.
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
  /** Requests whose bodies are arriving. */
  arriving: number;
  closing: boolean;
};

/** Clients pause between requests; a connection kept over that saves a handshake. */
const KEPT_MS = 72_000;

const listenerFor =
  (state: State) =>
  (request: IncomingMessage, response: ServerResponse, isExpecting = false): void => {
    const { gateway } = state;
    const { origin } = request.headers;
    const arrival = { foreign: gateway.foreignIn(takeHost(request)) };
    const connection = connectionOf(request.socket);
    connection.latest = response;
    // While it stops, the gateway still answers, in the dialect of the client.
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
    if (isExpecting) answerExpectation(request, response, gateway, admitted !== undefined);
    // The request was refused and answered; the rest of its body is ignored.
    if (admitted === undefined) return;
    if (request.method === "GET" || request.method === "HEAD") return gateway.serve(admitted, "");
    const { bodyLimit: limit, bodyBudget: budget } = gateway;
    state.arriving++;
    const share = { limit, budget, tenant: admitted.tenant, connection };
    collectBody(request, share, systemClock, (fault, body) => {
      state.arriving--;
      if (fault === null) return gateway.serve(admitted, body ?? "");
      // Ignoring the rest of a slow body would take as long as the client likes.
      if (fault.code === "request.timeout") response.shouldKeepAlive = false;
      gateway.refuse(exchange, fault);
    });
  };

/** Answers `expect: 100-continue`: a client whose request is refused need not send its body. */
function answerExpectation(
  request: IncomingMessage,
  response: ServerResponse,
  { bodyLimit }: Gateway,
  isAdmitted: boolean,
): void {
  if (isAdmitted && announcedOf(request) <= bodyLimit) response.writeContinue();
  else response.shouldKeepAlive = false;
}

/**
 * Ends a connection that was silent for a while: one that is kept after its last answer, and one
 * whose client does not read, because it would hold an upstream for nothing. An answer may take
 * long, and the first request of a connection has a time limit of its own.
 */
async function endIdle(socket: Socket): Promise<void> {
  const moved = bytesMoved(socket);
  // After this process stood still, its timers run before it reads and sends anything.
  await setImmediate();
  if (bytesMoved(socket) !== moved) return void socket.setTimeout(socket.timeout ?? 0);
  const { latest, open } = connectionOf(socket);
  if (socket.writable && socket.writableLength === 0 && latest?.writableFinished !== true) return;
  if (socket.writableLength > 0) for (const reply of open) reply.stalled();
  socket.destroy();
}

/** Bytes that the client has sent and those that it has taken. */
const bytesMoved = ({ bytesRead, bytesWritten, writableLength }: Socket): number =>
  bytesRead + bytesWritten - writableLength;

/** The host that a request names. Of a whole address, as clients send it to a proxy, only the path is kept in the request. */
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
    // To Node a connection is idle once its answer was handed over, though a slow client may not
    // have read it yet; so connections are closed below.
    server.closeIdleConnections = () => {};
    return once(server.close(), "close");
  });
  await gateway.close(graceMs);
  // A request that is still arriving is answered too, with a refusal.
  await until(systemClock, () => state.arriving === 0, last);
  // Replies hold their last data for one round of the event loop.
  await setImmediate();
  for (const socket of sockets) socket.destroySoon();
  const latest = Math.max(last, systemClock.now() + FLUSH_MS);
  const cancel = systemClock.at(latest, () => {
    for (const server of servers) server.closeAllConnections();
  });
  await Promise.all(closed);
  cancel();
}

/** Milliseconds that the last data may take to reach a client after the grace. */
const FLUSH_MS = 1000;

/** Bytes that are not HTTP never become a request, so they are answered on the bare socket. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable || connectionOf(socket).isInAnswer)
    return void socket.destroy();
  const [status, code, message] = garbage[error.code ?? ""] ?? malformed;
  refuseBare(socket, status, new Fault(code, message));
}

type Garbage = readonly [status: string, code: FaultCode, message: string];

const malformed: Garbage = [
  "400 Bad Request",
  "request.invalid",
  "This is not a well-formed HTTP request; check the bytes that the client sends.",
];

/** By the error codes of Node. */
const garbage: Readonly<Record<string, Garbage>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "request.invalid",
    "The headers are too large; send fewer or shorter ones.",
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    "408 Request Timeout",
    "request.timeout",
    "The request did not arrive in time; send it again.",
  ],
};

function refuseTunnel(socket: Duplex): void {
  socket.on("error", () => {}); // A client that has left needs no answer.
  refuseBare(
    socket,
    "405 Method Not Allowed\r\nallow: GET, HEAD, POST",
    new Fault(
      "request.method",
      "This server is not a proxy and does not accept CONNECT; send requests to its routes.",
    ),
  );
}

function refuseBare(socket: Duplex, status: string, fault: Fault): void {
  const body = JSON.stringify(faultBody(fault));
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Lets a browser show the answer to the page that sent the request. */
function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "*");
  response.setHeader("vary", "origin");
}

/** True if a browser only asks if its page may send a request. */
const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** Allows any request to a page: the gateway checks it like any other. */
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
    `Pages of ${origin.slice(0, 100)} may not use this gateway; add this origin to \`server.origins\`, or set \`server.keys\`.`,
  );
