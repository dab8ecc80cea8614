/** Calls the model and its tools until the model has answered. */

import { AnswerFold } from "../stream/fold.ts";
import { append } from "../turn/append.ts";
import type { Clock } from "../turn/clock.ts";
import type { Decision } from "../turn/decision.ts";
import { addUsage, isCut, type StopReason, type Usage } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { textMessage } from "../turn/item.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import type { Call, Fields, Item, Params, Result, ToolChoice } from "../turn/turn.ts";
import type { Adapter, ModelRequest } from "./adapter.ts";
import { type Agent, type Checked, validated } from "./agent.ts";
import { type OpenedReading, type Reading, readingText } from "./catalog.ts";
import type { AgentEvent, RunResult } from "./events.ts";
import {
  LOADERS,
  authorCall,
  type AuthorCall,
  lower,
  type Lowered,
  lowerItems,
  type Disclosure,
  argumentsOf,
  resolveCall,
  type Resolved,
  violationOf,
  violationText,
} from "./lower.ts";
import {
  type ItemAdded,
  threadIn,
  threadStart,
  type VisibilitySet,
  Session,
  type SessionEvent,
} from "./session.ts";
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
function checkLimits({ usage, clock, signal, limits }: RunState, tokens: number | undefined): void {
  signal.throwIfAborted();
  if (limits.deadline !== undefined && clock.date() >= limits.deadline) throw deadlinePassed();
  if (tokens !== undefined && usage.total >= tokens)
    throw new Fault(
      "agent.budget",
      `The run has used ${usage.total} tokens of the ${tokens} that \`limits.tokens\` allows.`,
    );
}

/** Requests for another answer after one of the wrong form. */
const MAX_CORRECTIONS = 2;

/**
 * Runs the inner loop until it has a result. If the inner loop returns openings
 * that need a restart, they are applied and the conversation restarts with the same
 * session, budget and deadline, and with all items.
 */
export async function* mainLoop(state: RunState): AsyncGenerator<AgentEvent, RunResult> {
  startThread(state);
  for (;;) {
    const outcome = yield* innerLoop(state);
    if ("text" in outcome) return outcome;
    state.session.dispatch(...outcome);
    state.restarts++;
    yield {
      type: "visibility-expansion-required",
      requestedOverrides: Object.fromEntries(
        outcome.map(({ path, visibility }) => [path, visibility]),
      ),
      reason: state.adapter.supportsDynamicTools
        ? "The strategy `restart` was asked for"
        : "Adapter does not support dynamic tools",
      sectionKeys: outcome.map(({ path }) => path),
    };
    startThread(state, true);
  }
}

/** Continues the conversation of the session unless its model, strategy or prompt has changed. */
function startThread(state: RunState, isAnew = false): void {
  const { session, adapter, strategy, clock } = state;
  const { events, items } = session;
  const thread = threadIn(events);
  // Results of calls show the sections that the model opens; only a new prompt shows other changes.
  const isStale = events
    .slice(threadStart(events) + 1)
    .some((event) => event.type === "visibility-set" && !isShownByCalls(event));
  const isSame = thread?.adapter === adapter.name && thread.strategy === strategy && !isStale;
  if (isSame && !isAnew) return;
  const hasUser = items.some((item) => item.type === "message" && item.role === "user");
  session.dispatch({
    type: "thread-started",
    adapter: adapter.name,
    strategy,
    role: thread?.role ?? (hasUser ? "system" : "user"),
    timestamp: clock.date(),
  });
}

const isShownByCalls = ({ visibility, by }: VisibilitySet): boolean =>
  visibility === "full" && (by === "model" || by === "call");

/** Returns the result of the run, or the openings that need a restart. */
async function* innerLoop(
  state: RunState,
): AsyncGenerator<AgentEvent, RunResult | readonly VisibilitySet[]> {
  const { limits, agent, session } = state;
  for (;;) {
    checkLimits(state, limits.tokens);
    if (state.rounds >= limits.rounds)
      throw new Fault(
        "agent.rounds",
        `The model has not answered after ${state.rounds} requests. Raise \`limits.rounds\` if it needs more.`,
      );
    const round = ++state.rounds;
    yield { type: "round-start", round };
    const lowered = lower(disclosureOf(state));
    for (const { name } of lowered.skipped) yield* skip(state, name);
    const { items, stop, usage } = yield* callModel(state, lowered);
    if (usage !== undefined) state.usage = addUsage(state.usage, usage);
    const calls = record(state, items);
    const text = textOf(items);
    if (calls.length > 0) {
      checkLimits(state, undefined);
      const batch = new CallBatch(state);
      yield* batch.run(calls);
      const { requested, pending, isUsed } = batch;
      state.isUsed ||= isUsed;
      if (!isUsed) state.hiddenRounds++;
      yield { type: "round-end", round, stop, usage, isHidden: !isUsed };
      if (requested.length > 0) return requested;
      if (pending.length > 0) return { ...resultOf(state, text, "calls"), pending };
      continue;
    }
    yield { type: "round-end", round, stop, usage, isHidden: false };
    if (isCut(stop)) return resultOf(state, text, stop);
    const read = await agent.form.read(text);
    if (read.ok) return { ...resultOf(state, text, stop), output: read.value };
    if (state.corrections++ >= MAX_CORRECTIONS)
      throw new Fault(
        "agent.output",
        `The model's answer is not what \`output\` asks for. ${read.problem}`,
      );
    const correction = `Your answer does not have the form that was asked for. ${read.problem}\nAnswer again, in that form and with nothing else.`;
    session.dispatch({ type: "item-added", item: textMessage("user", correction) });
  }
}

/** Adds the model's items to the session. Returns the calls, by the names of their tools. */
function record(state: RunState, items: readonly Item[]): readonly AuthorCall[] {
  const calls: AuthorCall[] = [];
  for (const item of items) {
    const made = item.type === "call" ? authorCall(item, { names: LOADERS }) : undefined;
    if (made !== undefined) calls.push(made);
    const wrapped = made?.wrapped;
    state.session.dispatch({
      type: "item-added",
      item: made?.call ?? item,
      ...(wrapped !== undefined && { wrapped }),
    });
  }
  return calls;
}

const resultOf = (state: RunState, text: string, stop: StopReason): RunResult => ({
  text,
  output: text,
  stop,
  pending: [],
  strategy: state.strategy,
  usage: state.usage,
  rounds: state.rounds,
  restarts: state.restarts,
});

/** The text of an answer. A refusal counts as text. */
const textOf = (items: readonly Item[]): string =>
  items
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" || part.type === "refusal" ? part.text : ""))
    .join("");

/** Calls the model and emits its answer as it arrives. Throws the Fault of a failed answer. */
async function* callModel(
  state: RunState,
  lowered: Lowered,
): AsyncGenerator<
  AgentEvent,
  { items: readonly Item[]; stop: StopReason; usage?: Usage | undefined }
> {
  const { adapter, signal, decided } = state;
  const folded = new AnswerFold<ClientName>();
  const decisions: Decision[] = [];
  const report = (decision: Decision): void => void decisions.push(decision);
  for await (const event of adapter.call(requestOf(state, lowered), { signal, report })) {
    folded.each(event);
    const { type } = event;
    if (type === "text-delta" || type === "refusal-delta" || type === "reasoning-delta")
      yield { type, text: event.text };
  }
  for (const decision of decisions) {
    const key = JSON.stringify(decision);
    if (decided.has(key)) continue;
    decided.add(key);
    yield { type: "decision-made", decision };
  }
  const { fault, choices, usage } = folded.answer();
  if (fault !== undefined) throw fault;
  const [choice] = choices;
  if (choice === undefined) throw new Fault("upstream.empty", "The model returned no answer.");
  const { stop } = choice;
  // Calls that were cut off must not run.
  const isWhole = (item: Item): boolean => item.type !== "call" || item.status !== "incomplete";
  const items = isCut(stop) ? choice.items.filter(isWhole) : choice.items;
  return { items: items.map(withoutUndefined), stop, usage };
}

/** Makes an item equal to itself after it was saved as JSON. */
const withoutUndefined = (item: Item): Item =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as Item;

function requestOf(state: RunState, lowered: Lowered): ModelRequest {
  const { session, agent, modelParams } = state;
  const role = threadIn(session.events)?.role ?? "system";
  const items = lowerItems(disclosureOf(state), lowered.declared, ownItems(state));
  return {
    items: lowered.prompt === "" ? items : [textMessage(role, lowered.prompt), ...items],
    tools: lowered.tools,
    toolChoice: choiceOf(state, lowered),
    format: agent.form.format,
    params: modelParams,
  };
}

/** The items of the session without the reasoning of other models, which is sealed for those. */
function ownItems({ session, adapter: { name } }: RunState): readonly ItemAdded[] {
  const kept: ItemAdded[] = [];
  let adapter: string | undefined;
  for (const event of session.events) {
    if (event.type === "thread-started") ({ adapter } = event);
    if (event.type !== "item-added") continue;
    if (event.item.type !== "reasoning" || adapter === name) kept.push(event);
  }
  return kept;
}

/** A reading is not the call that `use` requires, so the choice stays until another call. */
function choiceOf({ use, isUsed }: RunState, { tools }: Lowered): ToolChoice | undefined {
  if (tools.length === 0 || use === "auto") return undefined;
  if (use === "none") return { type: "none" };
  if (isUsed) return undefined;
  if (use === "required") return { type: "required" };
  return { type: "tool", tool: { kind: "function", name: clientName(use.tool) } };
}

type Job = { readonly call: Call; readonly tool: Tool; readonly value: unknown };
type Done = { readonly job: Job; readonly success: boolean; readonly output: string };
type Events<Value = void> = AsyncGenerator<AgentEvent, Value>;

const UNFINISHED = "Error: the run ended before the tool had finished.";

/** The calls of one answer. */
class CallBatch {
  /** Openings that need a restart. */
  readonly requested: VisibilitySet[] = [];
  /** Calls of tools that the caller runs. */
  readonly pending: Call[] = [];
  readonly #jobs: Job[] = [];
  readonly #results = new Map<string, Omit<ItemAdded, "type">>();
  readonly #state: RunState;

  constructor(state: RunState) {
    this.#state = state;
  }

  /** The model called a tool. Readings and invalid calls do not count. */
  get isUsed(): boolean {
    return this.#jobs.length + this.pending.length > 0;
  }

  /**
   * Sections open one after the other, because each opening changes the next one;
   * then tools run in parallel. Results are added to the session in the order of
   * the calls, also if the run ends before all tools have finished.
   */
  async *run(calls: readonly AuthorCall[]): Events {
    for (const call of calls) yield* this.#prepare(call);
    try {
      yield* this.#runTools();
    } finally {
      for (const { call } of calls) {
        if (this.pending.includes(call)) continue;
        const result = this.#results.get(call.id) ?? { item: textResult(call, UNFINISHED) };
        this.#state.session.dispatch({ type: "item-added", ...result });
      }
    }
  }

  async *#prepare({ call, problem }: AuthorCall): Events {
    const resolved = resolveCall(call, disclosureOf(this.#state, this.requested));
    if (problem !== undefined) this.#answer(call, problem);
    else if (resolved.type === "unknown") this.#answer(call, resolved.message);
    else if (resolved.type === "reading") yield* this.#read(call, resolved.reading);
    else yield* this.#admit(call, resolved);
  }

  #answer(call: Call, text: string, loaded: readonly string[] = []): void {
    const item = textResult(call, text);
    this.#results.set(call.id, loaded.length > 0 ? { item, loaded } : { item });
  }

  async *#read(call: Call, reading: Reading): Events {
    if (reading.type === "unknown") {
      yield { type: "section-unknown", message: reading.message };
      this.#answer(call, reading.message);
      return;
    }
    const { path, result, tools } = reading;
    yield { type: "section-read", callId: call.id, path, result };
    const isLater = reading.type === "opened" && (yield* this.#open(reading));
    const text = isLater
      ? `Sections expanded: ${reading.opens.join(", ")}. The prompt is rendered again with their full content.`
      : readingText(reading);
    const loaded = tools.map(({ name }) => name);
    this.#answer(call, text, loaded);
  }

  /** Queues a call of a tool if its arguments are valid. */
  async *#admit(call: Call, { tool, reading }: Extract<Resolved, { type: "tool" }>): Events {
    const checked = await checkArguments(tool, call.input);
    if (!checked.ok) {
      this.#answer(call, violationText(tool, checked.problem));
      return;
    }
    if (reading !== undefined) yield* this.#open(reading, call.id);
    if (tool.run === undefined) this.pending.push(call);
    else this.#jobs.push({ call, tool, value: checked.value });
  }

  /** Opens sections. Returns true if the openings need a restart. `callId`: the call of a closed tool. */
  async *#open({ opens, path: read, result }: OpenedReading, callId?: string): Events<boolean> {
    const { session, clock, strategy } = this.#state;
    const by = callId === undefined ? "model" : "call";
    const needsRestart = strategy === "restart" && result.expandedTools.length > 0;
    const common = {
      type: "visibility-set",
      visibility: "full",
      by,
      timestamp: clock.date(),
    } as const;
    const sets = opens.map((path): VisibilitySet => ({ ...common, path }));
    for (const path of opens) yield { type: "section-opened", path, by };
    if (needsRestart) append(this.requested, sets);
    else session.dispatch(...sets);
    if (!needsRestart) yield* this.#inject(read, result.expandedTools, callId);
    return needsRestart;
  }

  /** Records the tools that an opening adds to the conversation. */
  async *#inject(sectionKey: string, tools: readonly Tool[], callId?: string): Events {
    const { session, clock } = this.#state;
    const taken = new Set(this.#state.tools.map(({ name }) => name));
    const names = tools.map(({ name }) => name);
    for (const name of names) if (taken.has(name)) yield* skip(this.#state, name);
    const toolNames = names.filter((name) => !taken.has(name));
    if (toolNames.length === 0) return;
    const injected = {
      type: "tools-injected",
      sectionKey,
      toolNames,
      timestamp: clock.date(),
      ...(callId !== undefined && { callId }),
    } as const;
    session.dispatch(injected);
    yield injected;
  }

  /** Runs the queued tools in parallel and reports each when it has finished. */
  async *#runTools(): Events {
    const running = new Map<Job, Promise<Done>>();
    for (const job of this.#jobs) {
      const { name, input, id: callId } = job.call;
      yield { type: "tool-start", callId, name, input };
      const done = runTool(this.#state, job);
      // If the run ends, the rejections of the other tools have no reader.
      done.catch(() => {});
      running.set(job, done);
    }
    while (running.size > 0) {
      const { job, success, output } = await Promise.race(running.values());
      running.delete(job);
      const { id: callId, name } = job.call;
      this.#answer(job.call, output);
      yield { type: "tool-end", callId, name, success, output };
    }
  }
}

/** Reports a tool that was omitted because another tool has its name, once in a run. */
async function* skip({ skipped }: RunState, toolName: string): Events {
  if (skipped.has(toolName)) return;
  skipped.add(toolName);
  yield { type: "tool-skipped", toolName };
}

export const textResult = ({ id, name }: Pick<Call, "id" | "name">, text: string): Result => ({
  type: "result",
  call: id,
  kind: "function",
  name,
  parts: [{ type: "text", text }],
});

/** Checks and converts the arguments of a tool. */
export async function checkArguments(tool: Tool, input: string): Promise<Checked> {
  const value = argumentsOf(input);
  if (value === undefined) return { ok: false, problem: "The arguments are not JSON." };
  if (tool.validate !== undefined) return validated(tool.validate, value);
  const problem = violationOf(tool, input);
  return problem === undefined ? { ok: true, value } : { ok: false, problem };
}

/** Runs a tool. The model receives its errors; only the end of the run is thrown. */
async function runTool(state: RunState, job: Job): Promise<Done> {
  const { session, signal } = state;
  const run = job.tool.run as ((input: unknown, context: unknown) => unknown) | undefined;
  try {
    const value = await withinTime(state, job.tool, (own) =>
      run?.(job.value, { callId: job.call.id, session, signal: own }),
    );
    const output = typeof value === "string" ? value : (JSON.stringify(value) ?? "Done.");
    return { job, success: true, output };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    return { job, success: false, output: `Error: ${why}` };
  }
}

/** Waits for a tool until its limit or the end of the run. Both abort the tool's signal. */
async function withinTime(
  { signal, clock, limits }: RunState,
  tool: Tool,
  work: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  signal.throwIfAborted();
  const timeoutMs = tool.timeoutMs ?? limits.toolMs;
  const timeout = new AbortController();
  const either = AbortSignal.any([signal, timeout.signal]);
  const { promise, reject } = Promise.withResolvers<never>();
  either.addEventListener("abort", () => reject(either.reason as Error), { once: true });
  const cancelTimer = clock.at(clock.now() + timeoutMs, () =>
    timeout.abort(new Error(`the tool took longer than ${timeoutMs} ms`)),
  );
  try {
    return await Promise.race([promise, Promise.resolve(either).then(work)]);
  } finally {
    cancelTimer();
  }
}
