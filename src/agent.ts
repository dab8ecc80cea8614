import { upstreamAdapter } from "./agent/adapters/upstream.ts";
import type { Adapter } from "./agent/adapter.ts";
import type { Agent } from "./agent/agent.ts";
import type { AgentEvent, RunResult } from "./agent/events.ts";
import { runToEnd, type RunInput, streamAgent } from "./agent/run.ts";
import { type ConfigInput, parseConfig } from "./gateway/config.ts";
import { openPlatform, type Platform } from "./gateway/platform.ts";
import { selectChain } from "./gateway/run/select.ts";
import { openUpstreams } from "./gateway/upstreams.ts";
import { systemClock } from "./host/platform/clock.ts";
import { nodePlatform } from "./host/platform/node.ts";

export type { Adapter } from "./agent/adapter.ts";
export { agent, type Agent } from "./agent/agent.ts";
export { readSection, setVisibilityOverride, type ReadSectionOutcome } from "./agent/agent.ts";
export type {
  AgentEvent,
  RunResult,
  SectionRead,
  VisibilityExpansionRequired,
} from "./agent/events.ts";
export { counters, type LogLine, type Observer } from "./agent/events.ts";
export type { ReadSectionResult } from "./agent/catalog.ts";
export { section, type Scope, type Section } from "./agent/catalog.ts";
export {
  Session,
  type SessionEvent,
  type SetVisibilityOverride,
  type ToolsInjected,
  type Visibility,
} from "./agent/session.ts";
export type { StandardSchema } from "./agent/tool.ts";
export type { AdapterCapabilities as Capabilities, Strategy } from "./agent/strategy.ts";
export { tool, type Tool, type ToolContext } from "./agent/tool.ts";
export { Fault, type FaultCode } from "./turn/fault.ts";

/** Options of a run; the clock is the machine's by default. */
export type RunOptions = Omit<RunInput, "clock"> & Partial<Pick<RunInput, "clock">>;

/** Runs an agent to its end. Throws the Fault of a run that failed. */
export const run = <P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunOptions,
): Promise<RunResult<O>> => runToEnd(agent, params, { clock: systemClock, ...options });

/** Runs an agent and emits its progress; the last event is `run-end` or `run-fail`. Nothing is thrown. */
export const stream = <P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunOptions,
): AsyncGenerator<AgentEvent<O>, void> =>
  streamAgent(agent, params, { clock: systemClock, ...options });

/** The upstreams of a configuration, for agents to run on. */
export type Connection = AsyncDisposable & {
  /** The model of a name: `upstream/model`, or one of the configuration's own; of several places the first. */
  adapter(model: string): Adapter;
  /** Waits for running turns, then closes connections and processes. */
  close(): Promise<void>;
};

/** Opens the upstreams of a configuration as a gateway has it. Throws a Fault that lists every problem of it. */
export function connect(config: ConfigInput, given: Partial<Platform> = {}): Connection {
  const platform = { ...nodePlatform(), ...given };
  const parsed = parseConfig(config, given);
  const upstreams = openUpstreams(parsed, openPlatform(platform));
  const close = async (): Promise<void> => {
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
  };
  return {
    adapter(name) {
      const [{ upstream, model }] = selectChain(name, parsed, upstreams);
      return upstreamAdapter(upstream, model, platform);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
