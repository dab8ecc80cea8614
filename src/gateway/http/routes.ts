/** The routes of the gateway and their handlers. */

import type { AnswerForm, ModelListForm } from "../../dialects/dialect.ts";
import type { DialectRegistry, DoorEntry } from "../../dialects/registry.ts";
import { responseKey } from "../../history/log.ts";
import { Fault } from "../../turn/fault.ts";
import { reattach, streamQuery } from "../history/background/reattach.ts";
import { cancelled } from "../history/background/runs.ts";
import { serveCompaction } from "../history/compact.ts";
import { recallRequest } from "../history/recall-request.ts";
import { serveTurn, startTurn } from "../run/walk.ts";
import type { RequestContext, Route, RouteTable } from "../state.ts";
import { headerOf } from "./admission.ts";
import { completionRoutes, conversationRoutes, serveCompletions } from "./list-routes.ts";
import { serveModel, serveModels } from "./model-routes.ts";
import { pagePieces, readPageQuery } from "./page.ts";
import { serveOneTurn, servePastPlan, servePlan, serveTurns } from "./plan-routes.ts";
import { withBody } from "./read-body.ts";
import { isClientOf } from "./route-table.ts";
import { sendJson, sendPieces } from "./send-json.ts";
import { serveMetrics, serveReadiness, serveStartPage } from "./status-routes.ts";
import { idOf, notFound, shownResponse, standingOf } from "./stored-response.ts";
import { shownId } from "./to-fault.ts";
import { serveTokenCount } from "./token-count.ts";
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
