import { fieldsOf, listOf, numberOf, textOf } from "../../dialects/loose.ts";
import type { Emit } from "../../stream/stage.ts";
import type { TurnEvent, Usage } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { faultOf, type CodexFailing } from "./faults.ts";

type Event = TurnEvent<UpstreamName>;

export type SaidCall = { readonly id: string; readonly name: string; readonly input: string };

/** What the model said in one answer, for who has to recognise it later. */
export type Said = { text: string; readonly calls: SaidCall[] };

/** `calls`: the model waits for results. `over`: nothing more comes. */
export type State = "open" | "calls" | "over";

export type EventReader = {
  note(method: string, params: Fields, emit: Emit<Event>): void;
  state(): State;
  readonly said: Said;
  /** The turn it reads, once that is known. */
  turn(): string | undefined;
};

/** Notifications that no reader needs; the child is asked to keep them to itself. */
export const unheard: readonly string[] = [
  "thread/started",
  "thread/status/changed",
  "thread/tokenUsage/updated",
  "thread/closed",
  "item/completed",
  "account/rateLimits/updated",
  "remoteControl/status/changed",
  "configWarning",
];

type Open =
  | { readonly type: "text"; said: boolean }
  | { readonly type: "reasoning"; readonly summary: Set<number>; readonly content: Set<number> };

/**
 * Reads the notifications of one answer. Deltas are said as they come; an item
 * is finished, and whatever of it was not streamed is said, by its raw form,
 * which alone has calls in the model's order with their arguments untouched.
 * A parked turn goes on in a new reader that knows its turn already.
 */
export function eventReader(failing: CodexFailing, model: string, knownTurn?: string): EventReader {
  const said: Said = { text: "", calls: [] };
  let turn = knownTurn;
  let state: State = "open";
  let started = false;
  let spoken = false;
  let open: Open | undefined;

  const begin = (emit: Emit<Event>): void => {
    if (!started) emit({ type: "turn-start", dialect: "codex", model });
    started = true;
  };
  const openText = (emit: Emit<Event>, id: string | undefined, phase?: string): void => {
    if (open?.type === "text") return;
    begin(emit);
    emit({ type: "text-start", choice: 0, id, phase });
    open = { type: "text", said: false };
  };
  const openReasoning = (emit: Emit<Event>, id: string | undefined) => {
    if (open?.type === "reasoning") return open;
    begin(emit);
    emit({ type: "reasoning-start", choice: 0, id });
    const opened = {
      type: "reasoning" as const,
      summary: new Set<number>(),
      content: new Set<number>(),
    };
    open = opened;
    return opened;
  };
  const sayText = (emit: Emit<Event>, text: string): void => {
    spoken ||= text !== "";
    said.text += text;
    emit({ type: "text-delta", choice: 0, text });
  };

  function readStarted(params: Fields, emit: Emit<Event>): void {
    const item = fieldsOf(params.item);
    if (item?.type === "agentMessage") openText(emit, textOf(item.id), textOf(item.phase));
    if (item?.type === "reasoning") openReasoning(emit, textOf(item.id));
  }

  function readDelta(params: Fields, emit: Emit<Event>): void {
    const { delta } = params;
    if (typeof delta !== "string") return;
    openText(emit, textOf(params.itemId));
    if (open?.type === "text") open.said = true;
    sayText(emit, delta);
  }

  function readThought(params: Fields, of: "content" | "summary", emit: Emit<Event>): void {
    const { delta: text } = params;
    if (typeof text !== "string") return;
    const part = numberOf(of === "summary" ? params.summaryIndex : params.contentIndex) ?? 0;
    openReasoning(emit, textOf(params.itemId))[of].add(part);
    spoken = true;
    emit({ type: "reasoning-delta", choice: 0, of, part, text });
  }

  function readItem(params: Fields, emit: Emit<Event>): void {
    const item = fieldsOf(params.item);
    // The conversation that was injected comes back under another turn.
    if (item === undefined || turn === undefined || params.turnId !== turn) return;
    if (item.type === "message" && item.role === "assistant") finishText(item, emit);
    else if (item.type === "reasoning") finishReasoning(item, emit);
    else if (item.type === "function_call" || item.type === "custom_tool_call") sayCall(item, emit);
  }

  function finishText(item: Fields, emit: Emit<Event>): void {
    openText(emit, textOf(item.id), textOf(item.phase));
    if (open?.type === "text" && !open.said)
      for (const part of listOf(item.content) ?? []) {
        const { text } = fieldsOf(part) ?? {};
        if (typeof text === "string") sayText(emit, text);
      }
    emit({ type: "text-end", choice: 0 });
    open = undefined;
  }

  function finishReasoning(item: Fields, emit: Emit<Event>): void {
    const told = openReasoning(emit, textOf(item.id));
    for (const place of ["summary", "content"] as const)
      for (const [part, one] of (listOf(item[place]) ?? []).entries()) {
        const text = textOf(fieldsOf(one)?.text);
        if (text !== undefined && !told[place].has(part))
          emit({ type: "reasoning-delta", choice: 0, of: place, part, text });
      }
    spoken = true;
    emit({ type: "reasoning-end", choice: 0, encrypted: textOf(item.encrypted_content) });
    open = undefined;
  }

  function sayCall(item: Fields, emit: Emit<Event>): void {
    const custom = item.type === "custom_tool_call";
    const input = custom ? item.input : item.arguments;
    const made = {
      id: textOf(item.call_id) ?? "",
      name: textOf(item.name) ?? "",
      input: typeof input === "string" ? input : "",
    };
    const call = said.calls.length;
    said.calls.push(made);
    spoken = true;
    begin(emit);
    open = undefined;
    const name = upstreamName(made.name);
    const kind = custom ? "custom" : "function";
    emit({ type: "call-start", choice: 0, call, id: made.id, kind, name });
    if (made.input !== "") emit({ type: "call-delta", choice: 0, call, text: made.input });
    emit({ type: "call-end", choice: 0, call, complete: true });
  }

  /** One answer of the model is whole. Without calls Codex may still go on by itself. */
  function readResponse(params: Fields, emit: Emit<Event>): void {
    const usage = readUsage(fieldsOf(params.usage));
    if (spoken) begin(emit);
    if (spoken && usage !== undefined) emit({ type: "usage", usage });
    if (said.calls.length === 0) return;
    state = "calls";
    emit({ type: "turn-end", choice: 0, stop: "calls" });
  }

  function readEnd(params: Fields, emit: Emit<Event>): void {
    const ended = fieldsOf(params.turn) ?? {};
    state = "over";
    if (ended.status === "completed")
      return emit(
        spoken
          ? { type: "turn-end", choice: 0, stop: "end" }
          : { type: "turn-fail", fault: unsaid(failing) },
      );
    const outcome = faultOf(fieldsOf(ended.error), failing);
    if (outcome === "length") {
      begin(emit);
      return emit({ type: "turn-end", choice: 0, stop: "length" });
    }
    emit({ type: "turn-fail", fault: outcome });
  }

  return {
    said,
    turn: () => turn,
    state: () => state,
    note(method, params, emit) {
      if (state !== "open") return;
      switch (method) {
        case "turn/started":
          turn ??= textOf(fieldsOf(params.turn)?.id);
          return;
        case "item/started":
          return readStarted(params, emit);
        case "item/agentMessage/delta":
          return readDelta(params, emit);
        case "item/reasoning/summaryTextDelta":
          return readThought(params, "summary", emit);
        case "item/reasoning/textDelta":
          return readThought(params, "content", emit);
        case "rawResponseItem/completed":
          return readItem(params, emit);
        case "rawResponse/completed":
          return readResponse(params, emit);
        case "turn/completed":
          return readEnd(params, emit);
        default:
      }
    },
  };
}

/** Codex drops what it does not know, and a model's refusal is such a thing. */
const unsaid = ({ name }: CodexFailing): Fault =>
  new Fault(
    "upstream.empty",
    `Upstream \`${name}\` passed nothing on: the model said nothing, or refused, which Codex does not tell.`,
  );

function readUsage(usage: Fields | undefined): Usage | undefined {
  const input = numberOf(usage?.inputTokens);
  const output = numberOf(usage?.outputTokens);
  if (input === undefined || output === undefined) return undefined;
  return {
    input,
    output,
    total: numberOf(usage?.totalTokens) ?? input + output,
    cached: numberOf(usage?.cachedInputTokens),
    reasoning: numberOf(usage?.reasoningOutputTokens),
  };
}
