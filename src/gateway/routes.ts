import { recallItems } from "../dialects/responses/references.ts";
import { doors } from "../turn/doors.ts";
import { Fault } from "../turn/fault.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import { headerOf, requestIdOf, requireJson } from "./admission.ts";
import { dialects } from "./dialects.ts";
import type { Exchange } from "./exchange.ts";
import type { GatewayState } from "./state.ts";
import { listModels } from "./models.ts";
import { planRequest, reportPlan } from "./plan-report.ts";
import type { Round } from "./round.ts";
import { outputModes } from "./rules.ts";
import { linkName, providerOf, selectChain, type Link } from "./select.ts";
import { readUsageQuery, usageBody } from "./usage-report.ts";
import { runTurn, type Job } from "./turn-run.ts";
import { contentType as metricsType } from "../telemetry/registry.ts";
import { startSpan, type TurnAhead } from "../telemetry/spans.ts";
import { summary } from "../tools/plan/plan.ts";

/** A request on its way through a route. */
export type RequestContext = {
  readonly state: GatewayState;
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  /** What a trailing `*` of the route's path stood for. */
  readonly rest: string;
  readonly refuse: (fault: Fault, headers?: Readonly<Record<string, string>>) => void;
};

type Route = {
  readonly method: string;
  /** A trailing `*` takes the rest of the path. */
  readonly path: string;
  /** Whether it is served without a key. */
  readonly open?: true;
  /** Whether it is served while the gateway stops. */
  readonly always?: true;
  readonly serve: (context: RequestContext) => void | Promise<void>;
};

const routes: readonly Route[] = [
  { method: "POST", path: doors.chat, serve: (context) => serveTurn(context, "chat") },
  { method: "POST", path: doors.responses, serve: (context) => serveTurn(context, "responses") },
  { method: "GET", path: doors.responses, serve: refuseSocket },
  { method: "POST", path: "/v1/plan", serve: servePlan },
  { method: "GET", path: "/v1/plans/*", serve: servePastPlan },
  { method: "GET", path: "/v1/usage", serve: serveUsage },
  { method: "GET", path: "/v1/models", serve: serveModels },
  { method: "GET", path: "/v1/models/*", serve: serveModel },
  {
    method: "GET",
    path: "/healthz",
    open: true,
    always: true,
    serve: (context) => sendJson(context, 200, { status: "ok" }),
  },
  {
    method: "GET",
    path: "/livez",
    open: true,
    always: true,
    serve: (context) => sendJson(context, 200, { status: "ok" }),
  },
  { method: "GET", path: "/readyz", open: true, serve: serveReadiness },
  { method: "GET", path: "/metrics", open: true, always: true, serve: serveMetrics },
];

const exact = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));

/** The route for a path, and what its `*` stood for. HEAD is GET; the host leaves the body out. */
export function findRoute(method: string, path: string): { route: Route; rest: string } {
  const place = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const wanted = method === "HEAD" ? "GET" : method;
  const known = exact.get(`${wanted} ${place}`);
  if (known !== undefined) return { route: known, rest: "" };
  const there = routes.filter((route) => covers(route.path, place));
  const route = there.find((candidate) => candidate.method === wanted);
  if (route !== undefined) return { route, rest: place.slice(route.path.length - 1) };
  const offered = routes.filter(({ serve }) => serve !== refuseSocket);
  const methods = there.filter((one) => offered.includes(one)).map((one) => one.method);
  if (methods.length > 0)
    throw new Fault("request.method", `${path} takes ${methods.join(" and ")}, not ${method}.`, {
      allow: methods.join(", ").replace("GET", "GET, HEAD"),
    });
  const list = offered.map((one) => `${one.method} ${one.path}`).join(", ");
  throw new Fault(
    "request.route",
    `There is no ${path.slice(0, 200)} here; the routes are ${list}.${isMisled(place) ? " A client's base URL ends in /v1." : ""}`,
  );
}

/** Whether a path looks as if its client had the base URL wrong: without its `/v1`, twice with it, or below something. */
const isMisled = (path: string): boolean => !/^\/v1\/(?!v1(?:\/|$))/.test(path);

const covers = (pattern: string, path: string): boolean =>
  pattern.endsWith("*")
    ? path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length
    : pattern === path;

function serveTurn(context: RequestContext, door: keyof typeof dialects): void {
  const { state, exchange, requestId, tenant } = context;
  requireJson(exchange.headers);
  const dialect = dialects[door];
  const turn = dialect.readRequest(bodyOf(context));
  const rules = rulesFor(context);
  const chain = selectChain(turn.model, state.config, state.upstreams);
  const job: Job = {
    requestId,
    tenant,
    dialect,
    turn,
    chain,
    strict: isStrict(context),
    rules,
    sealOwner: sealOwnerFor(context),
    reply: exchange.reply,
    span: startSpan(ahead(chain[0], turn.stream), exchange.headers),
    headers: (round) => turnHeaders(requestId, rules, round),
    refuse: context.refuse,
  };
  runTurn(state, job);
}

const ahead = (link: Link, stream: boolean): TurnAhead => ({
  upstream: linkName(link),
  provider: providerOf(link),
  stream,
});

/** The body, with the items of past answers that it refers to. Nobody finds another tenant's. */
function bodyOf({ state, exchange, tenant }: RequestContext): Fields {
  return recallItems(state.readBody(exchange.body), (id) => state.items.recall(tenant, id)?.item);
}

const sealOwnerFor =
  ({ state, tenant }: RequestContext): Job["sealOwner"] =>
  (seal) =>
    state.seals.ownerOf(tenant, seal);

function isStrict({ state, exchange }: RequestContext): boolean {
  const param = "x-patchbay-strict";
  const said = headerOf(exchange.headers, param) ?? "";
  if (/^(?:true|1|yes|on)$/i.test(said)) return true;
  if (/^(?:false|0|no|off)?$/i.test(said)) return state.config.tools.strict;
  throw new Fault("request.invalid", `\`${param}\` must be \`true\` or \`false\`.`, { param });
}

/** The gateway's rules for calls; how they are shown may be chosen for one request. */
function rulesFor({ state, exchange }: RequestContext): CallRules {
  const param = "x-proxy-output-mode";
  const said = headerOf(exchange.headers, param) ?? "";
  if (said === "") return state.rules;
  const output = outputModes.get(said.trim().toLowerCase());
  if (output !== undefined) return { ...state.rules, output };
  const message = `\`${param}\` must be \`openai-json\` or \`obsidian-xml\`.`;
  throw new Fault("request.invalid", message, { param });
}

/** What would happen to the posted request, for the first place its model is to be had. */
function servePlan(context: RequestContext): void {
  requireJson(context.exchange.headers);
  const sealOwner = sealOwnerFor(context);
  const asked = { strict: isStrict(context), rules: rulesFor(context), sealOwner };
  sendJson(context, 200, planRequest(bodyOf(context), context.state, asked));
}

function servePastPlan(context: RequestContext): void {
  const id = decoded(context.rest);
  const past = context.state.plans.recall(context.tenant, id);
  // Somebody else's plan is as unknown as one that never was.
  if (past === undefined)
    throw new Fault(
      "plan.unknown",
      `No plan is kept for \`${id.slice(0, 100)}\`; plans of the last thousand answers are, until a restart.`,
    );
  sendJson(context, 200, { id, ...reportPlan(past) });
}

function turnHeaders(
  requestId: string,
  { stopMode, output }: CallRules,
  round: Round | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    "x-request-id": requestId,
    "x-codex-stop-after-tools-mode": stopMode,
  };
  if (output !== undefined) headers["x-proxy-output-mode"] = output;
  if (round === undefined) return headers;
  const { link, plan } = round;
  headers["x-patchbay-upstream"] = headerText(linkName(link));
  if (plan.verdicts.length > 0) headers["x-patchbay-plan"] = summary(plan);
  return headers;
}

/** A model's name may be the client's own words; a header takes only some characters, and not many. */
const headerText = (text: string): string =>
  text
    .slice(0, 256)
    .toWellFormed()
    .replaceAll(/[^\x20-\x7e]+/g, encodeURIComponent);

/** What the tenant's own turns used, added up; where no key is needed, everybody's. */
async function serveUsage(context: RequestContext): Promise<void> {
  const { usage, clock } = context.state;
  const query = readUsageQuery(context.exchange.query, clock.now());
  const rows = await usage.read(context.tenant, query.start, query.end);
  sendJson(context, 200, usageBody(rows, query));
}

/** Codex tries a WebSocket first; 426 is the one answer that makes it use HTTP at once. */
function refuseSocket(context: RequestContext): void {
  if (headerOf(context.exchange.headers, "upgrade") === undefined)
    throw new Fault(
      "request.method",
      `${doors.responses} takes POST, not ${context.exchange.method}.`,
      {
        allow: "POST",
      },
    );
  throw new Fault(
    "request.websocket",
    `Responses over WebSocket is not offered here; POST to ${doors.responses}.`,
  );
}

async function serveModels(context: RequestContext): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const models = await listModels(config, upstreams, clock);
  sendJson(context, 200, { object: "list", data: models.map(modelBody) });
}

async function serveModel(context: RequestContext): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const id = decoded(context.rest);
  const models = await listModels(config, upstreams, clock);
  const model = models.find((known) => known.id === id);
  if (model === undefined)
    throw new Fault(
      "model.unknown",
      `There is no model \`${id.slice(0, 200)}\` here; GET /v1/models lists them.`,
      {
        param: "model",
      },
    );
  sendJson(context, 200, modelBody(model));
}

function decoded(rest: string): string {
  try {
    return decodeURIComponent(rest);
  } catch (error) {
    throw new Fault("request.route", "The path is malformed; check its escapes.", {}, error);
  }
}

const modelBody = ({ id, owner }: { id: string; owner: string }): Record<string, unknown> => ({
  id,
  object: "model",
  created: 0,
  owned_by: owner,
});

/** Ready while any upstream is; what keeps the others is told by its code. */
async function serveReadiness(context: RequestContext): Promise<void> {
  const states = await Promise.all(
    [...context.state.upstreams].map(async ([name, upstream]) => {
      const trouble = await upstream.trouble?.();
      return [name, trouble?.code ?? "ready"] as const;
    }),
  );
  const ready = states.length === 0 || states.some(([, state]) => state === "ready");
  sendJson(context, ready ? 200 : 503, {
    status: ready ? "ok" : "unready",
    upstreams: Object.fromEntries(states),
  });
}

function serveMetrics(context: RequestContext): void {
  const { reply } = context.exchange;
  reply.head(200, { "content-type": metricsType, "x-request-id": context.requestId });
  reply.end(context.state.metrics.text());
}

function sendJson(context: RequestContext, status: number, body: unknown): void {
  const { reply } = context.exchange;
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "x-request-id": context.requestId,
  });
  reply.end(JSON.stringify(body));
}

export const requestIdFor = (state: GatewayState, exchange: Exchange): string =>
  requestIdOf(exchange.headers) ?? state.newId("req");
