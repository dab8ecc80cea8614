import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import { clientName } from "../turn/names.ts";
import type { Call, Fields, Params, Part } from "../turn/turn.ts";
import type { Adapter } from "./adapter.ts";
import { type Agent, checkOverrides, checkParams } from "./agent.ts";
import {
  textResult,
  mainLoop,
  disclosureOf,
  type RunLimits,
  runSignal,
  type RunState,
  type ToolUse,
  withDefaults,
} from "./loop.ts";
import { isClosable, render, stateOf } from "./catalog.ts";
import { type AgentEvent, observe, type Observer, type RunResult } from "./events.ts";
import { currentState, declarationOf } from "./lower.ts";
import { headOverridesIn, Session, threadIn } from "./session.ts";
import { chooseStrategy, type Load, strategies, type Strategy, supported } from "./strategy.ts";
import type { Tool } from "./tool.ts";

export type RunInput = {
  readonly adapter: Adapter;
  /** The conversation to continue; without one a new one starts. */
  readonly session?: Session | undefined;
  /** The user's message. */
  readonly input?: string | readonly Part[] | undefined;
  /** The results of the last run's pending calls, by call id. */
  readonly results?: Readonly<Record<string, unknown>> | undefined;
  /** Strategy that opens closed sections; `auto` unless given. */
  readonly strategy?: Strategy | "auto" | undefined;
  /** Tools of this run, outside all sections. */
  readonly tools?: readonly Tool[] | undefined;
  readonly use?: ToolUse | undefined;
  readonly limits?: RunLimits | undefined;
  /** Parameters of the model, such as the temperature. */
  readonly modelParams?: Params | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly observer?: Observer | undefined;
  readonly clock: Clock;
};

/** Runs an agent and emits its progress. Nothing is thrown: the last event is `run-end` or `run-fail`. */
export async function* streamAgent<P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunInput,
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
    const why = error instanceof Error ? error.message : String(error);
    const isFault = error instanceof Fault;
    const fault = isFault ? error : new Fault("gateway.internal", why, {}, error);
    yield { type: "run-fail", fault };
  } finally {
    // A caller that leaves the stream stops the model and the tools.
    release();
    await events?.return(undefined as never);
  }
}

/** Runs an agent to its end. Throws the Fault of a failed run. */
export async function runToEnd<P, O>(
  agent: Agent<P, O>,
  params: P,
  options: RunInput,
): Promise<RunResult<O>> {
  for await (const event of streamAgent(agent, params, options)) {
    if (event.type === "run-end") return event.result;
    if (event.type === "run-fail") throw event.fault;
  }
  throw new Fault("gateway.internal", "The run ended without a final event.");
}

async function startRun(
  agent: Agent<never, unknown>,
  given: Fields,
  options: RunInput,
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
  const plain: Omit<RunState, "strategy"> = {
    agent,
    params,
    adapter,
    session,
    tools,
    use,
    limits: withDefaults(options.limits),
    modelParams: options.modelParams ?? {},
    clock,
    signal,
    skipped: new Set(),
    decided: new Set(),
    usage: { input: 0, output: 0, total: 0 },
    rounds: 0,
    hiddenRounds: 0,
    restarts: 0,
    corrections: 0,
    isUsed: false,
  };
  const state = { ...plain, strategy: planStrategy(plain, options.strategy ?? "auto") };
  if (typeof use === "object") openForced(state, use.tool);
  return state;
}

const NO_RESULT = "Error: there is no result; the run that made the call ended before it had one.";

/** Adds a result for every call without one, because upstreams refuse unanswered calls. */
function answerOpenCalls(session: Session, results: Readonly<Record<string, unknown>>): void {
  const answered = new Set(
    session.items.flatMap((item) => (item.type === "result" ? [item.call] : [])),
  );
  const isOpen = (item: Session["items"][number]): item is Call =>
    item.type === "call" && !answered.has(item.id);
  for (const call of session.items.filter(isOpen)) {
    const given = Object.hasOwn(results, call.id) ? results[call.id] : NO_RESULT;
    const text = typeof given === "string" ? given : JSON.stringify(given ?? null);
    session.dispatch({ type: "item-added", item: textResult(call, text) });
  }
}

type Planned = Pick<RunState, "agent" | "params" | "adapter" | "session">;

/**
 * The strategy of a run. A conversation keeps its strategy, because a change sends
 * all of it again. `auto` takes `eager` only if no section can be closed.
 */
function planStrategy(run: Planned, asked: Strategy | "auto"): Strategy {
  const { agent, adapter, session } = run;
  if (asked !== "auto") return supported(asked, adapter, adapter.name);
  const thread = threadIn(session.events);
  const kept = strategies.find((one) => one === thread?.strategy) ?? "eager";
  const isKept = kept !== "eager" && thread?.adapter === adapter.name;
  if (isKept && (kept !== "native" || adapter.capabilities.deferred))
    return supported(kept, adapter, adapter.name);
  const { overrides } = session;
  const mayClose = agent.catalog.nodes.some((node) => isClosable(node, overrides));
  return mayClose ? chooseStrategy(adapter, loadOf(run)) : "eager";
}

/** The size of closed sections and of the conversation. */
function loadOf({ agent: { catalog }, params, session }: Planned): Load {
  const scope = { params, session };
  const overrides = headOverridesIn(session.events);
  const closed = render(catalog, stateOf(scope, overrides), "");
  const whole = render(catalog, stateOf(scope, overrides, true), "");
  const known = new Set(closed.tools);
  const tools = whole.tools.filter((tool) => !known.has(tool));
  const definitions = JSON.stringify(tools.map(declarationOf)).length;
  const texts = Math.max(0, whole.text.length - closed.text.length);
  return {
    tools: whole.tools.length,
    closedTools: tools.length,
    bytes: definitions + texts,
    history: JSON.stringify(session.items).length,
  };
}

/** Opens the section of a forced tool, because only a declared tool can be forced. */
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
  const opening = { visibility: "full", by: "choice", timestamp: state.clock.date() } as const;
  for (const { path } of owner.lineage.filter((node) => !now.isOpen(node)))
    state.session.dispatch({ path, ...opening });
}
