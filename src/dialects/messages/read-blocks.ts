import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { Fields } from "../../turn/turn.ts";
import { inputText, listOf, filledText } from "../shared/loose.ts";
import { readCitation } from "./answer-fields.ts";
import { extraOf, reasoningBlock } from "./extra.ts";

type Event = TurnEvent<UpstreamName>;

/** Reads one content block. */
type Block = {
  delta(delta: Fields, raw: Fields): void;
  stop(): void;
};

export type BlockContext = {
  readonly emit: (event: Event) => void;
  /** Something was not as the API sends it, so that the frame is not forwarded. */
  readonly markRepaired: () => void;
  readonly newId: NewId;
};

const choice = 0;

/** The blocks of one answer. */
export class BlocksReader {
  readonly #to: BlockContext;
  readonly #open = new Map<number, Block>();
  /** Whether the last thing said was text: more of it in another block is another part. */
  #isText = false;
  #blocks = 0;
  #calls = 0;
  #items = 0;
  /** A call that was closed within its arguments: cut short, unless something follows it. */
  #unfinished: CallBlock | undefined;

  constructor(to: BlockContext) {
    this.#to = to;
  }

  /** How many blocks have begun. */
  get count(): number {
    return this.#blocks;
  }

  /** Whether a call has begun and is not closed. */
  get hasOpenCall(): boolean {
    for (const block of this.#open.values()) if (block instanceof CallBlock) return true;
    return false;
  }

  /** Opens a block. One that stands in a whole answer is closed by its caller. */
  start(index: number | undefined, block: Fields): void {
    if (index !== this.#blocks || this.#open.size > 0) this.#to.markRepaired();
    // What a block without a type is, its deltas tell.
    if (filledText(block.type) === undefined) return this.#to.markRepaired();
    const place = index ?? this.#blocks;
    this.#open.get(place)?.stop();
    this.#finish();
    this.#blocks++;
    this.#open.set(place, this.#read(block));
  }

  delta(index: number | undefined, delta: Fields, raw: Fields): void {
    const block = this.#find(index);
    if (block === undefined) {
      this.#to.markRepaired();
      // Some leave out the start of a block: what its first delta is of tells.
      const type = blockTypes.get(String(delta.type));
      if (type === undefined) return;
      this.start(index, { type });
      return this.#find(index)?.delta(delta, raw);
    }
    block.delta(delta, raw);
  }

  stop(index: number | undefined): void {
    const block = this.#find(index);
    if (block === undefined) return this.#to.markRepaired();
    if (block instanceof CallBlock && block.isWithinArguments) this.#unfinished = block;
    else block.stop();
    for (const [place, one] of this.#open) if (one === block) this.#open.delete(place);
  }

  /** Reads a block that is all there, or the last one of an answer that was cut short. */
  whole(block: Fields, isCut = false): void {
    const index = this.#blocks;
    this.start(index, block);
    const read = this.#open.get(index);
    if (isCut && read instanceof CallBlock) {
      read.fill();
      this.#open.delete(index);
    } else this.stop(index);
  }

  /** An answer that goes on had finished the call before. */
  #finish(): void {
    this.#unfinished?.stop();
    this.#unfinished = undefined;
  }

  /** The answer is over: blocks that nobody closed are, but for calls, of which nobody knows it. */
  end(): void {
    for (const block of this.#open.values()) if (!(block instanceof CallBlock)) block.stop();
  }

  #find(index: number | undefined): Block | undefined {
    return index === undefined ? [...this.#open.values()].at(-1) : this.#open.get(index);
  }

  #read(block: Fields): Block {
    switch (block.type) {
      case "text":
        return this.#text(block);
      case "thinking":
        this.#isText = false;
        return thought(block, this.#to);
      case "redacted_thinking":
        this.#isText = false;
        return redacted(block, this.#to);
      case "tool_use":
        this.#isText = false;
        return new CallBlock(block, this.#calls++, this.#to);
      default:
        this.#isText = false;
        return opaque(block, this.#items++, this.#to);
    }
  }

  #text(block: Fields): Block {
    const { emit } = this.#to;
    let isFirst = true;
    const begin = (): void => {
      if (isFirst && this.#isText) emit({ type: "text-break", choice });
      isFirst = false;
      this.#isText = true;
    };
    const say = (text: string): void => {
      if (text === "") return;
      begin();
      emit({ type: "text-delta", choice, text });
    };
    // A citation may come before the words that it is of.
    const note = (raw: unknown): void => {
      begin();
      emit({ type: "text-note", choice, annotation: readCitation(raw) });
    };
    say(filledText(block.text) ?? "");
    for (const raw of listOf(block.citations) ?? []) note(raw);
    return {
      delta({ type, text, citation }) {
        if (type === "citations_delta" && isFields(citation)) note(citation);
        else if (typeof text === "string") say(text);
      },
      stop() {},
    };
  }
}

/** By the type of its deltas. */
const blockTypes: ReadonlyMap<string, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "thinking"],
]);

function thought(block: Fields, { emit, markRepaired }: BlockContext): Block {
  // Clients do not look for one here.
  let signature = filledText(block.signature) ?? "";
  if (signature !== "") markRepaired();
  let isSaid = false;
  const say = (text: string): void => {
    if (text === "") return;
    isSaid = true;
    emit({ type: "reasoning-delta", choice, of: "summary", part: 0, text });
  };
  say(filledText(block.thinking) ?? "");
  return {
    delta({ thinking, signature: piece }) {
      if (typeof thinking === "string") say(thinking);
      if (typeof piece === "string" && piece !== "") signature = piece;
    },
    stop() {
      if (signature === "") {
        markRepaired();
        return isSaid ? emit({ type: "reasoning-end", choice }) : undefined;
      }
      const extra = reasoningBlock("thinking");
      emit({ type: "reasoning-end", choice, encrypted: signature, extra });
    },
  };
}

function redacted({ data }: Fields, { emit }: BlockContext): Block {
  const encrypted = filledText(data);
  return {
    delta() {},
    stop() {
      const extra = reasoningBlock("redacted_thinking");
      if (encrypted !== undefined) emit({ type: "reasoning-end", choice, encrypted, extra });
    },
  };
}

class CallBlock implements Block {
  readonly #call: number;
  readonly #to: BlockContext;
  /** Arguments that came with the start, which is no place for them in a stream. */
  #early: string;
  #isEmpty = true;
  readonly #extent = new JsonScanner();

  constructor(block: Fields, call: number, to: BlockContext) {
    const { type: _, id, name, input, ...rest } = block;
    this.#call = call;
    this.#to = to;
    const early = inputText(input);
    this.#early = early === "{}" ? "" : early;
    // Only calls that code of the model's makes come whole in their start.
    const isLate = this.#early !== "" && rest.caller === undefined;
    if (isLate || filledText(id) === undefined) to.markRepaired();
    to.emit({
      type: "call-start",
      choice,
      call,
      id: filledText(id) ?? to.newId("toolu"),
      kind: "function",
      name: upstreamName(filledText(name) ?? ""),
      ...extraOf(rest),
    });
  }

  delta({ partial_json }: Fields): void {
    const text = typeof partial_json === "string" ? partial_json : "";
    if (text === "") return;
    this.#isEmpty = false;
    this.#extent.follow(text);
    this.#to.emit({ type: "call-delta", choice, call: this.#call, text });
  }

  /**
   * Whether its arguments are no whole object: the API closes a block also where
   * the limit of tokens cuts it short, with all or nothing of an argument.
   */
  get isWithinArguments(): boolean {
    return this.#early === "" && !this.#extent.isClosed();
  }

  /** Says the arguments that came with the start, unless others came behind it. */
  fill(): void {
    if (this.#isEmpty && this.#early !== "") this.delta({ partial_json: this.#early });
    this.#early = "";
  }

  stop(): void {
    this.fill();
    this.#to.emit({ type: "call-end", choice, call: this.#call, complete: true });
  }
}

/** What the provider did by itself, and blocks that nobody here knows. */
function opaque(block: Fields, item: number, { emit }: BlockContext): Block {
  const dialect = "messages";
  let raw = block;
  let input = "";
  emit({ type: "item-start", choice, item, dialect, raw });
  return {
    delta(delta, frame) {
      if (typeof delta.partial_json === "string") input += delta.partial_json;
      else if (typeof delta.content === "string")
        raw = { ...raw, content: (filledText(raw.content) ?? "") + delta.content };
      // The parser may use one object for all frames of a kind, and a note is kept.
      emit({ type: "item-note", choice, item, dialect, raw: { ...frame, delta: { ...delta } } });
    },
    stop() {
      if (input !== "") raw = { ...raw, input: jsonOf(input) ?? input };
      emit({ type: "item-end", choice, item, dialect, raw });
    },
  };
}
