import type { Emit } from "../../stream/stage.ts";
import { discard, type EventWriter } from "../../stream/straight.ts";
import type {
  CallEnd,
  CallStart,
  ItemEnd,
  ItemNote,
  ItemStart,
  ReasoningDelta,
  ReasoningEnd,
  StopReason,
  TextDelta,
  TurnEnd,
  TurnEvent,
  TurnStart,
  Usage,
  VendorExtra,
} from "../../turn/event.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { fieldsOf } from "../shared/loose.ts";
import { asNextParagraph } from "../shared/frame-runs.ts";
import { isReportable, lossReporter, type OnLoss } from "../shared/losses.ts";
import { BlockQueue, write, type QueuedBlock } from "./block-queue.ts";
import { isOwnCitation, writeCitation } from "./citations.ts";
import { errorBody } from "./error-body.ts";
import { isRedacted } from "./extra.ts";
import { writeStop } from "./stop.ts";
import { UNSIGNED } from "./unsigned.ts";
import { writeUsage } from "./usage.ts";
import { answerHead, callBlock, inputOf, itemBlock } from "./write-answer.ts";

/** Writes a Messages stream as the strictest readers want it. */
export const writeEvents = (turn: Turn, context: WriteContext): EventWriter<ClientName> =>
  new MessagesWriter(turn, context);

class MessagesWriter implements EventWriter<ClientName> {
  readonly #turn: Turn;
  readonly #context: WriteContext;
  readonly #lose: OnLoss;
  readonly #queue = new BlockQueue();
  readonly #calls = new Map<number, CallOut>();
  readonly #items = new Map<number, QueuedBlock>();
  #start: TurnStart | undefined;
  #text: QueuedBlock | undefined;
  #thought: QueuedBlock | undefined;
  /** The paragraph of the reasoning that was written last. */
  #paragraph: string | undefined;
  #usage: Usage | undefined;
  #isRefused = false;
  /** Whether a call broke off within its arguments. */
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
    if (event.type === "turn-start") return this.#begin(event, emit);
    if (event.type === "usage") return void (this.#usage = event.usage);
    if (this.#start !== undefined && event.type !== "frame") this.#writeStart(emit);
    switch (event.type) {
      case "text-delta":
        return this.#sayText(event, emit);
      case "call-delta": {
        const call = this.#calls.get(event.call);
        if (call === undefined) return;
        call.extent?.follow(event.text);
        return this.#queue.text(call.block, "input_json_delta", event, emit);
      }
      case "reasoning-delta":
        return this.#think(event, emit);
      case "call-start":
        return this.#call(event, emit);
      case "call-end":
        return this.#endCall(event, emit);
      case "refusal-delta":
        this.#isRefused = true;
        return this.#queue.text(this.#openText(emit), "text_delta", event, emit);
      case "text-note":
        return this.#cite(event.annotation, emit);
      case "text-break":
      case "text-end":
        return this.#closeText(emit);
      case "reasoning-end":
        return this.#endThought(event, emit);
      case "item-start":
      case "item-note":
      case "item-end":
        return this.#item(event, emit);
      case "vendor-extra":
        return this.#aside(event);
      case "turn-end":
        return this.#end(event, emit);
      case "turn-fail":
        this.#isOver = true;
        return write(errorBody(event.fault), emit);
      // Said by what follows.
      case "text-start":
      case "reasoning-start":
      case "frame":
        return;
      default:
        event satisfies never;
    }
  }

  end(emit: Emit<string>): void {
    const words = this.#context.closingComment?.() ?? "";
    if (words !== "") emit(words);
    if (!this.#isOver) write({ type: "message_stop" }, emit);
  }

  /**
   * An upstream of this dialect counts its input right behind the start, where it
   * belongs. Where its own frame is forwarded, the start has been written.
   */
  #begin(event: TurnStart, emit: Emit<string>): void {
    this.#start = event;
    if (event.dialect !== "messages" || emit === discard) this.#writeStart(emit);
  }

  #writeStart(emit: Emit<string>): void {
    if (this.#start === undefined) return;
    const message = {
      ...answerHead(this.#start, this.#turn, this.#context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeUsage(this.#usage),
    };
    this.#start = undefined;
    write({ type: "message_start", message }, emit);
  }

  #sayText(event: TextDelta, emit: Emit<string>): void {
    if (event.logprobs !== undefined) this.#lose("log-probabilities", 0);
    if (event.text !== "") this.#queue.text(this.#openText(emit), "text_delta", event, emit);
  }

  /** A block of text begins with its first words: one without any is taken for no answer. */
  #openText(emit: Emit<string>): QueuedBlock {
    return (this.#text ??= this.#queue.open({ type: "text", text: "" }, emit));
  }

  #closeText(emit: Emit<string>): void {
    if (this.#text !== undefined) this.#queue.close(this.#text, emit);
    this.#text = undefined;
  }

  #cite(annotation: unknown, emit: Emit<string>): void {
    const citation = writeCitation(annotation);
    if (citation === undefined) return this.#lose("a citation", 0);
    // One of this dialect may come before the words that it is of; others are of words that are there.
    const text = isOwnCitation(citation) ? this.#openText(emit) : this.#text;
    if (text === undefined) return this.#lose("a citation", 0);
    this.#queue.delta(text, { type: "citations_delta", citation }, emit);
  }

  #think(event: ReasoningDelta, emit: Emit<string>): void {
    const paragraph = `${event.of}${event.part}`;
    const isNext = this.#paragraph !== undefined && this.#paragraph !== paragraph;
    this.#paragraph = paragraph;
    const pieces = isNext ? asNextParagraph(event) : event;
    this.#queue.text(this.#openThought(emit), "thinking_delta", pieces, emit);
  }

  #openThought(emit: Emit<string>): QueuedBlock {
    const start = { type: "thinking", thinking: "", signature: "" };
    return (this.#thought ??= this.#queue.open(start, emit));
  }

  #endThought({ encrypted, extra, details }: ReasoningEnd, emit: Emit<string>): void {
    this.#paragraph = undefined;
    if (details !== undefined) this.#lose("details of reasoning", 0);
    if (this.#thought === undefined && encrypted === undefined) return;
    if (this.#thought === undefined && isRedacted(extra) !== false) {
      const block = this.#queue.open({ type: "redacted_thinking", data: encrypted }, emit);
      return this.#queue.close(block, emit);
    }
    const thought = this.#openThought(emit);
    this.#thought = undefined;
    const signature = encrypted ?? UNSIGNED;
    this.#queue.delta(thought, { type: "signature_delta", signature }, emit);
    this.#queue.close(thought, emit);
  }

  #call(event: CallStart<ClientName>, emit: Emit<string>): void {
    const block = this.#queue.open(callBlock(event, {}), emit);
    const extent = event.kind === "function" ? new JsonScanner() : undefined;
    this.#calls.set(event.call, { block, extent });
  }

  /**
   * Clients run a call once its block is closed, whatever follows, and read of
   * arguments that break off what they can: a call of which an upstream only
   * says that it is whole would be run with some of them.
   */
  #endCall({ call, complete }: CallEnd, emit: Emit<string>): void {
    const { block, extent } = this.#calls.get(call) ?? {};
    if (block === undefined) return;
    const isBroken = complete && extent?.isOpen() === true;
    if (isBroken) this.#lose("the end of a call's arguments", 0);
    this.#hasBroken ||= isBroken;
    if (complete && !isBroken) this.#queue.close(block, emit);
    else this.#queue.cut(block);
  }

  #item(event: ItemStart | ItemNote | ItemEnd, emit: Emit<string>): void {
    if (event.dialect !== "messages")
      return event.type === "item-end"
        ? this.#lose(`${String(event.raw.type)} items`, 0)
        : undefined;
    const known = this.#items.get(event.item);
    if (event.type === "item-start")
      return void this.#items.set(event.item, this.#queue.open(itemBlock(event.raw), emit));
    if (known === undefined) return;
    if (event.type === "item-note") {
      const delta = fieldsOf(event.raw.delta);
      if (delta !== undefined) this.#queue.delta(known, delta, emit);
      return;
    }
    const input = inputOf(event.raw);
    if (input !== undefined && !known.isWritten)
      this.#queue.text(known, "input_json_delta", { text: input }, emit);
    this.#queue.close(known, emit);
  }

  #aside({ of, extra }: VendorExtra): void {
    if (of === "answer") return;
    for (const [key, value] of Object.entries(extra.fields))
      if (of !== "choice" || isReportable(key, value)) this.#lose(`\`${key}\``, 0);
  }

  #end({ stop, extra }: TurnEnd, emit: Emit<string>): void {
    this.#closeText(emit);
    if (this.#queue.isStuck()) this.#lose("what was said behind a call that was cut off", 0);
    const delta = writeStop(this.#stopOf(stop), extra);
    write({ type: "message_delta", delta, usage: writeUsage(this.#usage) }, emit);
  }

  #stopOf(stop: StopReason): StopReason {
    if (this.#hasBroken && stop === "calls") return "length";
    return this.#isRefused && stop === "end" ? "filter" : stop;
  }
}

/** A call on its way to the client, and how far its arguments have got. */
type CallOut = { readonly block: QueuedBlock; readonly extent: JsonScanner | undefined };
