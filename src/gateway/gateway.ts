import { bodyReader } from "../dialects/shared/body.ts";
import { errorText } from "../dialects/errors/fault-body.ts";
import type { DoorDialect } from "../dialects/dialect.ts";
import { createBus, type Bus } from "../telemetry/bus.ts";
import type { Refusal, Report } from "../telemetry/happening.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { until } from "../turn/clock.ts";
import { Fault, type FaultCode } from "../turn/fault.ts";
import { LOCAL_TENANT } from "../turn/tenant.ts";
import { authorize, keyring } from "./admission.ts";
import type { Config } from "./config.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { serveFetch } from "./fetch.ts";
import { foreignHostOf, originPolicyOf, type OriginPolicy } from "./origins.ts";
import { openPlatform, type OpenPlatform } from "./extensions.ts";
import type { GatewayState, Platform } from "./state.ts";
import { openStore } from "./open-store.ts";
import { RunningTurns, type RunningTurnView } from "./running-turns.ts";
import { callRules } from "./rules.ts";
import { doorAt, findRoute, requestIdFor, routeTable, type RequestContext } from "./routes.ts";
import { toFault } from "./to-fault.ts";
import { openUpstreams } from "./upstreams.ts";

export type Gateway = {
  /** Serves one exchange. Never throws. */
  handle(exchange: Exchange): void;
  /** Answers an exchange whose body the host could not read. */
  refuse(exchange: Exchange, fault: Fault): void;
  /** Whether a request to open a WebSocket is one to grant; what `handle` answers it with says why not. */
  takesSocket(request: SocketRequest): boolean;
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
  subscribe(listener: Report): () => void;
  /** The turns under way. */
  running(): readonly RunningTurnView[];
  readonly bodyLimit: number;
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
  const { report, bus } = made;
  let state = buildState(config, made);
  let stopping = false;

  function refuse(exchange: Exchange, error: unknown, id = requestIdFor(state, exchange)): void {
    const fault = toFault(error, report, id);
    report(refusalOf(fault, exchange, id));
    const door = doorAt(state.routes, exchange.path);
    sendFault(exchange.reply, fault, { requestId: id, door });
  }

  function handle(exchange: Exchange): void {
    const at = state;
    const requestId = requestIdFor(at, exchange);
    const refused = (error: unknown): void => refuse(exchange, error, requestId);
    try {
      const found = findRoute(at.routes, exchange.method, exchange.path);
      const { route } = found;
      if (stopping && route.always !== true) throw closing();
      const tenant = route.open === true ? LOCAL_TENANT : authorize(exchange, at.keys);
      const turnAway = turnerAway(exchange.reply, requestId, route.door);
      route
        .serve({ ...found, state: at, exchange, requestId, tenant, refuse: turnAway })
        ?.catch(refused);
    } catch (error) {
      refused(error);
    }
  }

  async function close(graceMs = state.config.server.shutdown_grace_ms): Promise<void> {
    stopping = true;
    await closed(state, graceMs);
  }

  return {
    handle,
    refuse,
    takesSocket: (request) => !stopping && takesSocket(state, request),
    fetch: (request) => serveFetch(request, { ...state, handle, refuse }),
    start: () => state.store.start(),
    reconfigure(next) {
      state = buildState(next, made, state);
    },
    close,
    [Symbol.asyncDispose]: () => close(),
    get bodyLimit() {
      return state.config.server.body_limit;
    },
    get graceMs() {
      return state.config.server.shutdown_grace_ms;
    },
    subscribe: (listener) => bus.subscribe(listener),
    running: () => state.running.list(),
    originPolicy: (origin) => originPolicyOf(origin, state.config.server),
    foreignIn: (host) => foreignHostOf(host, state.config.server),
  };
}

function takesSocket({ config, routes, keys }: GatewayState, request: SocketRequest): boolean {
  if (!config.server.websocket) return false;
  try {
    const { route } = findRoute(routes, request.method, request.path);
    if (route.door?.socket === undefined || route.refuses !== true) return false;
    authorize(request, keys);
    return true;
  } catch {
    return false; // `handle` throws the same, and answers with it.
  }
}

type Lasting = OpenPlatform & Pick<GatewayState, "metrics" | "routes"> & { readonly bus: Bus };

/** What no configuration changes. */
function lasting(platform: Platform): Lasting {
  const metrics = createMetrics();
  const bus = createBus();
  bus.subscribe((happening) => metrics.hear(happening));
  bus.subscribe(platform.report);
  const { report } = bus;
  const open = openPlatform(platform);
  return { ...open, report, bus, metrics, routes: routeTable(open.dialects) };
}

/** All that requests need from now on; what outlives a configuration is taken over. */
const buildState = (config: Config, made: Lasting, before?: GatewayState): GatewayState => ({
  ...made,
  config,
  rules: callRules(config),
  keys: keyring(config.server.keys, made.runtime.sha256),
  upstreams: openUpstreams(config, made, before),
  readBody: before?.readBody ?? bodyReader(),
  store: before?.store ?? openStore(config.store, made),
  running: before?.running ?? new RunningTurns(),
});

const refusalOf = (fault: Fault, { path }: Exchange, requestId: string): Refusal => ({
  type: "refusal",
  requestId,
  route: path.slice(0, 200),
  status: fault.status,
  fault: fault.code,
  param: fault.detail.param,
});

const closing = (): Fault =>
  new Fault("gateway.stopping", "The gateway is shutting down; send the request to another.");

async function closed(state: GatewayState, graceMs: number): Promise<void> {
  await drained(state, graceMs);
  await Promise.all([...state.upstreams.values()].map((upstream) => upstream.close()));
  await state.store.close();
}

/** Waits for the turns under way; those that outstay the grace are told, not cut. */
async function drained({ running, clock }: GatewayState, graceMs: number): Promise<void> {
  await until(clock, () => running.size === 0, clock.now() + graceMs);
  running.haltAll();
}

/** Apart from the exchange: what lives as long as a turn must not keep its body in memory. */
const turnerAway =
  (reply: Reply, requestId: string, door?: DoorDialect): RequestContext["refuse"] =>
  (fault, headers) =>
    sendFault(reply, fault, { requestId, door, headers });

type Refused = {
  readonly requestId: string;
  /** Whose client is told; none: that of the OpenAI API. */
  readonly door?: DoorDialect | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** What a client is told in headers of what it may send instead. */
const remedies: { readonly [Code in FaultCode]?: Readonly<Record<string, string>> } = {
  "request.websocket": { upgrade: "HTTP/1.1" },
};

function sendFault(reply: Reply, fault: Fault, { requestId, door, headers }: Refused): void {
  const { retryAfter, allow, acceptEncoding } = fault.detail;
  const { requestIdHeader = "x-request-id", writeError = errorText } = door ?? {};
  const head = {
    "x-request-id": requestId,
    [requestIdHeader]: requestId,
    ...headers,
    "content-type": "application/json; charset=utf-8",
    // The client libraries of the OpenAI API go by it, and else by the status alone.
    "x-should-retry": String(fault.mayRetry),
    ...(retryAfter !== undefined && { "retry-after": retryAfter }),
    ...(allow !== undefined && { allow }),
    ...(acceptEncoding !== undefined && { "accept-encoding": acceptEncoding }),
    ...remedies[fault.code],
  };
  if (reply.refuse !== undefined) return reply.refuse(fault, head);
  reply.head(fault.status, head);
  reply.end(writeError(fault, requestId));
}
