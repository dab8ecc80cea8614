/** The routes for operators, on the private socket of a gateway. Their answers hold no content and no secrets. */

import { z } from "zod";
import { faultBody } from "../../dialects/errors/fault-body.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Exchange } from "../../gateway/http/exchange.ts";
import { toFault } from "../../gateway/http/to-fault.ts";
import { turnRow } from "../../gateway/run/prices.ts";
import { jsonOf, ownOf } from "../../json/json.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { version } from "../../upstreams/version.ts";
import type { Report } from "../happening.ts";
import type { RecentTurn } from "../recent-turns.ts";
import type { BundleRecorder } from "../recording/recorder.ts";
import { Notices, recentProblems, storeAbsence } from "./notices.ts";
import type { ConsoleStatus } from "./wire.ts";

/** Answers a request with a value, which is sent as JSON. `wire.ts` describes the values. */
type ConsoleRoute = (exchange: Exchange) => unknown;

/** By method and path, such as `GET /status`. */
export type ConsoleRoutes = Readonly<Record<string, ConsoleRoute>>;

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
  readonly routes?: ConsoleRoutes | undefined;
};

export function openConsole(
  gateway: Gateway,
  { details, clock, report, recorder, rejected, routes: more }: ConsoleOptions,
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
  const routes: ConsoleRoutes = {
    "GET /status": status,
    "GET /feed": ({ query }) => feedBatch(gateway, notices, query),
    "GET /turn": ({ query }) => turnOf(gateway, new URLSearchParams(query).get("id") ?? ""),
    "POST /recording": ({ body }) => {
      const order = orderSchema.safeParse(jsonOf(body));
      if (!order.success)
        throw new Fault(
          "request.invalid",
          "Send `mode` (`off`, `failures` or `all`), and optionally `for_ms`, the milliseconds until the order ends.",
        );
      const { mode, for_ms: forMs } = order.data;
      return { object: "recording", ...recorder.order({ mode, forMs }) };
    },
    "DELETE /recording": async () => {
      recorder.order(undefined);
      // Ended turns are counted when they are on the disk.
      await recorder.settled();
      return { object: "recording", ...recorder.state() };
    },
    ...more,
  };
  return {
    serve: (exchange) => serve(routes, exchange, report),
    close: gateway.subscribe(notices.add),
  };
}

/** An order for the recorder. The configured mode applies again when the order ends or is canceled. */
const orderSchema = z.object({
  mode: z.enum(["off", "failures", "all"]),
  /** Milliseconds until the configured mode applies again. */
  for_ms: z.number().positive().optional(),
});

async function serve(routes: ConsoleRoutes, exchange: Exchange, report: Report): Promise<void> {
  const { method, path } = exchange;
  try {
    const route = ownOf(routes, `${method} ${path}`);
    if (route === undefined)
      throw new Fault(
        "request.route",
        `There is no route ${method} ${path}; the routes are ${Object.keys(routes).join(", ")}.`,
      );
    sendJson(exchange, 200, await route(exchange));
  } catch (error) {
    const fault = toFault(error, report, undefined);
    sendJson(exchange, fault.status, faultBody(fault));
  }
}

function sendJson({ reply }: Exchange, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  reply.head(status, {
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
  });
  reply.end(`${text}\n`);
}

/** One turn, under way or ended, and its plan. */
async function turnOf(gateway: Gateway, id: string): Promise<object> {
  const found = gateway.recent.find(id)?.turn;
  const running = gateway.running().find(({ requestId }) => requestId === id);
  if (found === undefined && running === undefined)
    throw new Fault(
      "request.route",
      `The gateway does not keep the turn \`${id.slice(0, 100)}\`; it keeps the latest turns, up to \`console.keep\`.`,
    );
  const plan = found?.type === "turn" ? await gateway.findPlan(found.tenant, id) : undefined;
  const turn = found === undefined ? undefined : turnRow(found, gateway.priceOf);
  return { turn, running, plan };
}

const MOST_RUNNING = 200;
/** Past turns, unless the request sets another number. */
const LAST = 100;

type Watched = Pick<Gateway, "recent" | "running" | "priceOf">;

/**
 * The turns and notices after those that the query names, or the latest ones. A reader asks again
 * and again with the numbers of its last batch, so the gateway keeps nothing for its readers.
 * `most`: turns without a problem; others are only counted.
 */
export function feedBatch({ recent, running, priceOf }: Watched, notices: Notices, query: string) {
  const params = new URLSearchParams(query);
  const numberOf = (name: string): number | undefined => {
    const number = Number.parseInt(params.get(name) ?? "", 10);
    return number >= 0 ? number : undefined;
  };
  const latest = numberOf("last") ?? LAST;
  const since = numberOf("since");
  const { turns, last, lost } = recent.since(since === undefined ? { latest } : { since });
  const shown = sampled(turns, numberOf("most") ?? Infinity);
  // A request without past turns receives no past notices.
  const noticed = numberOf("notices") ?? (latest === 0 ? notices.last : 0);
  return {
    object: "batch",
    last,
    lost,
    unsent: turns.length - shown.length,
    turns: shown.map((turn) => turnRow(turn, priceOf)),
    running: running().slice(-MOST_RUNNING),
    lastNotice: notices.last,
    notices: notices.since(noticed).map(({ at, happening }) => Object.assign({ at }, happening)),
  };
}

const isWrong = (turn: RecentTurn): boolean => turn.type === "refusal" || turn.outcome === "failed";

/** All turns with a problem, and an even sample of at most `most` others. */
function sampled(turns: readonly RecentTurn[], most: number): readonly RecentTurn[] {
  const well = turns.reduce((count, turn) => count + (isWrong(turn) ? 0 : 1), 0);
  if (well <= most) return turns;
  let seen = 0;
  return turns.filter((turn) => {
    if (isWrong(turn)) return true;
    const before = Math.floor((seen * most) / well);
    seen++;
    return Math.floor((seen * most) / well) > before;
  });
}
