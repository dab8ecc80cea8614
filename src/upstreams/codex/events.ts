import { fieldsOf, listOf, numberOf, textOf } from "../../dialects/shared/loose.ts";
import type { Emit } from "../../stream/stage.ts";
import type { TurnEvent, Usage } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { faultOf, type CodexFailing } from "./faults.ts";

type Event = TurnEvent<UpstreamName>;

export type SaidCall = {
  readonly id: string;
  readonly name: string;
  readonly input: string;
  /** It has an id, and is of a function without a namespace: Codex asks for no others. */
  readonly plain: boolean;
};

/** What the model said in one answer, for who has to recognise it later. */
export type Said = { text: string; readonly calls: SaidCall[] };

/** `calls`: the model waits for results. `over`: nothing more comes. */
export type State = "open" | "calls" | "over";

/** An item as the model gave it, or as Codex was told it. */
export const RAW_ITEM = "rawResponseItem/completed";

/**
 * An error of a turn. One that will be retried is not followed by the turn's
 * end: streams are never taken up again, so that Codex waits for its network.
 */
export const RETRYING = "error";

/** What Codex says of its account, and all that is passed on of it. */
export const RATE_LIMITS = "account/rateLimits/updated";

/** How much of the fuller allowance is used, in whole percent. */
export function readLimits(params: Fields): number | undefined {
  const limits = fieldsOf(params.rateLimits);
  const used = [limits?.primary, limits?.secondary].flatMap(
    (one) => numberOf(fieldsOf(one)?.usedPercent) ?? [],
  );
  return used.length === 0 ? undefined : Math.round(Math.max(...used));
}

/** The notifications that a reader reads. */
export const heard: ReadonlySet<string> = new Set([
  "turn/started",
  "item/started",
  "item/agentMessage/delta",
  "item/reasoning/summaryTextDelta",
  "item/reasoning/textDelta",
  RAW_ITEM,
  "rawResponse/completed",
  "turn/completed",
]);

/** Notifications that no reader needs; the child is asked to keep them to itself. */
export const unheard: readonly string[] = [
  "thread/started",
  "thread/status/changed",
  "thread/settings/updated",
  "thread/tokenUsage/updated",
  "thread/closed",
  "item/completed",
  "remoteControl/status/changed",
  "configWarning",
];

/** `said`: some of it was streamed. */
type OpenText = { readonly type: "text"; said: boolean };
/** The paragraphs of which some were streamed. */
type OpenReasoning = {
  readonly type: "reasoning";
  readonly summary: Set<number>;
  readonly content: Set<number>;
};
type Open = OpenText | OpenReasoning;

/**
 * Reads the notifications of one answer. Deltas are said as they come; an item
 * is finished, and whatever of it was not streamed is said, by its raw form,
 * which alone has calls in the model's order with their arguments untouched.
 * A parked turn goes on in a new reader that knows its turn already.
 */
export class AnswerReader {
  readonly said: Said = { text: "", calls: [] };
  readonly #failing: CodexFailing;
  readonly #model: string;
  #turn: string | undefined;
  #state: State = "open";
  #started = false;
  #spoken = false;
  /** What all answers of the model have cost so far. */
  #used: Usage | undefined;
  #open: Open | undefined;
  #emit: Emit<Event> = () => {};

  constructor(failing: CodexFailing, model: string, turn?: string) {
    this.#failing = failing;
    this.#model = model;
    this.#turn = turn;
  }

  /** The turn it reads, once that is known. */
  turn(): string | undefined {
    return this.#turn;
  }

  state(): State {
    return this.#state;
  }

  note(method: string, params: Fields, emit: Emit<Event>): void {
    if (this.#state !== "open") return;
    this.#emit = emit;
    switch (method) {
      case "turn/started":
        this.#turn ??= textOf(fieldsOf(params.turn)?.id);
        return;
      case "item/started":
        return this.#readStarted(params);
      case "item/agentMessage/delta":
        return this.#readDelta(params);
      case "item/reasoning/summaryTextDelta":
        return this.#readThought(params, "summary");
      case "item/reasoning/textDelta":
        return this.#readThought(params, "content");
      case RAW_ITEM:
        return this.#readItem(params);
      case "rawResponse/completed":
        return this.#readResponse(params);
      case "turn/completed":
        return this.#readEnd(params);
      default:
    }
  }

  #readStarted(params: Fields): void {
    const item = fieldsOf(params.item);
    if (item?.type === "agentMessage") this.#openText(textOf(item.id), textOf(item.phase));
    if (item?.type === "reasoning") this.#openReasoning(textOf(item.id));
  }

  #readDelta(params: Fields): void {
    const { delta } = params;
    if (typeof delta !== "string") return;
    this.#openText(textOf(params.itemId)).said = true;
    this.#sayText(delta);
  }

  #readThought(params: Fields, of: "content" | "summary"): void {
    const { delta: text } = params;
    if (typeof text !== "string") return;
    const part = numberOf(of === "summary" ? params.summaryIndex : params.contentIndex) ?? 0;
    this.#openReasoning(textOf(params.itemId))[of].add(part);
    this.#spoken = true;
    this.#emit({ type: "reasoning-delta", choice: 0, of, part, text });
  }

  #readItem(params: Fields): void {
    const item = fieldsOf(params.item);
    // The conversation that was injected comes back under another turn.
    if (item === undefined || this.#turn === undefined || params.turnId !== this.#turn) return;
    if (item.type === "message" && item.role === "assistant") this.#finishText(item);
    else if (item.type === "reasoning") this.#finishReasoning(item);
    else if (item.type === "function_call" || item.type === "custom_tool_call") this.#sayCall(item);
  }

  #finishText(item: Fields): void {
    const { said } = this.#openText(textOf(item.id), textOf(item.phase));
    for (const part of said ? [] : (listOf(item.content) ?? [])) {
      const { text } = fieldsOf(part) ?? {};
      if (typeof text === "string") this.#sayText(text);
    }
    this.#emit({ type: "text-end", choice: 0 });
    this.#open = undefined;
  }

  #finishReasoning(item: Fields): void {
    const told = this.#openReasoning(textOf(item.id));
    for (const side of ["summary", "content"] as const)
      for (const [part, one] of (listOf(item[side]) ?? []).entries()) {
        const text = textOf(fieldsOf(one)?.text);
        if (text !== undefined && !told[side].has(part))
          this.#emit({ type: "reasoning-delta", choice: 0, of: side, part, text });
      }
    this.#spoken = true;
    this.#emit({ type: "reasoning-end", choice: 0, encrypted: textOf(item.encrypted_content) });
    this.#open = undefined;
  }

  #sayCall(item: Fields): void {
    const custom = item.type === "custom_tool_call";
    const input = custom ? item.input : item.arguments;
    const call = this.said.calls.length;
    const id = textOf(item.call_id) ?? "";
    const made = {
      id: id || `call_${call}`,
      name: textOf(item.name) ?? "",
      input: typeof input === "string" ? input : "",
      plain: !custom && id !== "" && textOf(item.namespace) === undefined,
    };
    this.said.calls.push(made);
    this.#spoken = true;
    this.#begin();
    this.#open = undefined;
    const name = upstreamName(made.name);
    const kind = custom ? "custom" : "function";
    this.#emit({ type: "call-start", choice: 0, call, id: made.id, kind, name });
    if (made.input !== "") this.#emit({ type: "call-delta", choice: 0, call, text: made.input });
    this.#emit({ type: "call-end", choice: 0, call, complete: true });
  }

  /** One answer of the model is whole. Without calls Codex may still go on by itself. */
  #readResponse(params: Fields): void {
    const usage = readUsage(fieldsOf(params.usage));
    if (usage !== undefined) this.#used = added(this.#used, usage);
    if (this.#spoken) this.#begin();
    if (this.#spoken && this.#used !== undefined) this.#emit({ type: "usage", usage: this.#used });
    if (this.said.calls.length === 0) return;
    this.#state = "calls";
    this.#emit({ type: "turn-end", choice: 0, stop: "calls" });
  }

  #readEnd(params: Fields): void {
    const ended = fieldsOf(params.turn) ?? {};
    this.#state = "over";
    if (ended.status === "completed")
      return this.#emit(
        this.#spoken
          ? { type: "turn-end", choice: 0, stop: "end" }
          : { type: "turn-fail", fault: unsaid(this.#failing) },
      );
    const outcome = faultOf(fieldsOf(ended.error), this.#failing);
    if (outcome instanceof Fault) return this.#emit({ type: "turn-fail", fault: outcome });
    this.#begin();
    this.#emit({ type: "turn-end", choice: 0, stop: outcome });
  }

  #begin(): void {
    if (!this.#started) this.#emit({ type: "turn-start", dialect: "codex", model: this.#model });
    this.#started = true;
  }

  #openText(id: string | undefined, phase?: string): OpenText {
    if (this.#open?.type === "text") return this.#open;
    this.#begin();
    this.#emit({ type: "text-start", choice: 0, id, phase });
    return (this.#open = { type: "text", said: false });
  }

  #openReasoning(id: string | undefined): OpenReasoning {
    if (this.#open?.type === "reasoning") return this.#open;
    this.#begin();
    this.#emit({ type: "reasoning-start", choice: 0, id });
    return (this.#open = { type: "reasoning", summary: new Set(), content: new Set() });
  }

  #sayText(text: string): void {
    this.#spoken ||= text !== "";
    this.said.text += text;
    this.#emit({ type: "text-delta", choice: 0, text });
  }
}

/** Codex drops what it does not know, and a model's refusal is such a thing. */
const unsaid = ({ name }: CodexFailing): Fault =>
  new Fault(
    "upstream.empty",
    `Upstream \`${name}\` passed nothing on: the model said nothing, or refused, which Codex does not tell. Try again, or ask otherwise.`,
  );

function added(before: Usage | undefined, usage: Usage): Usage {
  if (before === undefined) return usage;
  return {
    input: before.input + usage.input,
    output: before.output + usage.output,
    total: before.total + usage.total,
    cached: (before.cached ?? 0) + (usage.cached ?? 0),
    reasoning: (before.reasoning ?? 0) + (usage.reasoning ?? 0),
  };
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
