/** Routes for health, metrics and the start page. */
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { contentType as metricsType } from "../../observe/registry.ts";
import type { Config } from "../config.ts";
import type { GatewayState } from "../state.ts";
import type { RequestContext } from "../state.ts";
import { sendJson } from "./send-json.ts";
import type { Exchange } from "./exchange.ts";

/** Ready while any upstream is ready; lists the fault of each of the others. */
export async function serveReadiness(context: RequestContext): Promise<void> {
  const states = await upstreamStates(context.state);
  const ready = states.length === 0 || states.some(({ fault }) => fault === undefined);
  sendJson(context, ready ? 200 : 503, {
    status: ready ? "ok" : "unready",
    upstreams: Object.fromEntries(states.map(({ name, fault = "ready" }) => [name, fault])),
  });
}

export async function serveMetrics({ state, exchange, requestId }: RequestContext): Promise<void> {
  const { sumMetrics, metrics } = state;
  const text = sumMetrics === undefined ? metrics.text() : await sumMetrics();
  // The counters of this process alone would be lower than the sums before.
  if (text === undefined)
    throw new Fault(
      "gateway.busy",
      "The workers did not report their metrics in time; ask again.",
      { retryAfter: "1" },
    );
  exchange.reply.head(200, { "content-type": metricsType, "x-request-id": requestId });
  exchange.reply.end(text);
}

/** Status of a gateway. It holds names, and neither keys nor addresses. */
export type GatewayStatus = {
  readonly upstreams: readonly UpstreamStatus[];
  /** Names that clients may ask for -> `upstream/model`, tried in order. */
  readonly models: Readonly<Record<string, readonly string[]>>;
  readonly store: {
    readonly kind: Config["store"]["kind"];
    /** Set while the store cannot be written. */
    readonly fault?: FaultCode | undefined;
    readonly problem?: string | undefined;
  };
  /** True if requests need a key. */
  readonly keyed: boolean;
  /** Turns under way. */
  readonly running: number;
};

type UpstreamStatus = {
  readonly name: string;
  readonly profile: string;
  /** Set while it cannot serve, as far as this is known without asking a model. */
  readonly fault?: FaultCode | undefined;
  readonly problem?: string | undefined;
};

type Described = Pick<GatewayState, "upstreams" | "config" | "store" | "running" | "keys">;

export async function gatewayStatus(state: Described): Promise<GatewayStatus> {
  const { config, store, running, keys } = state;
  const trouble = store.trouble();
  return {
    upstreams: await upstreamStates(state),
    models: config.models,
    store: { kind: config.store.kind, fault: trouble?.code, problem: trouble?.message },
    keyed: keys.keys.length > 0,
    running: running.size,
  };
}

const upstreamStates = ({
  upstreams,
}: Pick<GatewayState, "upstreams">): Promise<readonly UpstreamStatus[]> =>
  Promise.all(
    Array.from(upstreams, async ([name, upstream]) => {
      const trouble = await upstream.trouble?.();
      const profile = upstream.profile.name;
      return { name, profile, fault: trouble?.code, problem: trouble?.message };
    }),
  );

/** The page at the gateway's address: its state, and how to point an agent at it. */
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

/** Lists no names if requests need a key, or if a page from elsewhere may read the answer. */
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
  "  Codex:        patchbay launch codex",
  "  Gemini CLI:   patchbay launch gemini",
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
