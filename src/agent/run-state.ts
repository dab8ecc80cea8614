import type { Clock } from "../turn/clock.ts";
import type { Usage } from "../turn/event.ts";
import type { Fields, Params } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
import type { RunLimits } from "./limits.ts";
import { LOADERS } from "./loader.ts";
import type { Disclosure } from "./lower.ts";
import { Session, type SessionEvent } from "./session.ts";
import type { Strategy } from "./strategy.ts";
import type { Tool } from "./tool.ts";

/** Which tools the model may, must or must not call. A tool that is named is called first. */
export type ToolUse = "auto" | "none" | "required" | { readonly tool: string };

/** One run of an agent: what it was given, and what has come of it so far. */
export type RunState = {
  readonly agent: Agent<never, unknown>;
  readonly params: Fields;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly strategy: Strategy;
  /** Tools that only this run has. */
  readonly tools: readonly Tool[];
  readonly use: ToolUse;
  readonly limits: RunLimits;
  readonly modelParams: Params;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The names of tools that were told to be left out. */
  readonly skipped: Set<string>;
  /** The decisions that were told. */
  readonly decided: Set<string>;
  usage: Usage;
  rounds: number;
  hiddenRounds: number;
  restarts: number;
  /** Answers of the wrong form so far. */
  corrections: number;
  /** Whether a tool was called as `use` asks. */
  isUsed: boolean;
};

/** What decides the next question. `requested`: openings that wait for a restart. */
export function disclosureOf(state: RunState, requested: readonly SessionEvent[] = []): Disclosure {
  const { agent, params, strategy, use, limits, hiddenRounds, session, adapter, tools } = state;
  const seen = requested.length === 0 ? session : new Session([...session.events, ...requested]);
  return {
    catalog: agent.catalog,
    scope: { params, session: seen },
    strategy,
    names: LOADERS,
    base: tools,
    direct: new Set(typeof use === "object" ? [use.tool] : []),
    loads: hiddenRounds < limits.hiddenRounds,
    maxDescription: adapter.capabilities.maxDescription,
  };
}
