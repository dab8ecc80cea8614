import { Fault } from "../turn/fault.ts";
import type { Call, Item, Message, ToolChoice } from "../turn/turn.ts";
import { isCut, type StopReason, type Usage } from "../turn/event.ts";
import { type Answer, folding } from "../stream/fold.ts";
import type { Decision } from "../turn/decision.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import { authorCalls, type Batch, runBatch } from "./batch.ts";
import type { AgentEvent, RunResult, VisibilityExpansionRequired } from "./events.ts";
import { addUsage, checkLimits, disclosureOf, type RunState } from "./run-state.ts";
import { badOutput, correction } from "./agent.ts";
import { type AuthorCall, lower, type Lowered, lowerItems } from "./lower.ts";
import { type ItemAdded, type SessionEvent, threadIn, type VisibilitySet } from "./session.ts";
import type { Adapter, ModelRequest } from "./adapter.ts";

/** How often an answer of the wrong form is asked for again. */
const CORRECTIONS = 2;

/** Sections that only a new conversation can show. */
type Expansion = {
  readonly type: "expansion";
  readonly required: VisibilityExpansionRequired;
  /** The same openings, for the log. */
  readonly overrides: readonly VisibilitySet[];
};

/** Asks the model and runs what it calls, until it has answered or a restart is needed. */
async function* innerLoop(state: RunState): AsyncGenerator<AgentEvent, RunResult | Expansion> {
  for (;;) {
    checkLimits(state.limits, state);
    const round = startRound(state);
    yield { type: "round-start", round };
    const lowered = lowerRun(state);
    for (const { name } of lowered.skipped) yield* skip(state, name);
    const said = yield* ask(state, lowered);
    if (said.usage !== undefined) state.usage = addUsage(state.usage, said.usage);
    const calls = record(state, said.items);
    if (calls.length === 0) {
      yield roundEnd(round, said, false);
      const result = await conclude(state, said);
      if (result !== undefined) return result;
      continue;
    }
    checkLimits({ ...state.limits, tokens: undefined }, state);
    const batch = yield* runBatch(state, calls);
    state.isUsed ||= batch.isUsed;
    if (!batch.isUsed) state.hiddenRounds++;
    yield roundEnd(round, said, !batch.isUsed);
    const outcome = afterBatch(state, batch, said);
    if (outcome !== undefined) return outcome;
  }
}

function startRound(state: RunState): number {
  if (state.rounds >= state.limits.rounds)
    throw new Fault(
      "agent.rounds",
      `The model was asked ${state.rounds} times and has not answered. Raise \`limits.rounds\` if it needs more.`,
    );
  return ++state.rounds;
}

async function* skip(state: RunState, toolName: string): AsyncGenerator<AgentEvent, void> {
  if (state.skipped.has(toolName)) return;
  state.skipped.add(toolName);
  yield { type: "tool-skipped", toolName };
}

const roundEnd = (round: number, { stop, usage }: Said, isHidden: boolean): AgentEvent => ({
  type: "round-end",
  round,
  stop,
  usage,
  isHidden,
});

/** Adds what the model said to the session; gives the calls in it, in the author's words. */
function record(state: RunState, items: readonly Item[]): readonly AuthorCall[] {
  const calls: AuthorCall[] = [];
  for (const item of items) {
    const [made] = item.type === "call" ? authorCalls(state, [item]) : [];
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

/** The result of an answer without calls; none where it has to be given again. */
async function conclude(state: RunState, said: Said): Promise<RunResult | undefined> {
  const { items, stop } = said;
  const text = textOf(items);
  if (isCut(stop)) return resultWith(state, text, text, stop);
  const read = await state.agent.form.read(text);
  if (read.ok) return resultWith(state, text, read.value, stop);
  if (state.corrections >= CORRECTIONS) throw badOutput(read.problem);
  state.corrections++;
  const parts = [{ type: "text", text: correction(read.problem) } as const];
  state.session.dispatch({ type: "item-added", item: { type: "message", role: "user", parts } });
  return undefined;
}

function afterBatch(
  state: RunState,
  { requested, pending }: Batch,
  { items }: Said,
): RunResult | Expansion | undefined {
  if (requested.length > 0) return expansionOf(state, requested);
  if (pending.length === 0) return undefined;
  const text = textOf(items);
  return { ...resultWith(state, text, text, "calls"), pending };
}

const expansionOf = ({ adapter }: RunState, overrides: readonly VisibilitySet[]): Expansion => ({
  type: "expansion",
  overrides,
  required: {
    type: "visibility-expansion-required",
    requestedOverrides: Object.fromEntries(
      overrides.map(({ path, visibility }) => [path, visibility]),
    ),
    reason: adapter.supportsDynamicTools
      ? "The strategy `restart` was asked for"
      : "Adapter does not support dynamic tools",
    sectionKeys: overrides.map(({ path }) => path),
  },
});

const resultWith = (
  state: RunState,
  text: string,
  output: unknown,
  stop: RunResult["stop"],
): RunResult => ({
  text,
  output,
  stop,
  pending: none,
  strategy: state.strategy,
  usage: state.usage,
  rounds: state.rounds,
  restarts: state.restarts,
});

const none: readonly Call[] = [];

/** The text of the answer; a refusal is what was said too. */
const textOf = (items: readonly Item[]): string =>
  items
    .flatMap((item) => (item.type === "message" ? item.parts : []))
    .map((part) => (part.type === "text" || part.type === "refusal" ? part.text : ""))
    .join("");

/**
 * Runs the inner loop until it has a result. Where it asks for sections that
 * only a new conversation can show, they are opened and it begins anew: with the
 * same session, budget and deadline, and with all that was said.
 */
export async function* mainLoop(state: RunState): AsyncGenerator<AgentEvent, RunResult> {
  startThread(state);
  for (;;) {
    const outcome = yield* innerLoop(state);
    if (!("type" in outcome)) return outcome;
    state.session.dispatch(...outcome.overrides);
    state.restarts++;
    yield outcome.required;
    startThread(state, true);
  }
}

/** A conversation goes on where it stopped, unless it is told in another way or to another model. */
function startThread(state: RunState, isAnew = false): void {
  const { session, adapter, strategy, clock } = state;
  const at = session.events.findLastIndex((event) => event.type === "thread-started");
  const thread = threadIn(session.events);
  // The prompt shows the sections that were open when it was written. Results of calls show those that the model
  // opens later; only a new prompt can show what the caller closed or opened since.
  const isStale = session.events
    .slice(at + 1)
    .some((event) => event.type === "visibility-set" && !isShownByCalls(event));
  const isSame = thread?.adapter === adapter.name && thread.strategy === strategy && !isStale;
  if (isSame && !isAnew) return;
  const isSpoken = session.items.some((item) => item.type === "message" && item.role === "user");
  session.dispatch({
    type: "thread-started",
    adapter: adapter.name,
    strategy,
    role: thread?.role ?? (isSpoken ? "system" : "user"),
    timestamp: clock.date(),
  });
}

const isShownByCalls = ({ visibility, by }: VisibilitySet): boolean =>
  visibility === "full" && (by === "model" || by === "call");

/** What a model said to one question. */
type Said = {
  /** Whole items only: what was cut off is not to be acted on. */
  readonly items: readonly Item[];
  readonly stop: StopReason;
  readonly usage: Usage | undefined;
};

/** The request of a run as it stands. */
function requestOf(state: RunState, lowered: Lowered): ModelRequest {
  const { session, agent, modelParams, adapter } = state;
  const disclosure = disclosureOf(state);
  const role = threadIn(session.events)?.role ?? "system";
  const prompt: Message = {
    type: "message",
    role,
    parts: [{ type: "text", text: lowered.prompt }],
  };
  const items = lowerItems(disclosure, lowered.declared, ownItems(session.events, adapter));
  return {
    items: lowered.prompt === "" ? items : [prompt, ...items],
    tools: lowered.tools,
    toolChoice: choiceOf(state, lowered),
    format: agent.form.format,
    params: modelParams,
  };
}

/** All that was said, without the reasoning of other models: they sign and seal it for themselves. */
function ownItems(
  events: readonly SessionEvent[],
  { name }: Pick<Adapter, "name">,
): readonly ItemAdded[] {
  const kept: ItemAdded[] = [];
  let adapter: string | undefined;
  for (const event of events) {
    if (event.type === "thread-started") ({ adapter } = event);
    if (event.type !== "item-added") continue;
    if (event.item.type !== "reasoning" || adapter === name) kept.push(event);
  }
  return kept;
}

/** Reading a section is no call that anybody asked for: what is required stays so until there is another. */
function choiceOf({ use, isUsed }: RunState, { tools }: Lowered): ToolChoice | undefined {
  if (tools.length === 0 || use === "auto") return undefined;
  if (use === "none") return { type: "none" };
  if (isUsed) return undefined;
  if (use === "required") return { type: "required" };
  return { type: "tool", tool: { kind: "function", name: clientName(use.tool) } };
}

const lowerRun = (state: RunState): Lowered => lower(disclosureOf(state));

/** Asks the model and tells what it says while it does. Throws the Fault of an answer that failed. */
async function* ask(state: RunState, lowered: Lowered): AsyncGenerator<AgentEvent, Said> {
  const { adapter, signal } = state;
  const folded = folding<ClientName>();
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
    if (state.decided.has(key)) continue;
    state.decided.add(key);
    yield { type: "decision-made", decision };
  }
  return said(folded.answer());
}

function said({ fault, choices: [choice], usage }: Answer<ClientName>): Said {
  if (fault !== undefined) throw fault;
  if (choice === undefined) throw new Fault("upstream.empty", "The model said nothing.");
  const { stop } = choice;
  const items = isCut(stop) ? choice.items.filter(isWhole) : choice.items;
  return { items: items.map(withoutUndefined), stop, usage };
}

const isWhole = (item: Item): boolean =>
  item.type === "opaque" || item.type !== "call" || item.status !== "incomplete";

/** Items are the same before and after they were saved. */
const withoutUndefined = (item: Item): Item =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as Item;
