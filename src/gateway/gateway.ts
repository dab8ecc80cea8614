import { bodyReader } from "../dialects/shared/body.ts";
import { type Bus, createBus, type SubscribeOptions, withoutMessages } from "../observe/bus.ts";
import type { Report } from "../observe/happening.ts";
import { createMetrics } from "../observe/metrics.ts";
import { RecentTurns } from "../observe/recent-turns.ts";
import { until } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import { MemoryStore } from "../history/memory.ts";
import { noStore } from "../history/none.ts";
import type { Retention, Store } from "../history/store.ts";
import {
  authorize,
  foreignHostOf,
  keyring,
  type OriginPolicy,
  originPolicyOf,
} from "./http/admission.ts";
import { BodyBudget, TurnMemory, turnsLimit } from "./http/budget.ts";
import { BackgroundRuns } from "./history/background/runs.ts";
import type { Config } from "./config.ts";
import { type Admitted, openEntry } from "./http/entry.ts";
import { QUIET_TICKS } from "./run/door.ts";
import type { Exchange } from "./http/exchange.ts";
import { serveFetch } from "./http/fetch.ts";
import { gatewayStatus, type GatewayStatus } from "./http/status-routes.ts";
import { openPlatform, type OpenPlatform, type Platform } from "./platform.ts";
import type { GatewayState } from "./state.ts";
import { listsLearned } from "./run/select.ts";
import { sealBox } from "./history/seal-box.ts";
import { StepQueue } from "./http/steps.ts";
import { RunningTurns, type RunningTurnView } from "./run/running-turns.ts";
import { callRules } from "./run/rules.ts";
import { findRoute } from "./http/route-table.ts";
import { routeTable } from "./http/routes.ts";
import { findPlan } from "./http/plan-routes.ts";
import { type Price, priceOf } from "./run/prices.ts";
import { openUpstreams, Users } from "./upstreams.ts";
import { TenantLimits, type TenantLimitsOptions } from "./http/tenant-limits.ts";
import { workWatch } from "./http/work-watch.ts";

export type Gateway = {
  /** Serves one exchange. Never throws. */
  handle(exchange: Exchange): void;
  /** Decides from its head alone whether a request is let in. One that is not has been answered. */
  admit(exchange: Exchange): Admitted | undefined;
  /** Serves a request that was let in, with its body. Never throws. */
  serve(admitted: Admitted, body: string): void;
  /** Answers an exchange whose body the host could not read. */
  refuse(exchange: Exchange, fault: Fault): void;
  /** Whose a WebSocket is that a request asks for. None where it is not granted: what `handle` answers it with says why. */
  socketTenant(request: SocketRequest): Tenant | undefined;
  /** The same for hosts that speak `fetch`. */
  fetch(request: Request): Promise<Response>;
  /** Connects to the store, so that what is wrong with it shows before the first request that needs it. */
  start(): void;
  /** Takes up a new configuration for the requests that come after. */
  reconfigure(config: Config): void;
  /** Refuses new requests, waits for the turns under way as long as the grace, and lets go. */
  close(graceMs?: number): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /** Reports everything that happens from now on, until the returned function is called. */
  subscribe(listener: Report, options?: SubscribeOptions): () => void;
  /** The turns under way. */
  running(): readonly RunningTurnView[];
  /** The latest turns that are over, and requests that were refused. */
  readonly recent: RecentTurns;
  /** What tokens of a place cost, or of a name that clients ask for. */
  readonly priceOf: (upstream: string, model: string) => Price | undefined;
  /** The plan of a past turn, by the id of its answer or of its request. */
  findPlan(tenant: Tenant, id: string): Promise<Fields | undefined>;
  /** The metrics of this process in the Prometheus text format. */
  metricsText(): string;
  /** What it serves and how it fares. */
  status(): Promise<GatewayStatus>;
  /** Its configuration and upstreams as they are now, for whoever looks for what is wrong with them. */
  examined(): Pick<GatewayState, "config" | "upstreams" | "dialects" | "memory">;
  readonly bodyLimit: number;
  /** What the bytes of all bodies are taken from. */
  readonly bodyBudget: BodyBudget;
  /** What the characters are taken from that all WebSockets remember. */
  readonly sessionBudget: BodyBudget;
  /** How long a client may read nothing of an answer that waits for it. */
  readonly stallMs: number;
  /** The grace of a stop for which none is said. */
  readonly graceMs: number;
  /** How a page of this origin stands to it, for hosts that browsers reach. */
  originPolicy(origin: string): OriginPolicy;
  /** The name in a `Host` header, if a page from elsewhere might have it. */
  foreignIn(host: string): string | undefined;
};

type SocketRequest = Pick<Exchange, "method" | "path" | "headers" | "foreign">;

/** A gateway for a checked configuration. It listens nowhere: a host gives it exchanges. */
export function openGateway(config: Config, platform: Platform): Gateway {
  const made = lasting(platform);
  const { bus } = made;
  let state = buildState(config, made);
  let stopping = false;
  const bodyBudget = new BodyBudget(() => bodiesLimit(state.config));
  const sessionBudget = new BodyBudget(() => bodiesLimit(state.config));
  const entry = openEntry({ state: () => state, isStopping: () => stopping });

  async function close(graceMs = state.config.server.shutdown_grace_ms): Promise<void> {
    stopping = true;
    await closed(state, graceMs);
  }

  const { admit, serve, refuse } = entry;
  return {
    admit,
    serve,
    refuse,
    handle(exchange) {
      const admitted = admit(exchange);
      if (admitted !== undefined) serve(admitted, exchange.body);
    },
    socketTenant: (request) => (stopping ? undefined : socketTenant(state, request)),
    fetch: (request) => serveFetch(request, { ...state, ...entry, bodyBudget }),
    start: () => {
      state.store.start();
      learnModels(state);
    },
    reconfigure(next) {
      state = buildState(next, made, state);
      learnModels(state);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
    get bodyLimit() {
      return state.config.server.body_limit;
    },
    bodyBudget,
    sessionBudget,
    get stallMs() {
      return state.config.server.stall_timeout_ms;
    },
    get graceMs() {
      return state.config.server.shutdown_grace_ms;
    },
    subscribe: (listener, options) => bus.subscribe(listener, options),
    running: () => state.running.list(),
    recent: made.recent,
    priceOf: (upstream, model) => priceOf(state.config.prices, upstream, model),
    async findPlan(tenant, id) {
      using held = state.memory.open(tenant);
      const plan = await findPlan(state, tenant, id, held.load);
      return plan === undefined ? undefined : (JSON.parse(plan) as Fields);
    },
    metricsText: () => state.metrics.text(),
    status: () => gatewayStatus(state),
    examined: () => state,
    originPolicy: (origin) => originPolicyOf(origin, state.config.server),
    foreignIn: (host) => foreignHostOf(host, state.config.server),
  };
}

/** Eight of the largest bodies, where nothing is said. */
const bodiesLimit = ({ server: { bodies_limit, body_limit } }: Config): number =>
  bodies_limit ?? 8 * body_limit;

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

/** Without a `"*"` the lists of the upstreams decide where a model name leads: they are fetched ahead. */
function learnModels({ config, upstreams, clock }: GatewayState): void {
  if (!Object.hasOwn(config.models, "*")) void listsLearned(upstreams, clock);
}

type Lasting = OpenPlatform & Pick<GatewayState, "metrics" | "routes" | "bus" | "recent">;

/** What no configuration changes. */
function lasting(platform: Platform): Lasting {
  const metrics = createMetrics();
  const bus = createBus();
  const recent = new RecentTurns();
  bus.subscribe((happening) => metrics.hear(happening));
  bus.subscribe(platform.report);
  const { report } = bus;
  const open = openPlatform(platform);
  return { ...open, report, bus, recent, metrics, routes: routeTable(open.dialects) };
}

/** The bus of a configuration. Operators see why turns failed; others hear the upstream's sentence only where that is configured. */
function tellingBus({ bus, recent }: Lasting, { telemetry }: Config): Bus {
  const report: Report = (happening) => {
    recent.hear(happening);
    bus.report(telemetry.upstream_messages ? happening : withoutMessages(happening));
  };
  return {
    ...bus,
    report,
    get followsSteps() {
      return bus.followsSteps;
    },
  };
}

/** All that requests need from now on; what outlives a configuration is taken over. */
function buildState(config: Config, made: Lasting, before?: GatewayState): GatewayState {
  const store = before?.store ?? openStore(config.store, made);
  const memory = before?.memory ?? new TurnMemory();
  memory.resize(turnsLimit(config.server, made.runtime.heapBytes));
  made.recent.resize(config.console.keep);
  const running = before?.running ?? new RunningTurns(made.clock);
  running.tickEvery(config.server.keepalive_ms / QUIET_TICKS);
  const bus = tellingBus(made, config);
  return {
    ...made,
    bus,
    report: bus.report,
    config,
    rules: callRules(config),
    watch: workWatch(() => config.server.block_budget_ms, made.report),
    keys: keyring(config.server.keys, made.runtime.sha256),
    upstreams: openUpstreams(config, made, before),
    modelRoutes: new Map(),
    retired: before?.retired ?? new Set(),
    waiting: waitingAfter(before),
    readBody: before?.readBody ?? bodyReader(),
    steps: before?.steps ?? new StepQueue(made.clock),
    store,
    seals: before?.seals ?? sealBox(store),
    background: before?.background ?? new BackgroundRuns({ ...made, store, memory }),
    running,
    memory,
    limits: limitsOf(config, { clock: made.clock, shared: store.limits }, before),
  };
}

/** A request that waits since an earlier configuration counts in all later ones: upstreams may be the same in them. */
function waitingAfter(before: GatewayState | undefined): Users {
  const waiting = new Users();
  before?.waiting.whenNone(waiting.enter());
  return waiting;
}

/** What tenants have taken is kept over a new configuration that limits them no differently. */
const limitsOf = (
  { limits: config }: Config,
  options: Omit<TenantLimitsOptions, "config">,
  before?: GatewayState,
): TenantLimits =>
  before !== undefined && JSON.stringify(before.config.limits) === JSON.stringify(config)
    ? before.limits
    : new TenantLimits({ ...options, config });

async function closed(state: GatewayState, graceMs: number): Promise<void> {
  await drained(state, graceMs);
  const upstreams = [...state.upstreams.values(), ...state.retired];
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  await state.store.close();
}

/** Waits for the turns under way; those that outstay the grace are told, not cut. */
async function drained(state: GatewayState, graceMs: number): Promise<void> {
  const { running, background, clock } = state;
  await until(clock, () => running.size === 0, clock.now() + graceMs);
  running.haltAll();
  await until(clock, () => background.size === 0, clock.now() + SAVE_EVENTS_MS);
}

/** Maximum time that a stop waits for the events of background answers to be stored. */
const SAVE_EVENTS_MS = 5000;

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const DAYS_KEPT = 30;
/** How much each kind keeps where nothing is said about it. */
const bytesKept = { memory: 24 * MIB, sqlite: 1024 * MIB, postgres: 10_240 * MIB } as const;

const WAITS =
  "Expired rows of the store are kept until gateways have run for another 24 hours: the clock seems to have been set, or most rows would be dropped. Check the clock of this machine, or of the PostgreSQL server.";

/** The store that a configuration asks for. */
function openStore(
  config: Config["store"],
  { clock, report, runtime }: Pick<Platform, "clock" | "report" | "runtime">,
): Store {
  if (config.kind === "off") return noStore;
  const retention: Retention = {
    maxBytes: config.max_bytes ?? bytesKept[config.kind],
    maxAgeMs: (config.max_age_days ?? DAYS_KEPT) * DAY_MS,
  };
  if (config.kind === "memory") return new MemoryStore(clock, retention);
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
  const onWait = (): void => report({ type: "store", event: "waits", problem: WAITS });
  return runtime.openStore(config, { clock, retention, onState, onWait });
}
