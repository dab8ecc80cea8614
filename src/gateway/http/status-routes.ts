/** The routes that tell how the gateway fares. */

import { Fault } from "../../turn/fault.ts";
import { contentType as metricsType } from "../../observe/registry.ts";
import { upstreamStates } from "./gateway-status.ts";
import type { RequestContext } from "./routes.ts";
import { sendJson } from "./send-json.ts";

/** Ready while any upstream is; what keeps the others is told by its code. */
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
  // Its own numbers alone would be counters that go down.
  if (text === undefined)
    throw new Fault(
      "gateway.busy",
      "The metrics of all workers are not there in time; ask again.",
      { retryAfter: "1" },
    );
  exchange.reply.head(200, { "content-type": metricsType, "x-request-id": requestId });
  exchange.reply.end(text);
}
