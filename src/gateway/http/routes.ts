/** The routes of the gateway and their handlers. */

import type { AnswerForm, DoorDialect, ModelListForm } from "../../dialects/dialect.ts";
import type { DialectRegistry, DoorEntry } from "../../dialects/registry.ts";
import { responseKey } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import type { Fields } from "../../turn/turn.ts";
import { inputTokens } from "../../upstreams/tokens.ts";
import { reattach, streamQuery } from "../history/background/reattach.ts";
import { cancelled } from "../history/background/runs.ts";
import { serveCompaction } from "../history/compact.ts";
import { recallRequest } from "../history/recall-request.ts";
import type { RecalledRequest } from "../history/recall.ts";
import { planRound } from "../run/round.ts";
import { findModel, listModels, routeFor, type ListedModel } from "../run/select.ts";
import { serveTurn, startTurn } from "../run/walk.ts";
import type { RequestContext, Route, RouteTable } from "../state.ts";
import { headerOf } from "./admission.ts";
import { completionRoutes, conversationRoutes, serveCompletions } from "./list-routes.ts";
import { pagePieces, readPageQuery } from "./page.ts";
import { serveOneTurn, servePastPlan, servePlan, serveTurns } from "./plan-routes.ts";
import { withBody } from "./read-body.ts";
import { isClientOf } from "./route-table.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { serveMetrics, serveReadiness, serveStartPage } from "./status-routes.ts";
import { idOf, notFound, shownResponse, standingOf } from "./stored-response.ts";
import { shownId, wrongParam } from "./to-fault.ts";
import { serveUsage } from "./usage-report.ts";

const serveAlive: Route["serve"] = (context) => sendJson(context, 200, { status: "ok" });

const ownRoutes: readonly Route[] = [
  { method: "POST", path: "/v1/plan", serve: servePlan },
  { method: "GET", path: "/v1/plans/*", serve: servePastPlan },
  { method: "GET", path: "/v1/usage", serve: serveUsage },
  { method: "GET", path: "/v1/turns", serve: serveTurns },
  { method: "GET", path: "/v1/turns/*", serve: serveOneTurn },
  { method: "GET", path: "/healthz", open: true, always: true, serve: serveAlive },
  { method: "GET", path: "/livez", open: true, always: true, serve: serveAlive },
  { method: "GET", path: "/", open: true, serve: serveStartPage },
  { method: "GET", path: "/readyz", open: true, serve: serveReadiness },
  { method: "GET", path: "/metrics", open: true, always: true, serve: serveMetrics },
];

export function routeTable({ doors }: Pick<DialectRegistry, "doors">): RouteTable {
  const formFor = ({ exchange: { headers } }: RequestContext): ModelListForm | undefined =>
    doors.find(({ door }) => isClientOf(door, headers))?.door.models;
  const modelRoutes: readonly Route[] = [
    { method: "GET", path: "/v1/models", serve: (one) => serveModels(one, formFor(one)) },
    { method: "GET", path: "/v1/models/*", serve: (one) => serveModel(one, formFor(one)) },
  ];
  const routes = [...doors.flatMap(doorRoutes), ...modelRoutes, ...ownRoutes];
  return { routes, known: new Map() };
}

const doorRoutes = (entry: DoorEntry): Route[] => {
  const { door } = entry;
  const { tokenCount, history, models } = door;
  const routes: Route[] = [];
  const add = (method: string, path: string, serve: Route["serve"]): void =>
    void routes.push({ method, path, door, serve });
  // The paths of a door may match any action, so those of one come first.
  for (const path of tokenCount?.routes ?? [])
    add("POST", path, (context) =>
      withBody(context, (body) => {
        const asked = { dialect: door, body, params: context.params, readOnly: true } as const;
        return recallRequest(context, asked, (request) => serveTokenCount(context, request, door));
      }),
    );
  for (const path of models?.routes ?? []) {
    add("GET", path, (context) => serveModels(context, models));
    add("GET", `${path}/*`, (context) => serveModel(context, models));
  }
  for (const path of door.routes) {
    add("POST", path, (context) => serveTurn(context, door));
    routes.push(listRoute(entry, path));
  }
  if (history?.type === "completions") return [...routes, ...completionRoutes(door, history)];
  if (history?.type !== "answers") return routes;
  add("POST", history.compaction.route, (context) =>
    serveCompaction(
      context,
      { door, form: history.compaction },
      { startTurn: (own, request, over) => startTurn(own, door, request, over) },
    ),
  );
  const path = `${history.route}/{id}`;
  // The longer paths first.
  add("POST", `${path}/cancel`, (context) => cancelResponse(context, history));
  add("GET", `${path}/input_items`, (context) => serveInputItems(context, history));
  add("GET", path, (context) => serveResponse(context, history));
  add("DELETE", path, (context) => deleteResponse(context, history));
  return [...routes, ...conversationRoutes(door, history)];
};

/** Lists stored completions if the dialect has such a list, and refuses WebSockets. */
const listRoute = ({ door, title }: DoorEntry, path: string): Route => {
  const form = door.history?.type === "completions" ? door.history : undefined;
  return {
    method: "GET",
    path,
    door,
    ...(form === undefined && { refuses: true }),
    serve(context) {
      const { headers, method } = context.exchange;
      // Codex tries a WebSocket first; 426 is the one answer that makes it use HTTP at once.
      if (headerOf(headers, "upgrade") !== undefined)
        throw new Fault(
          "request.websocket",
          `${title} over WebSocket is not offered here; POST to ${path}.`,
        );
      if (form !== undefined) return serveCompletions(context, form);
      throw new Fault("request.method", `${path} takes POST, not ${method}.`, { allow: "POST" });
    },
  };
};

async function serveResponse(context: RequestContext, form: AnswerForm): Promise<void> {
  const asked = streamQuery(context.exchange.query);
  if (asked !== undefined) return reattach(context, form, asked.after);
  await sendPieces(context, [await shownResponse(context, form)]);
}

async function deleteResponse(context: RequestContext, form: AnswerForm): Promise<void> {
  const { state, tenant } = context;
  const id = idOf(context);
  await standingOf(context, form);
  // Another process that makes the answer loses the lease, and then ends it.
  state.background.find(tenant, id)?.cancel(cancelled());
  if (!(await state.store.drop(responseKey(tenant, id)))) throw notFound(id);
  sendJson(context, 200, { id, object: "response", deleted: true });
}

const LOOK_MS = 200;
/** Milliseconds that another process has to cancel an answer. */
const CANCEL_MS = 10_000;

/** Ends an answer that is made in the background, by whichever process; a finished one does not change. */
async function cancelResponse(context: RequestContext, form: AnswerForm): Promise<void> {
  const { state, tenant } = context;
  const { clock, background } = state;
  const id = idOf(context);
  const { isBackground, isOver } = await standingOf(context, form);
  if (!isBackground)
    throw new Fault(
      "response.not_background",
      `Response '${shownId(id)}' was not made in the background; only such can be cancelled.`,
    );
  const run = isOver ? undefined : background.find(tenant, id);
  if (run !== undefined) {
    run.cancel(cancelled());
    await run.ended;
  } else if (!isOver) {
    await background.askToCancel(tenant, id);
    const end = clock.now() + CANCEL_MS;
    while (clock.now() < end && !(await standingOf(context, form)).isOver)
      await new Promise<void>((resolve) => void clock.at(clock.now() + LOOK_MS, resolve));
  }
  await sendPieces(context, [await shownResponse(context, form)]);
}

/** Lists what the model read before it answered, with the answers that were continued. */
async function serveInputItems(context: RequestContext, form: AnswerForm): Promise<void> {
  const { state, tenant, exchange, memory } = context;
  const query = readPageQuery(exchange.query);
  const id = idOf(context);
  await standingOf(context, form);
  const page = await state.store.page(responseKey(tenant, id), query, memory.load);
  if (page.type === "missing") throw notFound(id);
  await sendPieces(context, pagePieces(page, query, form.shownItem));
}

/** `form`: of a dialect that has its own. */
async function serveModels(context: RequestContext, form?: ModelListForm): Promise<void> {
  const { config, upstreams, clock } = context.state;
  const models = await listModels(config, upstreams, clock);
  const { query } = context.exchange;
  const names = models.map(({ id }) => id);
  sendJson(context, 200, form?.page(names, query) ?? modelPage(models, query));
}

async function serveModel(context: RequestContext, form?: ModelListForm): Promise<void> {
  const { "*": id = "" } = context.params;
  const model = await findModel(id, context.state);
  if (model === undefined)
    throw new Fault(
      "model.unknown",
      `There is no model \`${id.slice(0, 200)}\` here; GET /v1/models lists them.`,
      { param: "model" },
    );
  sendJson(context, 200, form?.model(id) ?? modelBody(model));
}

/** A model in the words of both families of clients. */
const modelBody = ({ id, owner }: ListedModel): Fields => ({
  id,
  object: "model",
  created: 0,
  owned_by: owner,
  type: "model",
  display_name: id,
  created_at: "1970-01-01T00:00:00Z",
});

/** A page of the list; all of it if the request sets no limit. */
function modelPage(models: readonly ListedModel[], query: string): Fields {
  const asked = new URLSearchParams(query);
  const limit = Number(asked.get("limit") ?? Infinity);
  if (!(limit >= 1)) throw wrongParam("limit", "must be a number of at least 1");
  const [after, before] = [asked.get("after_id"), asked.get("before_id")];
  const start = after === null ? 0 : models.findIndex(({ id }) => id === after) + 1;
  const end = before === null ? models.length : models.findIndex(({ id }) => id === before);
  const part = models.slice(start, Math.max(start, end));
  // A page before an id has the models that are nearest to it.
  const page = before === null ? part.slice(0, limit) : part.slice(-limit);
  return {
    object: "list",
    data: page.map(modelBody),
    has_more: page.length < part.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

/** A count, and whether the upstream made it. */
type Count = { readonly tokens: number; readonly by: "upstream" | "estimate" };

/** Answers with the tokens of a request: counted by the upstream if it can, else estimated. */
async function serveTokenCount(
  context: RequestContext,
  request: RecalledRequest,
  { tokenCount, requestIdHeader = "x-request-id" }: DoorDialect,
): Promise<void> {
  const { requestId } = context;
  const { tokens, by } = await count(context, request);
  const headers = { "x-patchbay-token-count": by, [requestIdHeader]: requestId };
  sendJson(context, 200, tokenCount?.body(tokens) ?? {}, headers);
}

async function count(
  { state, tenant, exchange: { reply } }: RequestContext,
  { turn, sealOwner }: RecalledRequest,
): Promise<Count> {
  // An unknown model is refused here as it is for the request itself.
  const [link] = routeFor(state, turn.model).chain;
  try {
    const { prepared } = planRound(turn, link, { rules: state.rules, sealOwner });
    const counting = prepared.count?.({ tenant, onLeave: (end) => reply.onLeave(end) });
    if (counting !== undefined) return { tokens: await counting, by: "upstream" };
  } catch (error) {
    // An estimate serves better than an error.
    if (!(error instanceof Fault)) throw error;
  }
  return { tokens: inputTokens(turn), by: "estimate" };
}
