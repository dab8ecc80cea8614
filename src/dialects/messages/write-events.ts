/** Writes answers for Messages clients, streamed and whole, as the strictest readers require. */

import { exactJsonOf } from "../../json/exact.ts";
import { isFields } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { Answer, AnswerChoice } from "../../stream/fold.ts";
import { sseFrame } from "../../stream/sse.ts";
import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type { EventOf, StopReason, TurnEvent, TurnStart, Usage } from "../../turn/event.ts";
import type { AnyName, ClientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Message, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { asNextParagraph, literalsOf, type Pieces } from "../shared/frame-runs.ts";
import { ownExtra } from "../shared/content.ts";
import { fieldsOf } from "../shared/loose.ts";
import { isReportable, lossReporter, type OnLoss } from "../shared/losses.ts";
import { isOwnCitation, writeCitation, writeStop, writeUsage } from "./answer-fields.ts";
import { errorBody } from "./error-body.ts";
import { isRedacted, UNSIGNED } from "./extra.ts";

type Event<Type extends TurnEvent<ClientName>["type"]> = EventOf<Type, ClientName>;

/** Text of a delta frame before the index of its block, and from there to the text of the delta. */
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';
const TEXT = ',"delta":{"type":"text_delta","text":"';
const INPUT = ',"delta":{"type":"input_json_delta","partial_json":"';
const THINKING = ',"delta":{"type":"thinking_delta","thinking":"';
const END = '"}}\n\n';

/** A content block. Its index is known once it is the first of the blocks that are not closed. */
type Block = {
  readonly start: Fields;
  index: number | undefined;
  /** Delta frames from the index on, until the block has one. */
  readonly waiting: string[];
  /** A block that was cut off is never closed, so that clients do not use it. */
  state: "open" | "closed" | "cut";
  hasDeltas: boolean;
  /** The extent of the arguments of a function call. */
  readonly extent?: JsonScanner | undefined;
};

export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new MessagesWriter(turn, context);

class MessagesWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #lose: OnLoss;
  #out: Emit<string> = discard;
  /** Blocks that are not closed. The API has one open block at a time: the others wait. */
  readonly #blocks: Block[] = [];
  #nextIndex = 0;
  readonly #calls = new Map<number, Block>();
  readonly #items = new Map<number, Block>();
  #start: TurnStart | undefined;
  #text: Block | undefined;
  #thought: Block | undefined;
  /** Reasoning without text, to be written before the next block: an answer may not end with it. */
  readonly #redacted: string[] = [];
  /** The paragraph of reasoning that was written last. */
  #paragraph: string | undefined;
  #usage: Usage | undefined;
  #isRefused = false;
  /** True if the arguments of a call broke off. */
  #hasBroken = false;
  #isOver = false;

  constructor(turn: Turn, context: WriteContext) {
    this.#turn = turn;
    this.#context = context;
    this.#lose = lossReporter("messages", context.report);
  }

  each(event: TurnEvent<ClientName>, emit: Emit<string>): void {
    // An answer has room for one choice.
    if ("choice" in event && event.choice !== 0) return;
    this.#out = emit;
    if (event.type === "turn-start") return this.#begin(event);
    if (event.type === "usage") return void (this.#usage = event.usage);
    if (this.#start !== undefined && event.type !== "frame") this.#writeStart(this.#start);
    switch (event.type) {
      case "text-delta":
        if (event.logprobs !== undefined) this.#lose("log-probabilities", 0);
        if (event.text !== "") this.#write(this.#openText(), TEXT, event);
        return;
      case "call-delta": {
        const call = this.#calls.get(event.call);
        if (call === undefined) return;
        call.extent?.follow(event.text);
        return this.#write(call, INPUT, event);
      }
      case "reasoning-delta":
        return this.#think(event);
      case "call-start": {
        const extent = event.kind === "function" ? new JsonScanner() : undefined;
        return void this.#calls.set(event.call, this.#open(callBlock(event, {}), extent));
      }
      case "call-end":
        return this.#endCall(event);
      case "refusal-delta":
        this.#isRefused = true;
        return this.#write(this.#openText(), TEXT, event);
      case "text-note":
        return this.#cite(event.annotation);
      case "text-break":
      case "text-end":
        return this.#closeText();
      case "reasoning-end":
        return this.#endThought(event);
      case "item-start":
      case "item-note":
      case "item-end":
        return this.#item(event);
      case "vendor-extra": {
        const { of, extra } = event;
        if (of === "answer") return;
        for (const [key, value] of Object.entries(extra.fields))
          if (of !== "choice" || isReportable(key, value)) this.#lose(`\`${key}\``, 0);
        return;
      }
      case "turn-end": {
        this.#closeText();
        if (this.#redacted.length > 0) this.#lose(LAST_REASONING, 0);
        if (this.#blocks.length > 1 && this.#blocks[0]?.state === "cut")
          this.#lose("text and calls after a truncated call", 0);
        const delta = writeStop(this.#stopOf(event.stop), event.extra);
        return this.#frame({ type: "message_delta", delta, usage: writeUsage(this.#usage) });
      }
      case "turn-fail":
        this.#isOver = true;
        return this.#frame(errorBody(event.fault));
      // The events that follow open the block.
      case "text-start":
      case "reasoning-start":
      case "frame":
        return;
      default:
        event satisfies never;
    }
  }

  end(emit: Emit<string>): void {
    this.#out = emit;
    const comment = this.#context.closingComment?.() ?? "";
    if (comment !== "") emit(comment);
    if (!this.#isOver) this.#frame({ type: "message_stop" });
  }

  #frame(event: Fields): void {
    if (this.#out !== discard) this.#out(sseFrame(JSON.stringify(event), String(event.type)));
  }

  /**
   * An upstream of this dialect counts its input right after the start, and the count belongs into
   * it. If the frame of the upstream is forwarded, the start has been written.
   */
  #begin(event: TurnStart): void {
    this.#start = event;
    if (event.dialect !== "messages" || this.#out === discard) this.#writeStart(event);
  }

  #writeStart(start: TurnStart): void {
    this.#start = undefined;
    const message = {
      ...answerHead(start, this.#turn, this.#context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeUsage(this.#usage),
    };
    this.#frame({ type: "message_start", message });
  }

  #open(start: Fields, extent?: JsonScanner): Block {
    for (const data of this.#redacted.splice(0)) this.#close(this.#add(redactedBlock(data)));
    return this.#add(start, extent);
  }

  #add(start: Fields, extent?: JsonScanner): Block {
    const block: Block = {
      start,
      index: undefined,
      waiting: [],
      state: "open",
      hasDeltas: false,
      extent,
    };
    if (this.#blocks.push(block) === 1) this.#announce(block);
    return block;
  }

  #announce(block: Block): void {
    const index = (block.index = this.#nextIndex++);
    this.#frame({ type: "content_block_start", index, content_block: block.start });
    for (const rest of block.waiting) this.#out(`${DELTA}${index}${rest}`);
    block.waiting.length = 0;
  }

  /** Writes a frame for each piece of a text. */
  #write(block: Block, head: string, pieces: Pieces): void {
    block.hasDeltas = true;
    const { index } = block;
    const literals = literalsOf(pieces);
    if (index === undefined)
      for (const literal of literals) block.waiting.push(`${head}${literal}${END}`);
    else if (this.#out !== discard) {
      const start = `${DELTA}${index}${head}`;
      this.#out(start + literals.join(END + start) + END);
    }
  }

  #writeDelta(block: Block, delta: Fields): void {
    block.hasDeltas = true;
    const rest = `,"delta":${JSON.stringify(delta)}}\n\n`;
    if (block.index === undefined) block.waiting.push(rest);
    else this.#out(`${DELTA}${block.index}${rest}`);
  }

  /** Closes a block. If it was the open one, those after it are written up to the first that is open. */
  #close(block: Block): void {
    if (block.state !== "open") return;
    block.state = "closed";
    for (let [first] = this.#blocks; first?.state === "closed"; [first] = this.#blocks) {
      this.#frame({ type: "content_block_stop", index: first.index });
      this.#blocks.shift();
      const [next] = this.#blocks;
      if (next !== undefined) this.#announce(next);
    }
  }

  /** A block of text begins with its first words: clients take an empty one for no answer. */
  #openText(): Block {
    return (this.#text ??= this.#open({ type: "text", text: "" }));
  }

  #closeText(): void {
    if (this.#text !== undefined) this.#close(this.#text);
    this.#text = undefined;
  }

  #cite(annotation: unknown): void {
    const citation = writeCitation(annotation);
    if (citation === undefined) return this.#lose("a citation", 0);
    // One of this dialect may come before the text that it is about; others are about earlier text.
    const text = isOwnCitation(citation) ? this.#openText() : this.#text;
    if (text === undefined) return this.#lose("a citation", 0);
    this.#writeDelta(text, { type: "citations_delta", citation });
  }

  #think(event: Event<"reasoning-delta">): void {
    const paragraph = `${event.of}${event.part}`;
    const isNext = this.#paragraph !== undefined && this.#paragraph !== paragraph;
    this.#paragraph = paragraph;
    this.#write(this.#openThought(), THINKING, isNext ? asNextParagraph(event) : event);
  }

  #openThought(): Block {
    return (this.#thought ??= this.#open({ type: "thinking", thinking: "", signature: "" }));
  }

  #endThought({ encrypted, extra, details }: Event<"reasoning-end">): void {
    this.#paragraph = undefined;
    if (details !== undefined) this.#lose("details of reasoning", 0);
    if (this.#thought === undefined && encrypted === undefined) return;
    if (this.#thought === undefined && encrypted !== undefined && isRedacted(extra) !== false)
      return void this.#redacted.push(encrypted);
    const thought = this.#openThought();
    this.#thought = undefined;
    this.#writeDelta(thought, { type: "signature_delta", signature: encrypted ?? UNSIGNED });
    this.#close(thought);
  }

  /**
   * Clients run a call once its block is closed, whatever follows, and complete arguments that break
   * off. A call that an upstream only claims to be whole is therefore left open.
   */
  #endCall({ call, complete }: Event<"call-end">): void {
    const block = this.#calls.get(call);
    if (block === undefined) return;
    const isBroken = complete && block.extent?.isOpen() === true;
    if (isBroken) this.#lose("the end of a call's arguments", 0);
    this.#hasBroken ||= isBroken;
    if (complete && !isBroken) this.#close(block);
    else block.state = "cut";
  }

  #item(event: Event<"item-start" | "item-note" | "item-end">): void {
    const { type, raw } = event;
    if (event.dialect !== "messages")
      return type === "item-end" ? this.#lose(`${String(raw.type)} items`, 0) : undefined;
    if (type === "item-start") {
      // The input follows in deltas.
      const start = isFields(raw.input) ? { ...raw, input: {} } : raw;
      return void this.#items.set(event.item, this.#open(start));
    }
    const block = this.#items.get(event.item);
    if (block === undefined) return;
    if (type === "item-note") {
      const delta = fieldsOf(raw.delta);
      if (delta !== undefined) this.#writeDelta(block, delta);
      return;
    }
    const hasInput = isFields(raw.input) && Object.keys(raw.input).length > 0;
    if (hasInput && !block.hasDeltas)
      this.#write(block, INPUT, { text: JSON.stringify(raw.input) });
    this.#close(block);
  }

  #stopOf(stop: StopReason): StopReason {
    if (this.#hasBroken && stop === "calls") return "length";
    return this.#isRefused && stop === "end" ? "filter" : stop;
  }
}

export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const lose = lossReporter("messages", context.report);
  const [choice = none] = answer.choices;
  const isRefused = choice.stop === "end" && choice.items.some(hasRefusal);
  const blocks = choice.items.flatMap((item) => writeItem(item, lose));
  const content = blocks.slice(0, blocks.findLastIndex(({ type }) => type !== REDACTED) + 1);
  if (content.length < blocks.length) lose(LAST_REASONING, 0);
  return JSON.stringify({
    ...answerHead(answer, turn, context),
    content,
    ...writeStop(isRefused ? "filter" : choice.stop, choice.ending),
    usage: writeUsage(answer.usage),
  });
}

const none: AnswerChoice<ClientName> = { index: 0, items: [], stop: "end" };

const hasRefusal = (item: Item): boolean =>
  item.type === "message" && item.parts.some(({ type }) => type === "refusal");

/** The fields of every answer. Ids of another dialect are not shown. */
function answerHead(
  start: Pick<Answer<ClientName>, "dialect" | "id" | "model" | "extra">,
  turn: Turn,
  context: WriteContext,
): Fields {
  const own = start.dialect === "messages" ? start : undefined;
  return {
    ...own?.extra,
    id: own?.id ?? context.id,
    type: "message",
    role: "assistant",
    model: start.model ?? turn.model,
  };
}

function writeItem(item: Item, lose: OnLoss): readonly Fields[] {
  switch (item.type) {
    case "message":
      return writeMessage(item, lose);
    case "reasoning":
      return writeThought(item);
    case "call": {
      // Clients must not run a call that was cut off.
      if (item.status === "incomplete") {
        lose("a call that was cut off", 0);
        return [];
      }
      // Arguments that are not JSON stay as the model wrote them: the client reports them to the model.
      const input = exactJsonOf(item.input === "" ? "{}" : item.input);
      return [callBlock(item, isFields(input) ? input : item.input)];
    }
    case "opaque":
      if (item.dialect === "messages") return [item.raw];
      lose(`${String(item.raw.type)} items`, 0);
      return [];
    case "result":
      return [];
    default:
      return item satisfies never;
  }
}

function writeMessage({ parts }: Message, lose: OnLoss): readonly Fields[] {
  return parts.flatMap((part) => {
    if (part.type !== "text" && part.type !== "refusal") return [];
    if (part.text === "") return [];
    if (part.type === "refusal") return [{ type: "text", text: part.text }];
    if (part.logprobs !== undefined) lose("log-probabilities", 0);
    const citations = (part.annotations ?? []).map(writeCitation);
    const kept = citations.filter((one) => one !== undefined);
    if (kept.length < citations.length) lose("a citation", 0);
    return [{ type: "text", text: part.text, ...(kept.length > 0 && { citations: kept }) }];
  });
}

function writeThought({ content, summary, encrypted, extra }: Reasoning): readonly Fields[] {
  const thinking = [...content, ...summary].filter((one) => one !== "").join("\n\n");
  if (thinking === "" && encrypted === undefined) return [];
  if (thinking === "" && isRedacted(extra) !== false) return [redactedBlock(encrypted)];
  return [{ type: "thinking", thinking, signature: encrypted ?? UNSIGNED }];
}

const REDACTED = "redacted_thinking";
const redactedBlock = (data: string | undefined): Fields => ({ type: REDACTED, data });
/** The API refuses answers that end so, and some clients show nothing of them. */
const LAST_REASONING = "reasoning without text at the end";

const callBlock = <Name extends AnyName>(
  call: Pick<Call<Name>, "id" | "name" | "extra">,
  input: unknown,
): Fields => ({
  type: "tool_use",
  id: call.id,
  name: call.name,
  input,
  ...ownExtra(call.extra, "messages"),
});
