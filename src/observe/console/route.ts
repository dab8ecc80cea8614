/** Routes that only operators reach. */

import type { PathParams } from "../../dialects/dialect.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { matchPath } from "../../gateway/http/route-table.ts";
import { toFault } from "../../gateway/http/to-fault.ts";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Report } from "../happening.ts";
import { Fault } from "../../turn/fault.ts";

export type ConsoleRequest = {
  readonly exchange: Exchange;
  /** What the names in its path stood for. */
  readonly params: PathParams;
};

/**
 * One thing that can be asked of a running gateway. Whoever adds one adds its
 * answer to `wire.ts`, and lists it where the console is opened.
 */
export type ConsoleRoute = {
  readonly method: "GET" | "POST" | "DELETE";
  /** `{name}` stands for a part of the path. */
  readonly path: string;
  /** What it throws is told to whoever asked. */
  readonly serve: (request: ConsoleRequest) => void | Promise<void>;
};

export function sendConsoleJson({ reply }: Exchange, status: number, body: unknown): void {
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  reply.end(`${JSON.stringify(body)}\n`);
}

/** Answers a request by the first route that fits. */
export async function serveConsole(
  routes: readonly ConsoleRoute[],
  exchange: Exchange,
  report: Report,
): Promise<void> {
  try {
    const { route, params } = routeFor(routes, exchange);
    await route.serve({ exchange, params });
  } catch (error) {
    const fault = toFault(error, report, undefined);
    sendConsoleJson(exchange, fault.status, faultBody(fault));
  }
}

function routeFor(routes: readonly ConsoleRoute[], { method, path }: Exchange) {
  const wanted = method === "HEAD" ? "GET" : method;
  for (const route of routes) {
    const params = route.method === wanted ? matchPath(route.path, path) : undefined;
    if (params !== undefined) return { route, params };
  }
  const list = routes.map((route) => `${route.method} ${route.path}`).join(", ");
  throw new Fault("request.route", `There is no ${method} ${path} here; there are ${list}.`);
}
