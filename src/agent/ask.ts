import { folding, type Answer } from "../stream/fold.ts";
import type { Decision } from "../turn/decision.ts";
import { isCut, type StopReason, type Usage } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import { clientName, type ClientName } from "../turn/names.ts";
import type { ToolChoice, Item, Message } from "../turn/turn.ts";
import type { Adapter, ModelRequest } from "./adapter.ts";
import type { AgentEvent } from "./events.ts";
import { lower, lowerItems, type Lowered } from "./lower.ts";
import { disclosureOf, type RunState } from "./run-state.ts";
import { threadIn, type ItemAdded, type SessionEvent } from "./session.ts";

/** What a model said to one question. */
export type Said = {
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

export const lowerRun = (state: RunState): Lowered => lower(disclosureOf(state));

/** Asks the model and tells what it says while it does. Throws the Fault of an answer that failed. */
export async function* ask(state: RunState, lowered: Lowered): AsyncGenerator<AgentEvent, Said> {
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
