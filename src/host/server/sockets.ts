import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Clock } from "../../turn/clock.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { SocketConnection } from "./socket-connection.ts";

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
