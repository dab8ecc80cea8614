import type { BodyReader } from "../dialects/shared/body.ts";
import type { Log } from "../history/log.ts";
import type { Bus } from "../observe/bus.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecentTurns } from "../observe/recent-turns.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { Keyring } from "./http/admission.ts";
import type { BackgroundRuns } from "./history/background/runs.ts";
import type { Config } from "./config.ts";
import type { OpenPlatform } from "./platform.ts";
import type { StepQueue, WorkWatch } from "./http/steps.ts";
import type { DoorDialect, PathParams } from "../dialects/dialect.ts";
import type { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Exchange } from "./http/exchange.ts";
import type { SealBox } from "./history/seal-box.ts";
import type { TenantLimits } from "./http/tenant-limits.ts";
import type { HeldBytes, ByteBudget } from "./http/budget.ts";
import type { ModelRoute } from "./run/select.ts";
import type { RunningTurns } from "./run/running-turns.ts";
import type { Users } from "./upstreams.ts";

/**
 * Everything that serves a request. A new configuration makes a new state; a turn under way keeps
 * the state that it began with.
 */
export type GatewayState = OpenPlatform & {
  readonly routes: RouteTable;
  readonly config: Config;
  /** The rules for calls of the configuration. */
  readonly rules: CallRules;
  /** The keys that let a request in, and their tenants. */
  readonly keys: Keyring;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** Routes of model names, made when they are first asked for. */
  readonly modelRoutes: Map<string, ModelRoute>;
  /** Upstreams of former configurations that are still open. */
  readonly retired: Set<Upstream>;
  /** Counts requests that wait for the store or for a token count. */
  readonly waiting: Users;
  readonly metrics: Metrics;
  /** Receives the reports; knows if a listener follows the steps of turns. */
  readonly bus: Bus;
  readonly bodies: BodyReader;
  /** Queues the steps of work on long requests. */
  readonly steps: StepQueue;
  /** Reports work on one request that held the event loop too long. */
  readonly watch: WorkWatch;
  /** Bounds the memory of the requests of turns under way. */
  readonly memory: ByteBudget;
  readonly limits: TenantLimits;
  readonly store: Log;
  /** Seals data that clients keep for the gateway. */
  readonly seals: SealBox;
  readonly background: BackgroundRuns;
  /** The latest finished turns. */
  readonly recent: RecentTurns;
  /** The turns under way. */
  readonly running: RunningTurns;
};

/** A request on its way through a route. */
export type RequestContext = {
  readonly state: GatewayState;
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  /** Bytes that the request holds until it is served. */
  readonly memory: HeldBytes;
  readonly route: Route;
  /** The parts of the path that `{name}` matches, and a trailing `*` under that name. */
  readonly params: PathParams;
  readonly refuse: (fault: Fault, headers?: Readonly<Record<string, string>>) => void;
};

export type Route = {
  readonly method: string;
  /** `{name}` stands for a part of the path; a trailing `*` takes the rest of it. */
  readonly path: string;
  /** The dialect of its clients and its errors; left out: that of the OpenAI API. */
  readonly door?: DoorDialect | undefined;
  /** Set if it only refuses with a remedy; it is not offered as a near route then. */
  readonly refuses?: true;
  /** Set if it needs no key. */
  readonly open?: true;
  /** Set if it is served while the gateway stops. */
  readonly always?: true;
  readonly serve: (context: RequestContext) => void | Promise<void>;
};

/** All routes of a gateway. */
export type RouteTable = {
  readonly routes: readonly Route[];
  /** Found routes, by `METHOD path`. */
  readonly known: Map<string, FoundRoute>;
};

/** A route and the parts of the path that its pattern matches. */
export type FoundRoute = { readonly route: Route; readonly params: PathParams };
