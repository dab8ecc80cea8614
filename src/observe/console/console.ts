/** The routes for operators, on the private socket of a gateway. Their answers hold no content and no secrets. */

import { z } from "zod";
import type { PathParams } from "../../dialects/dialect.ts";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { matchPath } from "../../gateway/http/route-table.ts";
import { toFault } from "../../gateway/http/to-fault.ts";
import { turnRow } from "../../gateway/run/prices.ts";
import { jsonOf } from "../../json/json.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { version } from "../../upstreams/version.ts";
import type { Report } from "../happening.ts";
import type { BundleRecorder } from "../recording/recorder.ts";
import { feedBatch } from "./feed.ts";
import { Notices, recentProblems, storeAbsence } from "./notices.ts";
import type { ConsoleStatus } from "./wire.ts";

export type ConsoleRequest = {
  readonly exchange: Exchange;
  /** The values of the names in its path. */
  readonly params: PathParams;
};

/** A route of the console. `wire.ts` describes the answers. */
export type ConsoleRoute = {
  readonly method: "GET" | "POST" | "DELETE";
  /** `{name}` matches a part of the path. */
  readonly path: string;
  /** Its faults are answered as errors. */
  readonly serve: (request: ConsoleRequest) => void | Promise<void>;
};

export type Console = {
  readonly serve: (exchange: Exchange) => Promise<void>;
  readonly close: () => void;
};

export type ConsoleOptions = {
  /** The facts of the process that runs the gateway. */
  readonly details: Pick<ConsoleStatus, "pid" | "url" | "startedAt" | "files" | "keys">;
  readonly clock: Clock;
  readonly report: Report;
  readonly recorder: Pick<BundleRecorder, "order" | "state" | "settled">;
  /** The changed configuration file that cannot be used, if there is one. */
  readonly rejected?: (() => ConsoleStatus["rejected"]) | undefined;
  /** More routes, of the host. */
  readonly routes?: readonly ConsoleRoute[] | undefined;
};

export function openConsole(
  gateway: Gateway,
  { details, clock, report, recorder, rejected, routes: more = [] }: ConsoleOptions,
): Console {
  const notices = new Notices(() => clock.date());
  const status = async (): Promise<ConsoleStatus> => {
    const { upstreams, models, store, ...others } = await gateway.status();
    return {
      object: "status",
      version,
      ...details,
      upstreams: [...upstreams],
      models: Object.fromEntries(Object.entries(models).map(([name, to]) => [name, [...to]])),
      store: { ...store, ...storeAbsence(notices) },
      ...others,
      rejected: rejected?.(),
      recording: { ...recorder.state() },
      kept: gateway.recent.count,
      turns: gateway.recent.last,
      wrong: recentProblems(gateway.recent, notices, clock.date()),
    };
  };
  const routes: readonly ConsoleRoute[] = [
    {
      method: "GET",
      path: "/status",
      serve: async ({ exchange }) => sendConsoleJson(exchange, 200, await status()),
    },
    {
      method: "GET",
      path: "/feed",
      serve: ({ exchange }) =>
        sendConsoleJson(exchange, 200, feedBatch(gateway, notices, exchange.query)),
    },
    { method: "GET", path: "/turns/{id}", serve: (request) => serveTurn(gateway, request) },
    ...recordingRoutes(recorder),
    ...more,
  ];
  return {
    serve: (exchange) => serve(routes, exchange, report),
    close: gateway.subscribe(notices.add),
  };
}

export function sendConsoleJson({ reply }: Exchange, status: number, body: unknown): void {
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  reply.end(`${JSON.stringify(body)}\n`);
}

/** Answers a request by the first route that matches. */
async function serve(
  routes: readonly ConsoleRoute[],
  exchange: Exchange,
  report: Report,
): Promise<void> {
  try {
    const { method, path } = exchange;
    const wanted = method === "HEAD" ? "GET" : method;
    for (const route of routes) {
      const params = route.method === wanted ? matchPath(route.path, path) : undefined;
      if (params !== undefined) return await route.serve({ exchange, params });
    }
    const list = routes.map((route) => `${route.method} ${route.path}`).join(", ");
    throw new Fault(
      "request.route",
      `There is no route ${method} ${path}; the routes are ${list}.`,
    );
  } catch (error) {
    const fault = toFault(error, report, undefined);
    sendConsoleJson(exchange, fault.status, faultBody(fault));
  }
}

/** Answers with one turn, under way or ended, and its plan. */
async function serveTurn(gateway: Gateway, { exchange, params }: ConsoleRequest): Promise<void> {
  const { id = "" } = params;
  const found = gateway.recent.find(id)?.turn;
  const running = gateway.running().find(({ requestId }) => requestId === id);
  if (found === undefined && running === undefined)
    throw new Fault(
      "request.route",
      `The gateway does not keep the turn \`${id.slice(0, 100)}\`; it keeps the latest turns, up to \`console.keep\`.`,
    );
  const plan = found?.type === "turn" ? await gateway.findPlan(found.tenant, id) : undefined;
  const turn = found === undefined ? undefined : turnRow(found, gateway.priceOf);
  sendConsoleJson(exchange, 200, { turn, running, plan });
}

const orderSchema = z.object({
  mode: z.enum(["off", "failures", "all"]),
  /** Milliseconds until the configured mode applies again. */
  for_ms: z.number().positive().optional(),
});

/** Orders for the recorder. The configured mode applies again when an order ends or is canceled. */
function recordingRoutes(recorder: ConsoleOptions["recorder"]): ConsoleRoute[] {
  const path = "/recording";
  const sendState = ({ exchange }: ConsoleRequest): void =>
    sendConsoleJson(exchange, 200, { object: "recording", ...recorder.state() });
  return [
    {
      method: "POST",
      path,
      serve(request) {
        const order = orderSchema.safeParse(jsonOf(request.exchange.body));
        if (!order.success)
          throw new Fault(
            "request.invalid",
            "Send `mode` (`off`, `failures` or `all`), and optionally `for_ms`, the milliseconds until the order ends.",
          );
        recorder.order({ mode: order.data.mode, forMs: order.data.for_ms });
        sendState(request);
      },
    },
    {
      method: "DELETE",
      path,
      async serve(request) {
        recorder.order(undefined);
        // Ended turns are counted when they are on the disk.
        await recorder.settled();
        sendState(request);
      },
    },
  ];
}
