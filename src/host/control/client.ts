/** Asks a gateway by its private socket. */

import { request, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { z } from "zod";
import { fieldsIn, fieldsOf, filledText } from "../../dialects/shared/loose.ts";
import { jsonOf } from "../../json/json.ts";
import { Fault } from "../../turn/fault.ts";

/** What is asked of a route of the console. */
export type Asking = {
  readonly method?: "GET" | "POST" | "DELETE" | undefined;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Ends a request that goes on. */
  readonly signal?: AbortSignal | undefined;
};

/** The answer to one request, checked. A refusal is thrown as a Fault with the gateway's words. */
export async function askGateway<Schema extends z.ZodType>(
  socket: string,
  schema: Schema,
  asking: Asking,
): Promise<z.output<Schema>> {
  const answer = schema.safeParse(jsonOf(await text(await openAnswer(socket, asking))));
  if (answer.success) return answer.data;
  throw new Fault(
    "request.invalid",
    `The gateway answers ${asking.path} in a form that this version does not know; run the version of patchbay that runs the gateway.`,
  );
}

/** The answer while it comes; what is no success is thrown. */
export async function openAnswer(socket: string, asking: Asking): Promise<IncomingMessage> {
  const { method = "GET", path, body, signal } = asking;
  const headers = { "content-type": "application/json", ...asking.headers };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, signal });
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(body === undefined ? "" : JSON.stringify(body));
  });
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const said = fieldsOf(fieldsIn(await text(answer))?.error)?.message;
  throw new Fault(
    "request.invalid",
    filledText(said) ?? `The gateway answers ${path} with ${statusCode}.`,
  );
}
