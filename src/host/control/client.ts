/** Asks a gateway by its private socket. */

import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { z } from "zod";
import { fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { jsonOf } from "../../json/json.ts";
import type { Environment } from "../config/env.ts";
import { findGateways, isAlive, type LocalGateway } from "./files.ts";
import { request } from "../platform/node-http.ts";
import { refusal } from "../platform/print.ts";

type SocketRequest = {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
};

/** The answer to one request, checked. Throws a Fault with the gateway's message if it is refused. */
export async function askGateway<Schema extends z.ZodType>(
  socket: string,
  schema: Schema,
  { method = "GET", path, body, signal }: SocketRequest,
): Promise<z.output<Schema>> {
  const headers = { "content-type": "application/json" };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, signal });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body === undefined ? "" : JSON.stringify(body));
  });
  const value = jsonOf(await text(answer));
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode >= 300) {
    const said = filledText(fieldsOf(fieldsOf(value)?.error)?.message);
    throw refusal(said ?? `The gateway answered ${path} with status ${statusCode}.`);
  }
  const found = schema.safeParse(value);
  if (found.success) return found.data;
  throw refusal(
    `The answer of the gateway to ${path} has an unknown form; use the version of patchbay that runs the gateway.`,
  );
}

/** The current sockets of a gateway's processes; undefined if the gateway has ended. */
export async function currentSockets(
  { pid, url }: LocalGateway,
  env: Environment,
): Promise<readonly string[] | undefined> {
  const found = (await findGateways(env)).find((one) => one.pid === pid && one.url === url);
  return found?.sockets ?? (isAlive(pid) ? [] : undefined);
}
