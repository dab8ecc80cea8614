import type { RequestContext } from "./routes.ts";

/** Answers a request with JSON. */
export function sendJson(
  context: RequestContext,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendText(context, status, JSON.stringify(body), headers);
}

/** The same with what is JSON already. */
export const sendJsonText = (context: RequestContext, text: string): void =>
  sendText(context, 200, text, {});

function sendText(
  { exchange: { reply }, requestId }: RequestContext,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>>,
): void {
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "x-request-id": requestId,
    ...headers,
  });
  reply.end(text);
}
