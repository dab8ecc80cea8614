import type { BodyReader } from "../dialects/shared/body.ts";
import type { Store } from "../history/store.ts";
import type { Bus } from "../observe/bus.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecentTurns } from "../observe/recent-turns.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { Keyring } from "./http/admission.ts";
import type { BackgroundRuns } from "./history/background/runs.ts";
import type { Config } from "./config.ts";
import type { OpenPlatform } from "./platform.ts";
import type { StepQueue } from "./http/steps.ts";
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
import type { WorkWatch } from "./http/work-watch.ts";

/**
 * All a request needs, as it was when the request came: a new configuration
 * makes a new state and never changes a turn under way.
 */
export type GatewayState = OpenPlatform & {
  readonly routes: RouteTable;
  readonly config: Config;
  /** What it asks of calls. */
  readonly rules: CallRules;
  /** The keys that let a request in, and their tenants. */
  readonly keys: Keyring;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** What it makes of model names. */
  readonly modelRoutes: Map<string, ModelRoute>;
  /** Those of former configurations that have not closed yet. */
  readonly retired: Set<Upstream>;
  /** Counts the requests that wait before they ask an upstream: for the store, or for a count. */
  readonly waiting: Users;
  readonly metrics: Metrics;
  /** Where `report` goes; asked whether anybody follows the steps of turns. */
  readonly bus: Bus;
  readonly readBody: BodyReader;
  /** Has work on long requests done one step at a time. */
  readonly steps: StepQueue;
  /** Is told of work on a request that ran without a break. */
  readonly watch: WorkWatch;
  /** What the requests of turns under way hold. */
  readonly memory: ByteBudget;
  /** What tenants may take. */
  readonly limits: TenantLimits;
  /** What is kept of past turns. */
  readonly store: Store;
  /** Seals what clients keep for us. */
  readonly seals: SealBox;
  /** The answers that are made in the background. */
  readonly background: BackgroundRuns;
  /** The latest turns that are over. */
  readonly recent: RecentTurns;
  /** The turns under way, for a stop that waits. */
  readonly running: RunningTurns;
};

/** A request on its way through a route. */
export type RequestContext = {
  readonly state: GatewayState;
  readonly exchange: Exchange;
  readonly requestId: string;
  readonly tenant: Tenant;
  /** What it holds until it is served. */
  readonly memory: HeldBytes;
  /** What a trailing `*` of the route's path stood for. */
  readonly rest: string;
  readonly route: Route;
  /** What the names in its path stood for. */
  readonly params: PathParams;
  readonly refuse: (fault: Fault, headers?: Readonly<Record<string, string>>) => void;
};

export type Route = {
  readonly method: string;
  /** `{name}` stands for a part of the path; a trailing `*` takes the rest of it. */
  readonly path: string;
  /** Whose clients it serves, and in whose form it refuses; none: that of the OpenAI API. */
  readonly door?: DoorDialect | undefined;
  /** Whether it only tells a client what to do instead, and is no route to offer. */
  readonly refuses?: true;
  /** Whether it is served without a key. */
  readonly open?: true;
  /** Whether it is served while the gateway stops. */
  readonly always?: true;
  readonly serve: (context: RequestContext) => void | Promise<void>;
};

/** All routes of a gateway. */
export type RouteTable = {
  readonly routes: readonly Route[];
  /** Those without a pattern, by `METHOD path`. */
  readonly exact: ReadonlyMap<string, Route>;
};
