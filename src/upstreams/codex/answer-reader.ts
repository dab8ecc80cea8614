import { fieldsOf, filledText, listOf, numberOf } from "../../dialects/shared/loose.ts";
import type { Emit } from "../../stream/stage.ts";
import { addUsage, type TurnEvent, type Usage } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { CodexError, stopIn } from "./faults.ts";

type Event = TurnEvent<UpstreamName>;

export type ModelCall = {
  readonly id: string;
  readonly name: string;
  readonly input: string;
  /** Codex can ask for its result: the call has an id, and its function has no namespace. */
  readonly isDynamic: boolean;
};

/** The model's output in one answer, by which later requests are recognised. */
export type ModelOutput = { text: string; readonly calls: ModelCall[] };

/** An item as the model put it out, or as it was injected. */
export const RAW_ITEM = "rawResponseItem/completed";

/** `streamed`: deltas have come for it. */
type OpenText = { readonly type: "text"; streamed: boolean };
/** The indexes of the parts for which deltas have come. */
type OpenReasoning = {
  readonly type: "reasoning";
  readonly summary: Set<number>;
  readonly content: Set<number>;
};

/**
 * Reads the notifications of one answer. Deltas are emitted as they come. The
 * raw item ends an item and has the text that was not streamed; only there are calls
 * in the model's order and with their arguments unchanged. A new reader with the
 * turn's id continues a parked turn.
 */
export class AnswerReader {
  readonly output: ModelOutput = { text: "", calls: [] };
  readonly #model: string;
  /** `calls`: the model waits for results. `over`: the turn has ended. */
  state: "open" | "calls" | "over" = "open";
  /** The id of the turn, once it is known. */
  turn: string | undefined;
  #started = false;
  #hasContent = false;
  /** Tokens of all the model's answers in this turn. */
  #usage: Usage | undefined;
  #open: OpenText | OpenReasoning | undefined;
  #emit: Emit<Event> = () => {};

  constructor(model: string, turn?: string) {
    this.#model = model;
    this.turn = turn;
  }

  /** Throws a CodexError if the turn has failed. */
  read(method: string, params: Fields, emit: Emit<Event>): void {
    if (this.state !== "open") return;
    this.#emit = emit;
    switch (method) {
      case "turn/started":
        this.turn ??= filledText(fieldsOf(params.turn)?.id);
        return;
      case "item/started": {
        const item = fieldsOf(params.item) ?? {};
        if (item.type === "agentMessage") this.#openText(item);
        if (item.type === "reasoning") this.#openReasoning(item);
        return;
      }
      case "item/agentMessage/delta":
        if (typeof params.delta !== "string") return;
        this.#openText({ id: params.itemId }).streamed = true;
        return this.#emitText(params.delta);
      case "item/reasoning/summaryTextDelta":
        return this.#readReasoning(params, "summary");
      case "item/reasoning/textDelta":
        return this.#readReasoning(params, "content");
      case RAW_ITEM:
        return this.#readItem(params);
      case "rawResponse/completed":
        return this.#readResponse(params);
      case "turn/completed":
        return this.#readEnd(params);
      default:
    }
  }

  #readReasoning(params: Fields, of: "content" | "summary"): void {
    const { delta: text, itemId } = params;
    if (typeof text !== "string") return;
    const part = numberOf(of === "summary" ? params.summaryIndex : params.contentIndex) ?? 0;
    this.#openReasoning({ id: itemId })[of].add(part);
    this.#hasContent = true;
    this.#emit({ type: "reasoning-delta", choice: 0, of, part, text });
  }

  #readItem(params: Fields): void {
    const item = fieldsOf(params.item);
    // Injected items come back under another turn.
    if (item === undefined || this.turn === undefined || params.turnId !== this.turn) return;
    if (item.type === "message" && item.role === "assistant") this.#endText(item);
    else if (item.type === "reasoning") this.#endReasoning(item);
    else if (item.type === "function_call" || item.type === "custom_tool_call")
      this.#emitCall(item);
  }

  #endText(item: Fields): void {
    const { streamed } = this.#openText(item);
    for (const part of streamed ? [] : (listOf(item.content) ?? [])) {
      const { text } = fieldsOf(part) ?? {};
      if (typeof text === "string") this.#emitText(text);
    }
    this.#emit({ type: "text-end", choice: 0 });
    this.#open = undefined;
  }

  #endReasoning(item: Fields): void {
    const streamed = this.#openReasoning(item);
    for (const field of ["summary", "content"] as const)
      for (const [part, one] of (listOf(item[field]) ?? []).entries()) {
        const text = filledText(fieldsOf(one)?.text);
        if (text !== undefined && !streamed[field].has(part))
          this.#emit({ type: "reasoning-delta", choice: 0, of: field, part, text });
      }
    this.#hasContent = true;
    this.#emit({ type: "reasoning-end", choice: 0, encrypted: filledText(item.encrypted_content) });
    this.#open = undefined;
  }

  #emitCall(item: Fields): void {
    const { calls } = this.output;
    const isCustom = item.type === "custom_tool_call";
    const value = isCustom ? item.input : item.arguments;
    const input = typeof value === "string" ? value : "";
    const call = calls.length;
    const id = filledText(item.call_id) ?? `call_${call}`;
    const name = filledText(item.name) ?? "";
    const isDynamic = !isCustom && id === item.call_id && filledText(item.namespace) === undefined;
    calls.push({ id, name, input, isDynamic });
    this.#hasContent = true;
    this.#start();
    this.#open = undefined;
    const kind = isCustom ? "custom" : "function";
    this.#emit({ type: "call-start", choice: 0, call, id, kind, name: upstreamName(name) });
    if (input !== "") this.#emit({ type: "call-delta", choice: 0, call, text: input });
    this.#emit({ type: "call-end", choice: 0, call, complete: true });
  }

  /** One answer of the model is complete. Without calls Codex may ask its model again by itself. */
  #readResponse(params: Fields): void {
    const usage = readUsage(fieldsOf(params.usage));
    this.#usage = this.#usage && usage ? addUsage(this.#usage, usage) : (usage ?? this.#usage);
    if (this.#hasContent) this.#start();
    if (this.#hasContent && this.#usage) this.#emit({ type: "usage", usage: this.#usage });
    if (this.output.calls.length === 0) return;
    this.state = "calls";
    this.#emit({ type: "turn-end", choice: 0, stop: "calls" });
  }

  #readEnd(params: Fields): void {
    this.state = "over";
    const turn = fieldsOf(params.turn);
    const error = fieldsOf(turn?.error);
    const isComplete = turn?.status === "completed";
    const stop = isComplete ? "end" : stopIn(error);
    if (stop === undefined) throw new CodexError({ type: "turn-failed", error });
    // Codex drops unknown items, among them refusals of the model.
    if (isComplete && !this.#hasContent) throw new CodexError({ type: "no-content" });
    this.#start();
    this.#emit({ type: "turn-end", choice: 0, stop });
  }

  #start(): void {
    if (!this.#started) this.#emit({ type: "turn-start", dialect: "codex", model: this.#model });
    this.#started = true;
  }

  #openText({ id, phase }: Fields): OpenText {
    if (this.#open?.type === "text") return this.#open;
    this.#start();
    this.#emit({ type: "text-start", choice: 0, id: filledText(id), phase: filledText(phase) });
    return (this.#open = { type: "text", streamed: false });
  }

  #openReasoning({ id }: Fields): OpenReasoning {
    if (this.#open?.type === "reasoning") return this.#open;
    this.#start();
    this.#emit({ type: "reasoning-start", choice: 0, id: filledText(id) });
    return (this.#open = { type: "reasoning", summary: new Set(), content: new Set() });
  }

  #emitText(text: string): void {
    this.#hasContent ||= text !== "";
    this.output.text += text;
    this.#emit({ type: "text-delta", choice: 0, text });
  }
}

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
