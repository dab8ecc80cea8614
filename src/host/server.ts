import type { Socket } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { faultBody } from "../dialects/fault-body.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { Fault } from "../turn/fault.ts";
import { patchbay, sendFault } from "./fastify.ts";

export type Address = { readonly host: string; readonly port: number };

export type Server = {
  /** Where it really listens, such as `http://127.0.0.1:11435`. */
  readonly url: string;
  /** Stops accepting, lets running streams end for as long as the grace, and lets go. */
  close(graceMs: number): Promise<void>;
};

/** Puts a gateway on a port of its own. */
export async function openServer(gateway: Gateway, { host, port }: Address): Promise<Server> {
  const app = Fastify({
    logger: false,
    // The gateway itself answers while it stops, in the caller's dialect.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 1024 },
    clientErrorHandler: refuseGarbage,
    frameworkErrors: (_error, _request, reply) =>
      sendFault(reply, new Fault("request.route", "The path is malformed; check its escapes.")),
  });
  await app.register(patchbay, { gateway, paths: ["/", "/*"] });
  try {
    await app.listen({ host: host.replaceAll(/^\[|\]$/g, ""), port });
  } catch (error) {
    await app.close();
    throw bindFault(error, { host, port });
  }
  return {
    url: urlOf(app, host),
    async close(graceMs) {
      const closed = app.close();
      await gateway.close(graceMs);
      // What still runs has had its grace; idle connections would hold the process for nothing.
      app.server.closeAllConnections();
      await closed;
    },
  };
}

function urlOf(app: FastifyInstance, host: string): string {
  const address = app.server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const bare = host.replaceAll(/^\[|\]$/g, "");
  return `http://${bare.includes(":") ? `[${bare}]` : bare}:${port}`;
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
