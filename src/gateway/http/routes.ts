/** The routes of the gateway, and who answers each. */

import type { DoorDialect, SocketRequest } from "../../dialects/dialect.ts";
import type { DialectRegistry, DoorEntry } from "../../dialects/registry.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { Profile } from "../../turn/profile.ts";
import { startSpan } from "../../observe/spans.ts";
import { inputTokens } from "../../upstreams/tokens.ts";
import { pausedStage, stageOf } from "../run/turn-stage.ts";
import { disclosureStage, type DisclosureStage } from "../fold/stage.ts";
import type { GatewayState, RequestContext, Route, RouteTable } from "../state.ts";
import { serveCompaction, type TurnOverrides, type TurnSteps } from "../history/compact.ts";
import { completionFor } from "../history/completion.ts";
import { startInBackground } from "../history/background/start.ts";
import { isInBackground, type Recalled } from "../history/recall.ts";
import { recallRequest } from "../history/recall-request.ts";
import { type Link, providerOf, selectChain } from "../run/select.ts";
import { Run } from "../run/run.ts";
import { Rounds } from "../run/rounds.ts";
import { withOwnId } from "../history/thread.ts";
import { disclosureSettings, isStrict, rulesFor, turnSource } from "./turn-headers.ts";
import type { Session } from "./session.ts";
import { serveModel, serveModels } from "./model-routes.ts";
import { completionRoutes } from "./completion-routes.ts";
import { listRoute } from "./list-route.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { servePastPlan, servePlan } from "./plan-routes.ts";
import { withBody } from "./read-body.ts";
import { serveUsage } from "./usage-report.ts";
import { serveOneTurn, serveTurns } from "./turn-routes.ts";
import {
  cancelResponse,
  deleteResponse,
  serveInputItems,
  serveResponse,
} from "./response-routes.ts";
import { sendJson } from "./send-json.ts";
import { serveMetrics, serveReadiness, serveStartPage } from "./status-routes.ts";
import { serveTokenCount } from "./token-count.ts";

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
