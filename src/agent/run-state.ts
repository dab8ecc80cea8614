import type { Clock } from "../turn/clock.ts";
import type { Usage } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { Fields, Params } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
import { LOADERS } from "./loader.ts";
import type { Disclosure } from "./lower.ts";
import { Session, type SessionEvent } from "./session.ts";
import type { Strategy } from "./strategy.ts";
import type { Tool } from "./tool.ts";

/** The tools that the model may or must call. The model calls a named tool first. */
export type ToolUse = "auto" | "none" | "required" | { readonly tool: string };

/** One run of an agent: its input and its progress. */
export type RunState = {
  readonly agent: Agent<never, unknown>;
  readonly params: Fields;
  readonly adapter: Adapter;
  readonly session: Session;
  readonly strategy: Strategy;
  /** Tools of this run, outside all sections. */
  readonly tools: readonly Tool[];
  readonly use: ToolUse;
  readonly limits: ReturnType<typeof withDefaults>;
  readonly modelParams: Params;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The names of omitted tools that were reported. */
  readonly skipped: Set<string>;
  /** The decisions that were reported, as JSON. */
  readonly decided: Set<string>;
  usage: Usage;
  rounds: number;
  hiddenRounds: number;
  restarts: number;
  /** Number of answers of the wrong form. */
  corrections: number;
  /** The model has called a tool, as `use` requires. */
  isUsed: boolean;
};

/** The disclosure of the next request. `requested`: openings that take effect with a restart. */
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

/** Limits of a run. */
export type RunLimits = {
  /** Requests to the model; 50 by default. */
  readonly rounds?: number | undefined;
  /** Answers with nothing but readings until the loader is withdrawn; 8 by default. */
  readonly hiddenRounds?: number | undefined;
  /** Input and output tokens of all requests. */
  readonly tokens?: number | undefined;
  /** Latest end, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** Time of one tool without a `timeoutMs`; two minutes by default. */
  readonly toolMs?: number | undefined;
};

export const withDefaults = (given: RunLimits = {}) => ({
  ...given,
  rounds: given.rounds ?? 50,
  hiddenRounds: given.hiddenRounds ?? 8,
  toolMs: given.toolMs ?? 120_000,
});

const deadlinePassed = (): Fault => new Fault("agent.deadline", "The run passed its deadline.");

/** Aborts with the caller's signal and at the deadline. `release` cancels the work that is left. */
export function runSignal(
  clock: Clock,
  { deadline }: RunLimits,
  given: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly release: () => void } {
  const own = new AbortController();
  const cancel = (): void => {
    const reason: unknown = given?.reason;
    const isFault = reason instanceof Fault;
    own.abort(
      isFault ? reason : new Fault("agent.cancelled", "The run was cancelled.", {}, reason),
    );
  };
  if (given?.aborted === true) cancel();
  given?.addEventListener("abort", cancel, { once: true });
  const callOff =
    deadline === undefined
      ? undefined
      : clock.at(clock.now() + deadline - clock.date(), () => own.abort(deadlinePassed()));
  const release = (): void => {
    given?.removeEventListener("abort", cancel);
    callOff?.();
    cancel();
  };
  return { signal: own.signal, release };
}

/** Throws if the run is cancelled, late or out of tokens. Called before each request and each batch of tools. */
export function checkLimits(
  { usage, clock, signal, limits }: RunState,
  tokens: number | undefined,
): void {
  signal.throwIfAborted();
  if (limits.deadline !== undefined && clock.date() >= limits.deadline) throw deadlinePassed();
  if (tokens !== undefined && usage.total >= tokens)
    throw new Fault(
      "agent.budget",
      `The run has used ${usage.total} tokens of the ${tokens} that \`limits.tokens\` allows.`,
    );
}
