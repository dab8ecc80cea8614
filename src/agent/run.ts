import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import { clientName } from "../turn/names.ts";
import type { Call, Fields, Params, Part } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import { type Agent, checkOverrides, checkParams } from "./agent.ts";
import { resultOf } from "./batch.ts";
import { type AgentEvent, observe, type Observer, type RunResult } from "./events.ts";
import { lineage } from "./catalog.ts";
import {
  disclosureOf,
  type Limits,
  NO_USAGE,
  runSignal,
  type RunState,
  type ToolUse,
  withDefaults,
} from "./run-state.ts";
import { currentState } from "./lower.ts";
import { mainLoop } from "./loop.ts";
import { planStrategy, type Strategy } from "./strategy.ts";
import { Session } from "./session.ts";
import type { Tool } from "./tool.ts";

export type RunOptions = {
  readonly adapter: Adapter;
  /** The conversation to go on with; without one a new one begins. */
  readonly session?: Session | undefined;
  /** What the user says. */
  readonly input?: string | readonly Part[] | undefined;
  /** The results of calls that the last run left to the caller, by call id. */
  readonly results?: Readonly<Record<string, unknown>> | undefined;
  /** Strategy that opens closed sections; `auto` unless given. */
  readonly strategy?: Strategy | "auto" | undefined;
  /** Tools that only this run has, outside all sections. */
  readonly tools?: readonly Tool[] | undefined;
  readonly use?: ToolUse | undefined;
  readonly limits?: Limits | undefined;
  /** Temperature and the like, as a turn has them. */
  readonly modelParams?: Params | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly observer?: Observer | undefined;
  readonly clock: Clock;
};

/** Runs an agent and tells what happens; the last event is `run-end` or `run-fail`. Nothing is thrown. */
export async function* streamAgent<P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunOptions,
): AsyncGenerator<AgentEvent<O>, void> {
  const { clock, observer = {} } = options;
  const { signal, release } = runSignal(clock, options.limits ?? {}, options.signal);
  let events: AsyncGenerator<AgentEvent, RunResult> | undefined;
  try {
    const state = await startRun(agent as Agent<never, unknown>, params as Fields, options, signal);
    const { adapter, strategy } = state;
    yield { type: "run-start", agent: agent.name, adapter: adapter.name, strategy };
    events = mainLoop(state);
    let step = await events.next();
    for (; step.done !== true; step = await events.next()) {
      observe(observer, step.value);
      yield step.value as AgentEvent<O>;
    }
    yield { type: "run-end", result: step.value as RunResult<O> };
  } catch (error) {
    yield { type: "run-fail", fault: faultOf(error) };
  } finally {
    // Whoever stops listening stops the model and the tools.
    release();
    await events?.return(undefined as never);
  }
}

/** Runs an agent to its end. Throws the Fault of a run that failed. */
export async function runAgent<P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunOptions,
): Promise<RunResult<O>> {
  for await (const event of streamAgent(agent, params, options)) {
    if (event.type === "run-end") return event.result;
    if (event.type === "run-fail") throw event.fault;
  }
  throw new Fault("gateway.internal", "The run ended without an end.");
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault
    ? error
    : new Fault(
        "gateway.internal",
        error instanceof Error ? error.message : String(error),
        {},
        error,
      );

async function startRun(
  agent: Agent<never, unknown>,
  given: Fields,
  options: RunOptions,
  signal: AbortSignal,
): Promise<RunState> {
  const { adapter, session = new Session(), clock, input, tools = [], use = "auto" } = options;
  const params = await checkParams(agent, given);
  checkOverrides(agent, session);
  answerOpenCalls(session, options.results ?? {});
  if (input !== undefined) {
    const parts = typeof input === "string" ? [{ type: "text", text: input } as const] : input;
    session.dispatch({ type: "item-added", item: { type: "message", role: "user", parts } });
  }
  const asked = options.strategy ?? "auto";
  const strategy = planStrategy({ agent, params, adapter, session, asked });
  const state: RunState = {
    agent,
    params,
    adapter,
    session,
    strategy,
    tools,
    use,
    limits: withDefaults(options.limits),
    modelParams: options.modelParams ?? {},
    clock,
    signal,
    skipped: new Set(),
    decided: new Set(),
    usage: NO_USAGE,
    rounds: 0,
    hiddenRounds: 0,
    restarts: 0,
    corrections: 0,
    isUsed: false,
  };
  if (typeof use === "object") openForced(state, use.tool);
  return state;
}

const NO_RESULT = "Error: there is no result; the run that made the call ended before it had one.";

/** Every call is answered before the model is asked again: upstreams refuse conversations in which one is not. */
function answerOpenCalls(session: Session, results: Readonly<Record<string, unknown>>): void {
  const answered = new Set(
    session.items.flatMap((item) => (item.type === "result" ? [item.call] : [])),
  );
  const isOpen = (item: Session["items"][number]): item is Call =>
    item.type === "call" && !answered.has(item.id);
  for (const call of session.items.filter(isOpen)) {
    const given = Object.hasOwn(results, call.id) ? results[call.id] : NO_RESULT;
    const text = typeof given === "string" ? given : JSON.stringify(given ?? null);
    session.dispatch({ type: "item-added", item: resultOf(call, text) });
  }
}

/** A tool that must be called has to be declared, so its section is opened beforehand. */
function openForced(state: RunState, name: string): void {
  const disclosure = disclosureOf(state);
  const { catalog, base } = disclosure;
  if (base.some((tool) => tool.name === name)) return;
  const owner = catalog.owners.get(name);
  const now = currentState(disclosure);
  if (owner === undefined || !now.exists(owner))
    throw new Fault(
      "tools.choice_unmet",
      `\`use\` names the tool \`${clientName(name)}\`, and there is none.`,
    );
  const timestamp = state.clock.date();
  for (const { path } of lineage(owner).filter((node) => !now.isOpen(node)))
    state.session.dispatch({
      type: "visibility-set",
      path,
      visibility: "full",
      by: "choice",
      timestamp,
    });
}
