import type { Gateway } from "../../gateway/gateway.ts";
import { turnRow } from "../../gateway/run/prices.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import { version } from "../../upstreams/version.ts";
import { Feed } from "./feed.ts";
import { Notices } from "./notices.ts";
import { sendConsoleJson, type ConsoleRequest, type ConsoleRoute } from "./route.ts";
import { recentProblems, storeAbsence } from "./recent-problems.ts";
import type { Status } from "./wire.ts";

/** What the host knows of the process that runs the gateway. */
export type ProcessDetails = Pick<Status, "pid" | "url" | "startedAt" | "files" | "keys">;

/** What operators can ask of a running gateway. It holds no content and no secrets. */
export type Console = {
  readonly routes: readonly ConsoleRoute[];
  readonly close: () => void;
};

export type ConsoleOptions = {
  readonly details: ProcessDetails;
  readonly clock: Clock;
  /** What is recorded just now; not given where nothing can be. */
  readonly recording?: (() => NonNullable<Status["recording"]>) | undefined;
  /** The changed configuration file that cannot be used, if there is one. */
  readonly rejected?: (() => Status["rejected"]) | undefined;
};

export function openConsole(
  gateway: Gateway,
  { details, clock, recording, rejected }: ConsoleOptions,
): Console {
  const notices = new Notices(() => clock.date());
  const feed = new Feed({ gateway, notices, clock });
  const close = gateway.subscribe(notices.hear);

  const status = async (): Promise<Status> => {
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
      recording: recording?.(),
      kept: gateway.recent.count,
      turns: gateway.recent.last,
      watchers: feed.watchers,
      wrong: recentProblems(gateway.recent, notices, clock.date()),
    };
  };
  const routes: readonly ConsoleRoute[] = [
    {
      method: "GET",
      path: "/status",
      serve: async ({ exchange }) => sendConsoleJson(exchange, 200, await status()),
    },
    { method: "GET", path: "/feed", serve: ({ exchange }) => feed.serve(exchange) },
    { method: "GET", path: "/turns/{id}", serve: (request) => serveTurn(gateway, request) },
  ];
  return { routes, close };
}

/** All that is known of one turn, running or over. */
async function serveTurn(gateway: Gateway, { exchange, params }: ConsoleRequest): Promise<void> {
  const { id = "" } = params;
  const found = gateway.recent.find(id)?.turn;
  const running = gateway.running().find(({ requestId }) => requestId === id);
  if (found === undefined && running === undefined)
    throw new Fault(
      "request.route",
      `No turn \`${id.slice(0, 100)}\` is kept; those of the last minutes are, up to \`console.keep\`.`,
    );
  const plan = found?.type === "turn" ? await gateway.findPlan(found.tenant, id) : undefined;
  const turn = found === undefined ? undefined : turnRow(found, gateway.priceOf);
  sendConsoleJson(exchange, 200, { turn, running, plan });
}
