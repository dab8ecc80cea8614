import type { BodyReader } from "../dialects/shared/body.ts";
import type { Store } from "../history/store.ts";
import type { Bus } from "../observe/bus.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecentTurns } from "../observe/recent-turns.ts";
import type { Report } from "../observe/happening.ts";
import type { Clock, NewId } from "../turn/clock.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import type { Keyring } from "./http/admission.ts";
import type { BackgroundRuns } from "./history/background/runs.ts";
import type { Config } from "./config.ts";
import type { Extensions, OpenPlatform } from "./extensions.ts";
import type { StepQueue } from "./http/read-body.ts";
import type { RouteTable } from "./http/routes.ts";
import type { Recorder } from "./run/recorder.ts";
import type { Runtime } from "./runtime.ts";
import type { SealBox } from "./history/seal-box.ts";
import type { TenantLimits } from "./http/limits/tenant-limits.ts";
import type { TurnMemory } from "./http/turn-memory.ts";
import type { RunningTurns } from "./run/running-turns.ts";
import type { Users } from "./http/users.ts";
import type { WorkWatch } from "./http/work-watch.ts";

/** What the host gives the gateway. Tests give their own. */
export type Platform = Extensions & {
  readonly clock: Clock;
  readonly newId: NewId;
  readonly random: () => number;
  readonly report: Report;
  readonly runtime: Runtime;
  /** Records turns, where the host can keep them. */
  readonly recorder?: Recorder | undefined;
  /** The metrics of all processes that share the port; undefined while they cannot be had. */
  readonly sumMetrics?: (() => Promise<string | undefined>) | undefined;
  /** What a child process may be given of, and which proxies there are; never read anywhere else. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
};

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
  readonly memory: TurnMemory;
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
