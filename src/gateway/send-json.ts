import type { RequestContext } from "./routes.ts";

/** Answers a request with JSON. */
export function sendJson(
  context: RequestContext,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const { reply } = context.exchange;
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "x-request-id": context.requestId,
    ...headers,
  });
  reply.end(JSON.stringify(body));
}
