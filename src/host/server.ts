import type { Socket } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { faultBody } from "../dialects/fault-body.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { Fault } from "../turn/fault.ts";
import { systemClock } from "./clock.ts";
import { handOver, patchbay, refuse } from "./fastify.ts";

export type Address = { readonly host: string; readonly port: number };

export type Server = {
  /** Where it really listens, such as `http://127.0.0.1:11435`. */
  readonly url: string;
  /** Stops accepting, lets running streams end for as long as the grace, and lets go. */
  close(graceMs: number): Promise<void>;
};

export type Patience = {
  /** How long a request may take to arrive, in milliseconds. */
  readonly requestMs: number;
  /** How often that is looked at. */
  readonly checkMs: number;
};

/** Puts a gateway on a port of its own. */
export async function openServer(
  gateway: Gateway,
  { host, port }: Address,
  { requestMs, checkMs }: Patience = { requestMs: 300_000, checkMs: 30_000 },
): Promise<Server> {
  const app = Fastify({
    logger: false,
    requestTimeout: requestMs,
    http: { connectionsCheckingInterval: checkMs, headersTimeout: Math.min(requestMs, 60_000) },
    // The gateway itself answers while it stops, in the caller's dialect.
    return503OnClosing: false,
    forceCloseConnections: false,
    routerOptions: { maxParamLength: 1024 },
    clientErrorHandler: refuseGarbage,
    frameworkErrors: (_error, request, reply) => {
      const fault = new Fault("request.route", "The path is malformed; check its escapes.");
      refuse(gateway, fault, request, reply);
    },
  });
  const sockets = new Set<Socket>();
  app.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await app.register(patchbay, { gateway, paths: ["/", "/*"] });
  // Methods that Fastify has no routes for come here.
  app.setNotFoundHandler((request, reply) => handOver(gateway, request, reply));
  try {
    await app.listen({ host: bare(host), port });
  } catch (error) {
    await app.close();
    throw bindFault(error, { host, port });
  }
  return { url: urlOf(app, host), close: (graceMs) => close(app, sockets, gateway, graceMs) };
}

async function close(
  app: FastifyInstance,
  sockets: ReadonlySet<Socket>,
  gateway: Gateway,
  graceMs: number,
): Promise<void> {
  const last = systemClock.now() + graceMs;
  // To Node a connection is idle once its answer was handed over, though a slow
  // reader has yet to get it; so who is done is decided below.
  app.server.closeIdleConnections = () => {};
  const closed = app.close();
  await gateway.close(graceMs);
  for (const socket of sockets) socket.destroySoon();
  const latest = Math.max(last, systemClock.now() + flushMs);
  const callOff = systemClock.at(latest, () => app.server.closeAllConnections());
  await closed;
  callOff();
}

/** How long the last words may take to reach a client when the grace is over. */
const flushMs = 1000;

const bare = (host: string): string => host.replaceAll(/^\[|\]$/g, "");

function urlOf(app: FastifyInstance, host: string): string {
  const address = app.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const name = bare(host);
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

function bindFault(error: unknown, { host, port }: Address): Fault {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const remedies: Readonly<Record<string, string>> = {
    EADDRINUSE: "is taken by another process; stop that one or choose another with `--port`",
    EACCES: "may not be used by this user; choose a port above 1023 with `--port`",
    EADDRNOTAVAIL: "is no address of this machine; choose another with `--host`",
    ENOTFOUND: "is no name this machine knows; choose another with `--host`",
  };
  const remedy =
    remedies[code] ?? `cannot be listened on (${code}); check \`--host\` and \`--port\``;
  return new Fault("config.invalid", `${host}:${port} ${remedy}.`, {}, error);
}

/** What is not HTTP never becomes a request, so it is answered on the bare socket. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, fault] = garbageFault(error.code);
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
