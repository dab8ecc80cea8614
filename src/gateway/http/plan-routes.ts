/** Routes that show a tenant its latest turns and their plans, and that plan a turn without running it. */

import { planKey, planText, type Weigh } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Turn } from "../../turn/turn.ts";
import type { DisclosureSettings } from "../fold/settings.ts";
import { mayFold } from "../fold/fold.ts";
import { DisclosureStage } from "../fold/stage.ts";
import { toolSizeOf, type ToolSize } from "../fold/tool-size.ts";
import { recallRequest } from "../history/recall-request.ts";
import { planRecord, reportPlan, type PlanReport } from "../run/plan-record.ts";
import { priceOf, type PriceOf, turnRow } from "../run/prices.ts";
import { planRound, requireWhole, type Asking } from "../run/round.ts";
import { routeFor, selectChain } from "../run/select.ts";
import type { GatewayState, RequestContext } from "../state.ts";
import { withBody } from "./read-body.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { wrongParam } from "./to-fault.ts";
import { turnOptions } from "./turn-headers.ts";

/** The plan of a past turn of a tenant's, as JSON: by the id of its answer or, while it is recent, of its request. */
export async function findPlan(
  { store, recent }: Pick<GatewayState, "store" | "recent">,
  tenant: Tenant,
  id: string,
  weigh: Weigh,
): Promise<string | undefined> {
  const stored = await store.entry(planKey(tenant, id), weigh);
  if (stored !== undefined) return planText(stored);
  const found = recent.find(id, tenant);
  if (found?.plan !== undefined) {
    weigh(found.plan.bytes);
    return found.plan.json();
  }
  const answerId = found?.turn.type === "turn" ? found.turn.answerId : undefined;
  if (answerId === undefined) return undefined;
  const plan = await store.entry(planKey(tenant, answerId), weigh);
  return plan && planText(plan);
}

/** A plan, with the share of the request that its tools take. */
export type PlanPreview = PlanReport & { readonly tool_size: ToolSize | null };

/** Plans a turn; no upstream is called. */
export function planTurn(
  turn: Turn,
  { config, upstreams }: Pick<GatewayState, "config" | "upstreams">,
  asked: Asking & { readonly strict: boolean; readonly disclosure: DisclosureSettings },
): PlanPreview {
  const [link] = selectChain(turn.model, config, upstreams);
  const { profile } = link;
  const { disclosure } = asked;
  const stage = mayFold(turn, [profile], disclosure)
    ? new DisclosureStage(turn, disclosure)
    : undefined;
  const round = planRound(turn, link, asked, stage);
  if (asked.strict) requireWhole(round);
  const report = reportPlan(planRecord(round, asked));
  return { ...report, tool_size: toolSizeOf(turn, profile, asked.disclosure) ?? null };
}

/** Answers with the plan of the posted request for the first upstream of its model. */
export function servePlan(context: RequestContext): void | Promise<void> {
  const { state } = context;
  return withBody(context, (body) => {
    const asked = { dialect: state.dialects.doorFor(body), body, readOnly: true } as const;
    return recallRequest(context, asked, ({ turn, referring, sealOwner }) => {
      const options = turnOptions(context, routeFor(state, turn.model));
      const wanted = { ...options, referring, sealOwner };
      sendJson(context, 200, planTurn(turn, state, wanted));
    });
  });
}

export async function servePastPlan(context: RequestContext): Promise<void> {
  const { "*": id = "" } = context.params;
  const plan = await findPlan(context.state, context.tenant, id, context.memory.load);
  // The plan of another tenant is as unknown as one that does not exist.
  if (plan === undefined)
    throw new Fault(
      "plan.unknown",
      `No plan is kept for \`${id.slice(0, 100)}\`; the gateway keeps the plans of its latest answers.`,
    );
  await sendPieces(context, [`{"id":${JSON.stringify(id)},`, plan.slice(1)]);
}

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
  const { turns, last } = state.recent.since(wanted, tenant);
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
  throw wrongParam(name, "must be a whole number");
}

export async function serveOneTurn(context: RequestContext): Promise<void> {
  const { state, tenant, memory } = context;
  const { "*": id = "" } = context.params;
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
