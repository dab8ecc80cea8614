/** Routes of a tenant's own latest turns: the rows that operators see of all turns. */

import { Fault } from "../../turn/fault.ts";
import { priceOf, type PriceOf, turnRow } from "../run/prices.ts";
import { decoded } from "./model-routes.ts";
import { findPlan } from "./plan-routes.ts";
import type { RequestContext } from "../state.ts";
import { sendJson, sendPieces } from "./send-json.ts";

/** Turns that are listed by default. */
const LAST = 100;

const priced =
  ({ state: { config } }: RequestContext): PriceOf =>
  (upstream, model) =>
    priceOf(config.prices, upstream, model);

export function serveTurns(context: RequestContext): void {
  const { state, tenant, exchange } = context;
  const params = new URLSearchParams(exchange.query);
  const since = numberIn(params, "since");
  const latest = numberIn(params, "last") ?? LAST;
  const wanted = since === undefined ? { latest } : { since };
  const { turns, last } = state.recent.of(tenant, wanted);
  sendJson(context, 200, {
    object: "batch",
    last,
    // The number of other tenants' turns stays hidden.
    lost: 0,
    unsent: 0,
    turns: turns.map((turn) => turnRow(turn, priced(context))),
    running: state.running.list().filter((turn) => turn.tenant === tenant),
    notices: [],
  });
}

function numberIn(params: URLSearchParams, name: string): number | undefined {
  const text = params.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Fault("request.invalid", `\`${name}\` must be a whole number.`, { param: name });
}

export async function serveOneTurn(context: RequestContext): Promise<void> {
  const { state, tenant, memory } = context;
  const id = decoded(context.rest);
  const found = state.recent.find(id, tenant)?.turn;
  const running = state.running.list().find((one) => one.requestId === id && one.tenant === tenant);
  if (found === undefined && running === undefined)
    throw new Fault(
      "plan.unknown",
      `No turn \`${id.slice(0, 100)}\` of yours is kept; the latest are, until a restart.`,
    );
  const plan = found === undefined ? undefined : await findPlan(state, tenant, id, memory.load);
  const turn = found === undefined ? undefined : turnRow(found, priced(context));
  const known = JSON.stringify({ turn, running });
  const more = known === "{}" ? "" : ",";
  const pieces = plan === undefined ? [known] : [`${known.slice(0, -1)}${more}"plan":`, plan, "}"];
  await sendPieces(context, pieces);
}
