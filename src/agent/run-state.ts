import type { Clock } from "../turn/clock.ts";
import type { Usage } from "../turn/event.ts";
import type { Fields, Params } from "../turn/turn.ts";
import { Fault } from "../turn/fault.ts";
import type { Adapter } from "./adapter.ts";
import type { Agent } from "./agent.ts";
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

/** How much a run may take. */
export type Limits = {
  /** Questions to the model; 50 unless said otherwise. */
  readonly rounds?: number | undefined;
  /** Questions answered with nothing but readings, before the loader is withdrawn; 8. */
  readonly hiddenRounds?: number | undefined;
  /** Tokens, in and out, over all questions. */
  readonly tokens?: number | undefined;
  /** When it must be over, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** How long one tool may run, unless it says so itself; two minutes. */
  readonly toolMs?: number | undefined;
};

/** The limits of a run, with those that nobody gave. */
type RunLimits = Limits & {
  readonly rounds: number;
  readonly hiddenRounds: number;
  readonly toolMs: number;
};

export const withDefaults = (given: Limits = {}): RunLimits => ({
  ...given,
  rounds: given.rounds ?? 50,
  hiddenRounds: given.hiddenRounds ?? 8,
  toolMs: given.toolMs ?? 120_000,
});

export const NO_USAGE: Usage = { input: 0, output: 0, total: 0 };

/** Both counts together; what only one of them tells is kept. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (key: "cached" | "cacheWrite" | "reasoning"): number | undefined =>
    a[key] === undefined && b[key] === undefined ? undefined : (a[key] ?? 0) + (b[key] ?? 0);
  const cached = sum("cached");
  const cacheWrite = sum("cacheWrite");
  const reasoning = sum("reasoning");
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    total: a.total + b.total,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** Aborts when the caller does or the deadline passes. `release` ends it: what still runs is cancelled. */
export function runSignal(
  clock: Clock,
  { deadline }: Limits,
  given: AbortSignal | undefined,
): { readonly signal: AbortSignal; readonly release: () => void } {
  const own = new AbortController();
  const cancel = (): void => own.abort(cancelled(given?.reason));
  if (given?.aborted === true) cancel();
  given?.addEventListener("abort", cancel, { once: true });
  const late = (): void => own.abort(new Fault("agent.deadline", "The run passed its deadline."));
  const callOff =
    deadline === undefined ? undefined : clock.at(clock.now() + deadline - clock.date(), late);
  const release = (): void => {
    given?.removeEventListener("abort", cancel);
    callOff?.();
    cancel();
  };
  return { signal: own.signal, release };
}

const cancelled = (reason: unknown): Fault =>
  reason instanceof Fault
    ? reason
    : new Fault("agent.cancelled", "The run was cancelled.", {}, reason);

/** Throws where a run has used up what it may. Looked at before each question and each batch of tools. */
export function checkLimits(
  { tokens, deadline }: Limits,
  { usage, clock, signal }: { usage: Usage; clock: Clock; signal: AbortSignal },
): void {
  signal.throwIfAborted();
  if (deadline !== undefined && clock.date() >= deadline)
    throw new Fault("agent.deadline", "The run passed its deadline.");
  if (tokens !== undefined && usage.total >= tokens)
    throw new Fault(
      "agent.budget",
      `The run has used ${usage.total} tokens of the ${tokens} that \`limits.tokens\` allows.`,
    );
}
