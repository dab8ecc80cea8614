import { BodyReader } from "../dialects/shared/body.ts";
import { Bus, type SubscribeOptions } from "../observe/bus.ts";
import type { Report } from "../observe/happening.ts";
import type { RecentTurns } from "../observe/recent-turns.ts";
import { until } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import { MemoryLog } from "../history/memory-log.ts";
import { noStore } from "../history/none.ts";
import type { Log, Retention } from "../history/log.ts";
import {
  authorize,
  foreignHostOf,
  keyring,
  type OriginPolicy,
  originPolicyOf,
} from "./http/admission.ts";
import { ByteBudget, turnsLimit } from "./http/budget.ts";
import { BackgroundRuns } from "./history/background/runs.ts";
import type { Config } from "./config.ts";
import { type Admitted, type LiveGateway, openEntry } from "./http/entry.ts";
import { QUIET_TICKS } from "./run/door.ts";
import type { Exchange } from "./http/exchange.ts";
import { serveFetch } from "./http/fetch.ts";
import { gatewayStatus, type GatewayStatus } from "./http/status-routes.ts";
import { openPlatform, type OpenPlatform, type Platform } from "./platform.ts";
import type { GatewayState } from "./state.ts";
import { listsLearned } from "./run/select.ts";
import { sealBox } from "./history/seal-box.ts";
import { StepQueue, workWatch } from "./http/steps.ts";
import { RunningTurns, type RunningTurnView } from "./run/running-turns.ts";
import { callRules } from "./run/rules.ts";
import { findRoute } from "./http/route-table.ts";
import { routeTable } from "./http/routes.ts";
import { findPlan } from "./http/plan-routes.ts";
import { type Price, priceOf } from "./run/prices.ts";
import { openUpstreams, Users } from "./upstreams.ts";
import { TenantLimits } from "./http/tenant-limits.ts";

export type Gateway = {
  /** Serves one exchange. Never throws. */
  handle(exchange: Exchange): void;
  /** Admits a request by its head alone; undefined if it was refused, and answered. */
  admit(exchange: Exchange): Admitted | undefined;
  /** Serves an admitted request with its body. Never throws. */
  serve(admitted: Admitted, body: string): void;
  /** Answers an exchange whose body the host could not read. */
  refuse(exchange: Exchange, fault: Fault): void;
  /** The tenant of a WebSocket that a request asks for; undefined if it is not granted, and `handle` answers why. */
  socketTenant(request: SocketRequest): Tenant | undefined;
  /** Serves hosts that speak `fetch`. */
  fetch(request: Request): Promise<Response>;
  /** Connects to the store, so that its problems show before the first request. */
  start(): void;
  /** Applies a new configuration to the requests that come after. */
  reconfigure(config: Config): void;
  /** Refuses new requests, waits for running turns as long as the grace, and closes upstreams and store. */
  close(graceMs?: number): Promise<void>;
  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** Reports everything that happens from now on, until the returned function is called. */
  subscribe(listener: Report, options?: SubscribeOptions): () => void;
  /** The turns under way. */
  running(): readonly RunningTurnView[];
  /** The latest finished turns and refused requests. */
  readonly recent: RecentTurns;
  /** The price of an `upstream/model`, or of a name that clients ask for. */
  readonly priceOf: (upstream: string, model: string) => Price | undefined;
  /** The plan of a past turn, by the id of its answer or of its request. */
  findPlan(tenant: Tenant, id: string): Promise<Fields | undefined>;
  /** The metrics of this process in the Prometheus text format. */
  metricsText(): string;
  /** Its upstreams, models and store, and which of them cannot serve. */
  status(): Promise<GatewayStatus>;
  /** Its current configuration and upstreams, for diagnostics. */
  examined(): Pick<GatewayState, "config" | "upstreams" | "dialects" | "memory">;
  readonly bodyLimit: number;
  /** Bounds the bytes of all arriving bodies. */
  readonly bodyBudget: ByteBudget;
  /** Bounds the characters that all WebSockets remember. */
  readonly sessionBudget: ByteBudget;
  /** Milliseconds after which a client that reads nothing of a waiting answer is cut off. */
  readonly stallMs: number;
  /** The default grace of `close`. */
  readonly graceMs: number;
  /** Whether pages of this origin may ask the gateway, for hosts that browsers reach. */
  originPolicy(origin: string): OriginPolicy;
  /** The name in a `Host` header, if a page from elsewhere may have it. */
  foreignIn(host: string): string | undefined;
};

type SocketRequest = Pick<Exchange, "method" | "path" | "headers" | "foreign">;

/** The largest bodies that fit into `server.bodies_limit` if it is not set. */
const BODIES = 8;
/** Milliseconds for which `close` waits until the events of background answers are stored. */
const SAVE_EVENTS_MS = 5000;

/** A gateway for a checked configuration. It listens nowhere: a host gives it exchanges. */
export function openGateway(config: Config, platform: Platform): Gateway {
  const memory = new ByteBudget(Infinity, "turns_limit");
  const bodyBudget = new ByteBudget(Infinity);
  const sessionBudget = new ByteBudget(Infinity);
  const made = lasting(platform, memory);
  const live: LiveGateway = { state: configured(config), isStopping: false, bodyBudget };
  const entry = openEntry(live);

  /** The state of a configuration; its limits hold at once for what is held already. */
  function configured(next: Config, before?: GatewayState): GatewayState {
    const state = buildState(next, made, before);
    const { server } = next;
    memory.limit = turnsLimit(server, platform.runtime.heapBytes);
    bodyBudget.limit = sessionBudget.limit = server.bodies_limit ?? BODIES * server.body_limit;
    return state;
  }

  async function close(graceMs = live.state.config.server.shutdown_grace_ms): Promise<void> {
    live.isStopping = true;
    const { running, background, clock } = live.state;
    await until(clock, () => running.size === 0, clock.now() + graceMs);
    // Turns that outlast the grace end with the failure `gateway.stopping`.
    running.haltAll();
    await until(clock, () => background.size === 0, clock.now() + SAVE_EVENTS_MS);
    const upstreams = [...live.state.upstreams.values(), ...live.state.retired];
    await Promise.all(upstreams.map((upstream) => upstream.close()));
    await live.state.store.close();
  }

  return {
    ...entry,
    handle(exchange) {
      const admitted = entry.admit(exchange);
      if (admitted !== undefined) entry.serve(admitted, exchange.body);
    },
    socketTenant: (request) => (live.isStopping ? undefined : socketTenant(live.state, request)),
    fetch: (request) => serveFetch(request, live, entry),
    start() {
      live.state.store.start();
      learnModels(live.state);
    },
    reconfigure(next) {
      live.state = configured(next, live.state);
      learnModels(live.state);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
    get bodyLimit() {
      return live.state.config.server.body_limit;
    },
    bodyBudget,
    sessionBudget,
    get stallMs() {
      return live.state.config.server.stall_timeout_ms;
    },
    get graceMs() {
      return live.state.config.server.shutdown_grace_ms;
    },
    subscribe: (listener, options) => made.bus.subscribe(listener, options),
    running: () => live.state.running.list(),
    recent: made.recent,
    priceOf: (upstream, model) => priceOf(live.state.config.prices, upstream, model),
    async findPlan(tenant, id) {
      using held = live.state.memory.open(tenant);
      const plan = await findPlan(live.state, tenant, id, held.load);
      return plan === undefined ? undefined : (JSON.parse(plan) as Fields);
    },
    metricsText: () => live.state.metrics.text(),
    status: () => gatewayStatus(live.state),
    examined: () => live.state,
    originPolicy: (origin) => originPolicyOf(origin, live.state.config.server),
    foreignIn: (host) => foreignHostOf(host, live.state.config.server),
  };
}

function socketTenant(
  { config, routes, keys }: GatewayState,
  request: SocketRequest,
): Tenant | undefined {
  if (!config.server.websocket) return undefined;
  try {
    const { route } = findRoute(routes, request.method, request.path);
    if (route.door?.socket === undefined || route.refuses !== true) return undefined;
    return authorize(request, keys);
  } catch {
    return undefined; // `handle` throws the same, and answers with it.
  }
}

/** Asks for the lists of the upstreams if they decide where a model name leads. */
function learnModels({ config, upstreams, clock }: GatewayState): void {
  if (!Object.hasOwn(config.models, "*")) void listsLearned(upstreams, clock);
}

type Lasting = OpenPlatform &
  Pick<GatewayState, "metrics" | "routes" | "bus" | "recent" | "memory">;

/** The parts of a gateway that no configuration changes. */
function lasting(platform: Platform, memory: ByteBudget): Lasting {
  const bus = new Bus();
  bus.subscribe(platform.report);
  const { report, recent, metrics } = bus;
  const open = openPlatform(platform);
  return { ...open, report, bus, recent, metrics, memory, routes: routeTable(open.dialects) };
}

/** The state of a configuration. Store, limits and turns under way are those of the state before. */
function buildState(config: Config, made: Lasting, before?: GatewayState): GatewayState {
  const { clock, runtime, recent } = made;
  const store = before?.store ?? openStore(config.store, made);
  const running = before?.running ?? new RunningTurns(clock);
  recent.resize(config.console.keep);
  running.tickEvery(config.server.keepalive_ms / QUIET_TICKS);
  made.bus.tellsMessages = config.telemetry.upstream_messages;
  // Waiting requests of an earlier configuration count in all later ones, which may share its upstreams.
  const waiting = new Users();
  before?.waiting.whenNone(waiting.enter());
  return {
    ...made,
    config,
    rules: callRules(config),
    watch: workWatch(config.server.block_budget_ms, made.report),
    keys: keyring(config.server.keys, runtime.sha256),
    upstreams: openUpstreams(config, made, before),
    modelRoutes: new Map(),
    retired: before?.retired ?? new Set(),
    waiting,
    bodies: before?.bodies ?? new BodyReader(),
    steps: before?.steps ?? new StepQueue(clock),
    store,
    seals: before?.seals ?? sealBox(store),
    background: before?.background ?? new BackgroundRuns({ ...made, store }),
    running,
    limits:
      before !== undefined && JSON.stringify(before.config.limits) === JSON.stringify(config.limits)
        ? before.limits // Keeps the counts of tenants.
        : new TenantLimits({ config: config.limits, clock, shared: store.limits }),
  };
}

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const DEFAULT_DAYS = 30;
/** The default limits of each kind of store. */
const defaultBytes = { memory: 24 * MIB, sqlite: 1024 * MIB, postgres: 10_240 * MIB } as const;

const CLOCK_SET =
  "Expired rows of the store are kept until gateways have run for another 24 hours: the clock seems to have been set, or most rows would be dropped. Check the clock of this machine, or of the PostgreSQL server.";

/** The store that a configuration asks for. */
function openStore(
  config: Config["store"],
  { clock, report, runtime }: Pick<Platform, "clock" | "report" | "runtime">,
): Log {
  if (config.kind === "off") return noStore;
  const retention: Retention = {
    maxBytes: config.max_bytes ?? defaultBytes[config.kind],
    maxAgeMs: (config.max_age_days ?? DEFAULT_DAYS) * DAY_MS,
  };
  if (config.kind === "memory") return new MemoryLog(clock, retention);
  if (runtime.openStore === undefined)
    throw new Fault(
      "config.invalid",
      `store.kind: \`${config.kind}\` needs Node; use \`memory\` or \`off\` here.`,
    );
  const onState = (fault: Fault | undefined): void =>
    report(
      fault === undefined
        ? { type: "store", event: "available" }
        : { type: "store", event: "unavailable", fault: fault.code, problem: fault.message },
    );
  const onWait = (): void => report({ type: "store", event: "waits", problem: CLOCK_SET });
  return runtime.openStore(config, { clock, retention, onState, onWait });
}
