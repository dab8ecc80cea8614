/** Calls the model and its tools until the model has answered. */

import { AnswerFold } from "../stream/fold.ts";
import type { Decision } from "../turn/decision.ts";
import { addUsage, isCut, type StopReason, type Usage } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import type { Item, Message, ToolChoice } from "../turn/turn.ts";
import type { ModelRequest } from "./adapter.ts";
import { CallBatch, skip } from "./batch.ts";
import type { AgentEvent, RunResult } from "./events.ts";
import { LOADERS } from "./loader.ts";
import { authorCall, type AuthorCall, lower, type Lowered, lowerItems } from "./lower.ts";
import { checkLimits, disclosureOf, type RunState } from "./run-state.ts";
import { type ItemAdded, threadIn, threadStart, type VisibilitySet } from "./session.ts";

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

const textMessage = (role: Message["role"], text: string): Message => ({
  type: "message",
  role,
  parts: [{ type: "text", text }],
});

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
