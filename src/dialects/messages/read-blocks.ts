/** Reads the content blocks of an answer. */

import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { filledText, inputText, listOf } from "../shared/loose.ts";
import { readCitation } from "./answer-fields.ts";
import { messagesExtra, reasoningBlock } from "./extra.ts";

type Block = {
  delta(delta: Fields, raw: Fields): void;
  stop(): void;
};

const choice = 0;

/** The types of blocks by the types of their deltas, for upstreams that leave out the start of a block. */
const blockTypes: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "thinking"],
]);

export class BlocksReader {
  readonly newId: NewId;
  readonly emit: Emit<TurnEvent<UpstreamName>>;
  /** True while the frame at hand is as the API would have sent it. */
  forwardable = true;
  count = 0;
  readonly #open = new Map<number, Block>();
  /** True after text: text of another block is another part. */
  #isText = false;
  #calls = 0;
  #items = 0;
  /** A call that was closed within its arguments: it was cut off, unless a block follows. */
  #unfinished: CallBlock | undefined;

  constructor(newId: NewId, emit: Emit<TurnEvent<UpstreamName>>) {
    this.newId = newId;
    this.emit = emit;
  }

  markRepaired(): void {
    this.forwardable = false;
  }

  get hasOpenCall(): boolean {
    for (const block of this.#open.values()) if (block instanceof CallBlock) return true;
    return false;
  }

  start(index: number | undefined, block: Fields): void {
    if (index !== this.count || this.#open.size > 0) this.markRepaired();
    // The deltas of a block without a type tell its type.
    if (filledText(block.type) === undefined) return this.markRepaired();
    const place = index ?? this.count;
    this.#open.get(place)?.stop();
    // The answer continues, so the call before was complete.
    this.#unfinished?.stop();
    this.#unfinished = undefined;
    this.count++;
    this.#open.set(place, this.#read(block));
  }

  delta(index: number | undefined, delta: Fields, raw: Fields): void {
    let block = this.#find(index);
    if (block === undefined) {
      this.markRepaired();
      const type = blockTypes.get(delta.type);
      if (type === undefined) return;
      this.start(index, { type });
      block = this.#find(index);
    }
    block?.delta(delta, raw);
  }

  stop(index: number | undefined): void {
    const block = this.#find(index);
    if (block === undefined) return this.markRepaired();
    if (block instanceof CallBlock && block.isWithinArguments) this.#unfinished = block;
    else block.stop();
    for (const [place, one] of this.#open) if (one === block) this.#open.delete(place);
  }

  /** Reads a block of a whole answer. `isCut`: the last one of an answer that was cut off. */
  whole(block: Fields, isCut = false): void {
    const index = this.count;
    this.start(index, block);
    const read = this.#open.get(index);
    if (isCut && read instanceof CallBlock) {
      read.writeEarly();
      this.#open.delete(index);
    } else this.stop(index);
  }

  /** Ends the answer: closes open blocks, but not calls, which may be incomplete. */
  end(): void {
    for (const block of this.#open.values()) if (!(block instanceof CallBlock)) block.stop();
  }

  #find(index: number | undefined): Block | undefined {
    return index === undefined ? [...this.#open.values()].at(-1) : this.#open.get(index);
  }

  #read(block: Fields): Block {
    if (block.type === "text") return this.#text(block);
    this.#isText = false;
    switch (block.type) {
      case "thinking":
      case "redacted_thinking":
        return reasoning(block, block.type, this);
      case "tool_use":
        return new CallBlock(block, this.#calls++, this);
      default:
        return opaque(block, this.#items++, this);
    }
  }

  #text(block: Fields): Block {
    let isFirst = true;
    const begin = (): void => {
      if (isFirst && this.#isText) this.emit({ type: "text-break", choice });
      isFirst = false;
      this.#isText = true;
    };
    const add = (text: unknown): void => {
      if (typeof text !== "string" || text === "") return;
      begin();
      this.emit({ type: "text-delta", choice, text });
    };
    // A citation may come before its text.
    const cite = (raw: unknown): void => {
      begin();
      this.emit({ type: "text-note", choice, annotation: readCitation(raw) });
    };
    add(block.text);
    for (const raw of listOf(block.citations) ?? []) cite(raw);
    return {
      delta({ type, text, citation }) {
        if (type === "citations_delta" && isFields(citation)) cite(citation);
        else add(text);
      },
      stop() {},
    };
  }
}

function reasoning(block: Fields, type: "thinking" | "redacted_thinking", to: BlocksReader): Block {
  const isRedacted = type === "redacted_thinking";
  let encrypted = filledText(isRedacted ? block.data : block.signature);
  // Clients do not look for a signature at the start.
  if (!isRedacted && encrypted !== undefined) to.markRepaired();
  let hasText = false;
  const add = (text: unknown): void => {
    if (typeof text !== "string" || text === "") return;
    hasText = true;
    to.emit({ type: "reasoning-delta", choice, of: "summary", part: 0, text });
  };
  if (!isRedacted) add(block.thinking);
  return {
    delta({ thinking, signature }) {
      if (isRedacted) return;
      add(thinking);
      encrypted = filledText(signature) ?? encrypted;
    },
    stop() {
      if (encrypted !== undefined)
        return to.emit({ type: "reasoning-end", choice, encrypted, extra: reasoningBlock(type) });
      if (!isRedacted) to.markRepaired();
      if (hasText) to.emit({ type: "reasoning-end", choice });
    },
  };
}

class CallBlock implements Block {
  readonly #call: number;
  readonly #to: BlocksReader;
  /** Arguments in the start of the block, which is no place for them in a stream. */
  #early: string;
  #isEmpty = true;
  readonly #extent = new JsonScanner();

  constructor(block: Fields, call: number, to: BlocksReader) {
    const { type: _, id, name, input, ...rest } = block;
    this.#call = call;
    this.#to = to;
    const early = inputText(input);
    this.#early = early === "{}" ? "" : early;
    // Only calls by code of the model come whole in their start.
    const isLate = this.#early !== "" && rest.caller === undefined;
    const ownId = filledText(id);
    if (isLate || ownId === undefined) to.markRepaired();
    to.emit({
      type: "call-start",
      choice,
      call,
      id: ownId ?? to.newId("toolu"),
      kind: "function",
      name: upstreamName(filledText(name) ?? ""),
      ...messagesExtra(rest),
    });
  }

  delta({ partial_json: text }: Fields): void {
    if (typeof text !== "string" || text === "") return;
    this.#isEmpty = false;
    this.#extent.follow(text);
    this.#to.emit({ type: "call-delta", choice, call: this.#call, text });
  }

  /**
   * True if the arguments are not a whole object: the API also closes a block that the limit of
   * tokens cuts off, with all or nothing of an argument.
   */
  get isWithinArguments(): boolean {
    return this.#early === "" && !this.#extent.isClosed();
  }

  /** Emits the arguments of the start, unless deltas brought others. */
  writeEarly(): void {
    if (this.#isEmpty) this.delta({ partial_json: this.#early });
    this.#early = "";
  }

  stop(): void {
    this.writeEarly();
    this.#to.emit({ type: "call-end", choice, call: this.#call, complete: true });
  }
}

/** A block that the provider made for itself, or one of an unknown type. */
function opaque(block: Fields, item: number, to: BlocksReader): Block {
  const dialect = "messages";
  let raw = block;
  let input = "";
  to.emit({ type: "item-start", choice, item, dialect, raw });
  return {
    delta(delta, frame) {
      if (typeof delta.partial_json === "string") input += delta.partial_json;
      else if (typeof delta.content === "string")
        raw = { ...raw, content: (filledText(raw.content) ?? "") + delta.content };
      // A run of frames is read with one object, and a note is kept.
      to.emit({ type: "item-note", choice, item, dialect, raw: { ...frame, delta: { ...delta } } });
    },
    stop() {
      if (input !== "") raw = { ...raw, input: jsonOf(input) ?? input };
      to.emit({ type: "item-end", choice, item, dialect, raw });
    },
  };
}
