/** The routes of the gateway, and who answers each. */

import type { DoorDialect, PathParams, SocketRequest } from "../../dialects/dialect.ts";
import type { DialectRegistry, DoorEntry } from "../../dialects/registry.ts";
import { nearest } from "../../diagnostics/nearest.ts";
import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { Profile } from "../../turn/profile.ts";
import { requestIdOf } from "./admission.ts";
import { pausedStage } from "../run/paused.ts";
import { disclosureStage, type DisclosureStage } from "../fold/stage.ts";
import type { Exchange } from "./exchange.ts";
import type { Session } from "./session.ts";
import type { GatewayState } from "../state.ts";
import { decoded, serveModel, serveModels } from "./model-routes.ts";
import { matchPath } from "./match-path.ts";
import { serveCompaction, type TurnOverrides, type TurnSteps } from "../history/compact.ts";
import { completionFor } from "../history/completion.ts";
import { completionRoutes } from "./completion-routes.ts";
import { listRoute } from "./list-route.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { findPlan, planTurn } from "./plan-report.ts";
import { startInBackground } from "../history/background/start.ts";
import { isInBackground, type Recalled } from "../history/recall.ts";
import { withBody } from "./read-body.ts";
import { recallRequest } from "../history/recall-request.ts";
import { providerOf, selectChain, type Link } from "../run/select.ts";
import { readUsageQuery, usageBody } from "./usage-report.ts";
import { serveOneTurn, serveTurns } from "./turn-routes.ts";
import { Run } from "../run/run.ts";
import { Rounds } from "../run/rounds.ts";
import {
  cancelResponse,
  deleteResponse,
  serveInputItems,
  serveResponse,
} from "./response-routes.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { serveStartPage } from "./start-page.ts";
import { serveMetrics, serveReadiness } from "./status-routes.ts";
import { serveTokenCount } from "./token-count.ts";
import { withOwnId } from "../history/thread.ts";
import { disclosureSettings, isStrict, rulesFor } from "./turn-headers.ts";
import { turnSource } from "../run/turn-source.ts";
import type { HeldMemory } from "./turn-memory.ts";
import { stageOf } from "../run/turn-stage.ts";
import { startSpan } from "../../observe/spans.ts";
import { inputTokens } from "../../upstreams/tokens.ts";

/** A request on its way through a route. */
export type RequestContext = {
  readonly state: GatewayState;
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  /** What it holds until it is served. */
  readonly memory: HeldMemory;
  /** What a trailing `*` of the route's path stood for. */
  readonly rest: string;
  readonly route: Route;
  /** What the names in its path stood for. */
  readonly params: PathParams;
  readonly refuse: (fault: Fault, headers?: Readonly<Record<string, string>>) => void;
};

export type Route = {
  readonly method: string;
  /** `{name}` stands for a part of the path; a trailing `*` takes the rest of it. */
  readonly path: string;
  /** Whose clients it serves, and in whose form it refuses; none: that of the OpenAI API. */
  readonly door?: DoorDialect | undefined;
  /** Whether it only tells a client what to do instead, and is no route to offer. */
  readonly refuses?: true;
  /** Whether it is served without a key. */
  readonly open?: true;
  /** Whether it is served while the gateway stops. */
  readonly always?: true;
  readonly serve: (context: RequestContext) => void | Promise<void>;
};

const ownRoutes: readonly Route[] = [
  { method: "POST", path: "/v1/plan", serve: servePlan },
  { method: "GET", path: "/v1/plans/*", serve: servePastPlan },
  { method: "GET", path: "/v1/usage", serve: serveUsage },
  { method: "GET", path: "/v1/turns", serve: serveTurns },
  { method: "GET", path: "/v1/turns/*", serve: serveOneTurn },
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
  { method: "GET", path: "/", open: true, serve: serveStartPage },
  { method: "GET", path: "/readyz", open: true, serve: serveReadiness },
  { method: "GET", path: "/metrics", open: true, always: true, serve: serveMetrics },
];

/** All routes of a gateway. */
export type RouteTable = {
  readonly routes: readonly Route[];
  /** Those without a pattern, by `METHOD path`. */
  readonly exact: ReadonlyMap<string, Route>;
};

export function routeTable({ doors }: Pick<DialectRegistry, "doors">): RouteTable {
  const routes = [...doors.flatMap(doorRoutes), ...ownRoutes];
  return {
    routes,
    exact: new Map(routes.map((route) => [`${route.method} ${route.path}`, route])),
  };
}

const doorRoutes = (entry: DoorEntry): Route[] => [
  ...turnRoutes(entry),
  ...countRoutes(entry),
  ...compactionRoutes(entry),
  ...storedRoutes(entry),
  ...conversationRoutes(entry.door),
  ...completionRoutes(entry.door),
];

/** What is kept of answers, below the path that takes requests for them; the longer paths first. */
const storedRoutes = ({ door }: DoorEntry): Route[] => {
  const { storage, background: form } = door;
  if (storage?.route === undefined) return [];
  const path = `${storage.route}/{id}`;
  const forms = { storage, form };
  const cancelling: Route[] =
    form === undefined
      ? []
      : [
          {
            method: "POST",
            path: `${path}/cancel`,
            door,
            serve: (context) => cancelResponse(context, { storage, form }),
          },
        ];
  return [
    ...cancelling,
    {
      method: "GET",
      path: `${path}/input_items`,
      door,
      serve: (context) => serveInputItems(context, storage),
    },
    { method: "GET", path, door, serve: (context) => serveResponse(context, forms) },
    { method: "DELETE", path, door, serve: (context) => deleteResponse(context, forms) },
  ];
};

const countRoutes = ({ door }: DoorEntry): Route[] => {
  const { tokenCount } = door;
  if (tokenCount === undefined) return [];
  const serve = (context: RequestContext): void | Promise<void> =>
    withBody(context, (body) => {
      const { params } = context;
      return recallRequest(context, { dialect: door, body, params, readOnly: true }, (request) =>
        serveTokenCount(context, request, { door, form: tokenCount }),
      );
    });
  return [{ method: "POST", path: tokenCount.route, door, serve }];
};

const compactionRoutes = ({ door }: DoorEntry): Route[] => {
  const { compaction: form } = door;
  if (form === undefined) return [];
  const steps: TurnSteps = {
    startTurn: (context, request, over) => startTurn(context, door, request, over),
  };
  const serve = (context: RequestContext): void | Promise<void> =>
    serveCompaction(context, { door, form }, steps);
  return [{ method: "POST", path: form.route, door, serve }];
};

const turnRoutes = (entry: DoorEntry): Route[] =>
  entry.door.routes.flatMap((path): Route[] => [
    { method: "POST", path, door: entry.door, serve: (context) => serveTurn(context, entry.door) },
    listRoute(entry, path),
  ]);

type Found = { readonly route: Route; readonly rest: string; readonly params: PathParams };

/**
 * The route for a path, with what its `*` and the names in it stood for. HEAD is
 * GET; the host leaves the body out.
 */
export function findRoute(table: RouteTable, method: string, path: string): Found {
  const { routes, exact } = table;
  const wanted = method === "HEAD" ? "GET" : method;
  const known = exact.get(`${wanted} ${path}`);
  if (known !== undefined) return { route: known, rest: "", params: {} };
  const place = placeOf(table, path);
  const there = routes.filter((route) => matchPath(route.path, place) !== undefined);
  const route = there.find((candidate) => candidate.method === wanted);
  const { "*": rest = "", ...params } = matchPath(route?.path ?? "", place) ?? {};
  if (route !== undefined) return { route, rest, params };
  const offered = routes.filter(({ refuses }) => refuses !== true);
  const methods = there.filter((one) => offered.includes(one)).map((one) => one.method);
  if (methods.length > 0)
    throw new Fault("request.method", `${path} takes ${methods.join(" and ")}, not ${method}.`, {
      allow: methods.join(", ").replace("GET", "GET, HEAD"),
    });
  const asked = place.slice(0, 200);
  const near = nearest(asked, [...new Set(offered.map((one) => one.path))]);
  throw new Fault(
    "request.route",
    `There is no ${asked} here; ${near === undefined ? "a client's base URL is this address, with or without /v1" : `the nearest route is ${near}`}.`,
  );
}

/**
 * A path as the routes have it: base URLs come with `/v1`, without it, and, with
 * clients that add it themselves, twice with it.
 */
function placeOf(table: RouteTable, path: string): string {
  const place = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  if (isRouted(table, place)) return place;
  const versioned = `/v1${place.replace(/^(?:\/v1)+(?=\/)/, "")}`;
  return isRouted(table, versioned) ? versioned : place;
}

const isRouted = ({ routes }: RouteTable, place: string): boolean =>
  routes.some((route) => matchPath(route.path, place) !== undefined);

/** The door whose clients ask for a path, for refusals in its own form. */
export function doorAt(table: RouteTable, path: string): DoorDialect | undefined {
  const place = placeOf(table, path);
  return table.routes.find((route) => matchPath(route.path, place) !== undefined)?.door;
}

function serveTurn(asked: RequestContext, dialect: DoorDialect): void | Promise<void> {
  const { session } = asked.exchange;
  const context = session === undefined ? asked : { ...asked, state: stateOn(session, asked) };
  const { params } = context;
  return withBody(context, (said) => {
    const { body, generates } = session === undefined ? posted(said) : messageOn(dialect, said);
    return recallRequest(context, { dialect, body, params }, (request) =>
      startTurn(context, dialect, { ...request, generates }),
    );
  });
}

const posted = (body: Fields): SocketRequest => ({ body, generates: true });

/** What a message on a WebSocket asks for. */
const messageOn = ({ socket }: DoorDialect, said: Fields): SocketRequest =>
  socket?.readMessage(said) ?? posted(said);

/** On a WebSocket, the store is seen through what the connection remembers. */
function stateOn(session: Session, { state }: RequestContext): GatewayState {
  session.begin();
  return { ...state, store: session.over(state.store, state.config.server.body_limit) };
}

function startTurn(
  context: RequestContext,
  dialect: DoorDialect,
  request: Recalled & Partial<Pick<SocketRequest, "generates">>,
  over?: TurnOverrides,
): void | Promise<void> {
  const { state, exchange, tenant, memory } = context;
  const { turn, generates = true, thread } = request;
  const completion = completionFor(state, { dialect, turn });
  const rules = rulesFor(context);
  const chain = selectChain(turn.model, state.config, state.upstreams);
  const disclosure = disclosureOf(context, turn, chain);
  const strict = isStrict(context);
  const source = turnSource(exchange, { tenant, turn, sha256: state.runtime.sha256 });
  const needsOwnId = thread !== undefined || completion !== undefined || isInBackground(turn);
  const stage = stageOf(turn, [
    () => (needsOwnId ? withOwnId() : undefined),
    () => pausedStage(turn, profilesOf(chain)),
    () => disclosure,
    ...(state.stages ?? []),
  ]);
  // Last, since nothing that throws behind it would let it go: stages are also others' code.
  const size = exchange.body.length + (request.bytes ?? 0);
  const limits = state.limits.enter(tenant, size, () => inputTokens(turn));
  for (const { users } of chain) users.count++;
  const run = new Run({ ...context, memory: memory.handOver() }, request, {
    dialect,
    source,
    chain,
    rules,
    strict,
    generates,
  });
  run.limits = limits;
  run.span = startSpan(
    { upstream: chain[0].name, provider: providerOf(chain[0]), stream: turn.stream },
    exchange.headers,
  );
  run.completion = completion;
  run.disclosure = disclosure?.figures;
  run.stage = stage;
  if (over !== undefined) Object.assign(run, over);
  const form = isInBackground(turn) ? dialect.background : undefined;
  if (form !== undefined) return startInBackground(context, run, form);
  new Rounds(run).begin();
}

/** What folds the tools of a turn, where an upstream of its chain may need it. */
function disclosureOf(
  context: RequestContext,
  turn: Turn,
  chain: readonly Link[],
): DisclosureStage | undefined {
  const settings = disclosureSettings(context, turn);
  return disclosureStage(turn, profilesOf(chain), settings);
}

const profilesOf = (chain: readonly Link[]): readonly Profile[] =>
  chain.map(({ upstream, model }) => modelProfile(upstream.profile, model));

/** What would happen to the posted request, for the first place its model is to be had. */
function servePlan(context: RequestContext): void | Promise<void> {
  const { state } = context;
  return withBody(context, (body) => {
    const asked = { dialect: state.dialects.doorFor(body), body, readOnly: true } as const;
    return recallRequest(context, asked, ({ turn, referring, sealOwner }) => {
      const wanted = {
        referring,
        strict: isStrict(context),
        rules: rulesFor(context),
        sealOwner,
        disclosure: disclosureSettings(context, turn),
      };
      sendJson(context, 200, planTurn(turn, state, wanted));
    });
  });
}

async function servePastPlan(context: RequestContext): Promise<void> {
  const id = decoded(context.rest);
  const plan = await findPlan(context.state, context.tenant, id, context.memory.load);
  // Somebody else's plan is as unknown as one that never was.
  if (plan === undefined)
    throw new Fault(
      "plan.unknown",
      `No plan is kept for \`${id.slice(0, 100)}\`; those of the latest answers are, until a restart.`,
    );
  await sendPieces(context, [`{"id":${JSON.stringify(id)},`, plan.slice(1)]);
}

/** What the tenant's own turns used, added up; where no key is needed, everybody's. */
async function serveUsage(context: RequestContext): Promise<void> {
  const { store, clock } = context.state;
  const query = readUsageQuery(context.exchange.query, clock.date());
  const rows = await store.sumUsage(context.tenant, query.start, query.end);
  sendJson(context, 200, usageBody(rows, query));
}

export const requestIdFor = (state: GatewayState, exchange: Exchange): string =>
  requestIdOf(exchange.headers) ?? state.newId("req");
