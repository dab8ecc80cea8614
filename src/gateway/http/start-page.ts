/** The page that a person sees who opens the gateway's address: its state, and how to point an agent at it. */

import { upstreamStates } from "./gateway-status.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestContext } from "./routes.ts";

export async function serveStartPage(context: RequestContext): Promise<void> {
  const { exchange, requestId } = context;
  const lines = [...(await stateLines(context)), "", ...agentLines(addressOf(exchange))];
  const isBrowser = String(exchange.headers["accept"] ?? "").includes("text/html");
  exchange.reply.head(200, {
    "content-type": `text/${isBrowser ? "html" : "plain"}; charset=utf-8`,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-request-id": requestId,
  });
  const text = `${lines.join("\n")}\n`;
  exchange.reply.end(isBrowser ? pageOf(text) : text);
}

/** Where requests need a key, or a page from elsewhere may read the answer, no names are shown. */
async function stateLines({ state, exchange }: RequestContext): Promise<readonly string[]> {
  const states = await upstreamStates(state);
  const ready = states.some(({ fault }) => fault === undefined);
  const first = `Patchbay is running${ready ? "" : ", but no upstream is ready"}.`;
  if (state.keys.keys.length > 0)
    return [first, "Requests need a key: `Authorization: Bearer KEY`."];
  if (exchange.foreign !== undefined) return [first];
  const upstreams = states.map(({ name, fault }) => `  ${name}: ${fault ?? "ready"}`);
  const models = Object.entries(state.config.models).map(
    ([name, places]) => `  ${name}: ${places.join(", then ")}`,
  );
  return [first, "", "Upstreams:", ...upstreams, "", "Models:", ...models];
}

const agentLines = (address: string): readonly string[] => [
  "Point an agent here:",
  `  Claude Code:  ANTHROPIC_BASE_URL=${address} claude      or: patchbay launch claude`,
  `  Codex:        patchbay launch codex`,
  `  OpenAI SDKs:  OPENAI_BASE_URL=${address}/v1`,
];

/** The address that the client used, if it is one. */
function addressOf({ headers }: Pick<Exchange, "headers">): string {
  const host = String(headers["host"] ?? "");
  return `http://${/^[\w.[\]:-]{1,200}$/.test(host) ? host : "127.0.0.1:11435"}`;
}

const pageOf = (text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Patchbay</title><style>body{font:16px/1.5 ui-monospace,monospace;margin:2rem}</style><pre>${escaped(text)}</pre></html>\n`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
