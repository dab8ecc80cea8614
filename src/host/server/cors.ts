import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault } from "../../turn/fault.ts";

/** Has a browser show the answer to the page that asked for it. */
export function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", "*");
  response.setHeader("vary", "origin");
}

/** Whether a browser only asks what its page may send. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** It may send whatever it wants to: what the gateway makes of that is the same for all. */
export function allow({ headers }: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, {
    "access-control-allow-methods": "GET, HEAD, POST",
    "access-control-allow-headers": headers["access-control-request-headers"] ?? "*",
    "access-control-allow-private-network": "true",
    "access-control-max-age": "600",
  });
  response.end();
}

export const foreign = (origin: string): Fault =>
  new Fault(
    "auth.origin",
    `Pages of ${origin.slice(0, 100)} may not use this gateway; name that in \`server.origins\`, or set \`server.keys\`.`,
  );
