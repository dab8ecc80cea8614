/** The routes of the gateway and their handlers. */

import type { DialectRegistry, DoorEntry } from "../../dialects/registry.ts";
import type { RequestContext, Route, RouteTable } from "../state.ts";
import { serveCompaction, type TurnSteps } from "../history/compact.ts";
import { recallRequest } from "../history/recall-request.ts";
import { serveTurn, startTurn } from "../run/walk.ts";
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

/** Routes of stored answers, below the path of their requests; longer paths first. */
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
