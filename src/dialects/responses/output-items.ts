/** Reads the items of an answer: messages, reasoning, calls, and items that the upstream works on itself. */

import { checkHeld } from "../../stream/length-limit.ts";
import type { NewId } from "../../turn/clock.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { type UpstreamName, upstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { nameless } from "../errors/upstream-error.ts";
import { fieldsOf, filledText, inputText, listOf, numberOf } from "../shared/loose.ts";
import { isOwnAnnotation, responsesExtra } from "./items.ts";
import { type CallKind, isHosted, kindOfCall } from "./kinds.ts";

/** An answer of this dialect has one choice. */
const choice = 0;

/** The answer that items are read for. */
export type ItemSink = {
  readonly newId: NewId;
  /** Ids of the calls so far. */
  readonly callIds: Set<string>;
  /** The numbers of calls and hosted items that have begun. */
  calls: number;
  hosted: number;
  emit(item: OutputItem, event: TurnEvent<UpstreamName>): void;
  /** Records that the API would have sent something else: the frame is not forwarded. */
  markRepaired(): void;
  /** Records text that came with the end of a part although a delta should have brought it. */
  markMissedDelta(): void;
};

/** Reads one output item from its events, in whatever order they come. */
export abstract class OutputItem {
  readonly type: string;
  /** Undefined if an earlier item has the same id. */
  readonly id: string | undefined;
  readonly callId: string | undefined;
  /** The item as it was announced. */
  readonly first: Fields;
  /** The same with the id that it has here. */
  protected seen: Fields;
  /** The first other id in events about the item. */
  alias: string | undefined;
  hasEvents = false;
  isClosed = false;
  /** The item as it was when it was done. */
  last: Fields | undefined;
  protected readonly sink: ItemSink;

  constructor(first: Fields, id: string | undefined, sink: ItemSink) {
    this.type = String(first.type);
    this.id = id;
    this.callId = filledText(first.call_id);
    this.first = first;
    this.seen = id === filledText(first.id) ? first : { ...first, id };
    this.sink = sink;
  }

  abstract each(type: string, raw: Fields): void;
  /** Ends the item; `raw` is its final form, if the upstream sends one. */
  abstract close(raw: Fields | undefined, complete: boolean): void;
  /** True if every part that was opened is done, although no event has closed the item. */
  isComplete?(): boolean;
}

/** `isAnswered`: the upstream has run the call itself, so that the client must not. */
export function openItem(
  item: Fields,
  id: string | undefined,
  { sink, isAnswered }: { readonly sink: ItemSink; readonly isAnswered: boolean },
): OutputItem {
  if (item.type === "message" || item.type === "reasoning") return new TextItem(item, id, sink);
  const kind = kindOfCall(String(item.type));
  return kind === undefined || isAnswered || isHosted(item)
    ? new HostedItem(item, id, sink)
    : new CallItem(kind, item, id, sink);
}

/** Text that is streamed in deltas and, perhaps, sent once more as a whole. */
type StreamedText = { text: string; isDone: boolean };

/**
 * Returns the end of a whole text that its deltas did not bring. If the two differ, the deltas win,
 * because they have been passed on.
 */
function remainder(streamed: StreamedText, whole: unknown, sink: ItemSink): string {
  streamed.isDone = true;
  if (typeof whole !== "string" || whole === streamed.text) return "";
  if (!whole.startsWith(streamed.text)) {
    sink.markRepaired();
    return "";
  }
  sink.markMissedDelta();
  const more = whole.slice(streamed.text.length);
  streamed.text = whole;
  return more;
}

/** Text and refusals are parts of a message, paragraphs of a summary or a content those of reasoning. */
type PartType = "text" | "refusal" | "summary" | "content";
type Part = StreamedText & {
  readonly type: PartType;
  readonly number: number;
  notes: number;
  hasLogprobs: boolean;
};
type Parts = Map<number, Part>;

/** Events by what they do to a part, also under the names of the open schema and of older servers. */
const partEvents: ReadonlyMap<string, readonly ["add" | "grow" | "finish" | "note", PartType]> =
  new Map([
    ["response.content_part.added", ["add", "content"]],
    ["response.content_part.done", ["finish", "content"]],
    ["response.output_text.delta", ["grow", "text"]],
    ["response.output_text.done", ["finish", "text"]],
    ["response.output_text.annotation.added", ["note", "text"]],
    ["response.refusal.delta", ["grow", "refusal"]],
    ["response.refusal.done", ["finish", "refusal"]],
    ["response.reasoning_text.delta", ["grow", "content"]],
    ["response.reasoning_text.done", ["finish", "content"]],
    ["response.reasoning.delta", ["grow", "content"]],
    ["response.reasoning.done", ["finish", "content"]],
    ["response.reasoning_summary_part.added", ["add", "summary"]],
    ["response.reasoning_summary_part.done", ["finish", "summary"]],
    ["response.reasoning_summary_text.delta", ["grow", "summary"]],
    ["response.reasoning_summary_text.done", ["finish", "summary"]],
    ["response.reasoning_summary.delta", ["grow", "summary"]],
    ["response.reasoning_summary.done", ["finish", "summary"]],
  ]);

const ofMessages = ["type", "id", "role", "content", "phase", "status"];

/** Reads a message or reasoning: items that consist of parts with text. */
class TextItem extends OutputItem {
  readonly #isMessage: boolean;
  readonly #content: Parts = new Map();
  readonly #summary: Parts = new Map();

  constructor(first: Fields, id: string | undefined, sink: ItemSink) {
    super(first, id, sink);
    this.#isMessage = first.type === "message";
    if (this.#isMessage) {
      if (filledList(first.content) !== undefined) sink.markMissedDelta();
      sink.emit(this, { type: "text-start", choice, id, phase: filledText(first.phase) });
    } else sink.emit(this, { type: "reasoning-start", choice, id });
  }

  each(eventType: string, raw: Fields): void {
    const event = partEvents.get(eventType);
    if (event === undefined) return;
    const [does, of] = event;
    const parts = of === "summary" ? this.#summary : this.#content;
    const inner = fieldsOf(raw.part);
    // An event about any part of a message names the type in the part.
    const type = of === "content" && this.#isMessage ? partType(inner) : of;
    const index = numberOf(of === "summary" ? raw.summary_index : raw.content_index);
    if (index === undefined || type === undefined) this.sink.markRepaired();
    if (type === undefined) return;
    switch (does) {
      case "add":
        if (parts.has(index ?? parts.size)) this.sink.markRepaired();
        else this.#open(parts, type, index);
        return;
      case "grow": {
        const part = this.#part(parts, type, index);
        const { delta } = raw;
        if (typeof delta !== "string") return this.sink.markRepaired();
        part.text += delta;
        return this.#emitText(part, delta, filledList(raw.logprobs));
      }
      case "finish": {
        const whole = inner ?? raw;
        const part = this.#part(parts, type, index, whole.text ?? whole.refusal);
        return this.#finish(part, whole);
      }
      case "note":
        this.#part(parts, type, index).notes++;
        return this.#note(raw.annotation);
      default:
        does satisfies never;
    }
  }

  close(raw: Fields | undefined, complete: boolean): void {
    const item = raw ?? this.first;
    if (!this.#isMessage) this.#finishAll(this.#summary, item.summary);
    this.#finishAll(this.#content, item.content);
    if (this.#isMessage) {
      const extra = raw && responsesExtra(raw, ofMessages);
      const cut = complete ? undefined : { complete };
      return this.sink.emit(this, { type: "text-end", choice, ...cut, extra });
    }
    const encrypted = filledText(item.encrypted_content);
    // An empty content would be left out, and is kept as it is.
    const isSaid = (filledList(item.content) ?? filledText(item.content)) !== undefined;
    const known = ["type", "id", "summary", "encrypted_content", ...(isSaid ? ["content"] : [])];
    this.sink.emit(this, {
      type: "reasoning-end",
      choice,
      ...(encrypted && { encrypted }),
      ...(!complete && { complete }),
      extra: raw && responsesExtra(raw, known),
    });
  }

  override isComplete(): boolean {
    for (const { isDone } of this.#content.values()) if (!isDone) return false;
    for (const { isDone } of this.#summary.values()) if (!isDone) return false;
    return this.#content.size + this.#summary.size > 0;
  }

  #open(parts: Parts, type: PartType, index = parts.size): Part {
    const number = parts.size;
    if (index !== number) this.sink.markRepaired();
    if (type === "text" && number > 0) this.sink.emit(this, { type: "text-break", choice });
    const part = { type, number, text: "", isDone: false, notes: 0, hasLogprobs: false };
    parts.set(index, part);
    return part;
  }

  /**
   * Finds the part that an event is about, and opens one if none was announced. Some upstreams count
   * deltas in the field that counts parts, so a part continues until it is done. `whole` is the whole
   * text of the part, if the event has it.
   */
  #part(parts: Parts, type: PartType, index: number | undefined, whole?: unknown): Part {
    const found = index === undefined ? [...parts.values()].at(-1) : parts.get(index);
    if (found?.type === type) return found;
    this.sink.markRepaired();
    if (found !== undefined) return this.#open(parts, type);
    const last = type === "summary" ? undefined : [...parts.values()].at(-1);
    const continues = last?.type === type && (!last.isDone || whole === last.text);
    return continues ? last : this.#open(parts, type, index);
  }

  #emitText(part: Part, text: string, logprobs: readonly unknown[] | undefined): void {
    const { type, number } = part;
    switch (type) {
      case "refusal":
        return this.sink.emit(this, { type: "refusal-delta", choice, text });
      case "text":
        if (logprobs === undefined)
          return this.sink.emit(this, { type: "text-delta", choice, text });
        part.hasLogprobs = true;
        return this.sink.emit(this, { type: "text-delta", choice, text, logprobs });
      default:
        this.sink.emit(this, { type: "reasoning-delta", choice, of: type, part: number, text });
    }
  }

  #finish(part: Part, raw: Fields): void {
    const more = remainder(part, part.type === "refusal" ? raw.refusal : raw.text, this.sink);
    const isNew = this.#isMessage && !part.hasLogprobs;
    const logprobs = isNew ? filledList(raw.logprobs) : undefined;
    if (more !== "" || logprobs !== undefined) this.#emitText(part, more, logprobs);
    if (!this.#isMessage || raw.annotations === undefined) return;
    for (const annotation of listOf(raw.annotations)?.slice(part.notes) ?? []) {
      this.sink.markMissedDelta();
      part.notes++;
      this.#note(annotation);
    }
  }

  /** Finishes the parts that the whole item has, and opens those that no event brought. */
  #finishAll(parts: Parts, sent: unknown): void {
    const isOneText = filledText(sent) !== undefined;
    if (this.#isMessage && (isOneText || sent === "")) this.sink.markRepaired();
    const whole = listOf(sent) ?? (isOneText ? [{ type: "text", text: sent }] : []);
    if (this.#isMessage && whole.length < parts.size) this.sink.markRepaired();
    // An index beyond the list is not an index: then the parts are in the order in which they came.
    const isMisnumbered = [...parts.keys()].some((index) => index >= whole.length);
    const streamed = isMisnumbered ? [...parts.values()] : undefined;
    for (const [place, entry] of whole.entries()) {
      const fields = fieldsOf(entry) ?? (this.#isMessage ? undefined : { text: entry });
      const side = parts === this.#summary ? "summary" : "content";
      const type = this.#isMessage ? partType(fields) : side;
      if (fields === undefined || type === undefined) continue;
      const part = streamed === undefined ? parts.get(place) : streamed[place];
      if (part === undefined) this.sink.markMissedDelta();
      this.#finish(part ?? this.#open(parts, type, place), fields);
    }
  }

  #note(annotation: unknown): void {
    if (!isOwnAnnotation(annotation)) this.sink.markRepaired();
    this.sink.emit(this, { type: "text-note", choice, annotation });
  }
}

function partType(part: Fields | undefined): "text" | "refusal" | undefined {
  if (part?.type === "refusal") return "refusal";
  return part?.type === "output_text" || part?.type === "text" ? "text" : undefined;
}

/** A list with entries: the API writes "none" as an empty one. */
function filledList(value: unknown): readonly unknown[] | undefined {
  const list = listOf(value);
  return list === undefined || list.length === 0 ? undefined : list;
}

const ofCalls = ["type", "id", "call_id", "name", "namespace", "status"];

/**
 * Reads a call to the client. A call of a function or custom tool is emitted as soon as its name is
 * known, one of a built-in kind when it is complete: before that it has no input, and some upstreams
 * change its call id.
 */
class CallItem extends OutputItem {
  readonly #kind: CallKind;
  readonly #input: StreamedText = { text: "", isDone: false };
  /** Only tools that have names have inputs that come in pieces. */
  readonly #isNamed: boolean;
  /** The number of the call, once its start has been emitted. */
  #call: number | undefined;
  /** Input that came before the name. */
  #held = "";

  constructor(kind: CallKind, first: Fields, id: string | undefined, sink: ItemSink) {
    super(first, id, sink);
    this.#kind = kind;
    this.#isNamed = kind.wrap === undefined;
    if (!this.#isNamed) return;
    if (filledText(first[kind.input]) !== undefined) sink.markMissedDelta();
    if (filledText(first.name) !== undefined) this.#start();
  }

  each(type: string, raw: Fields): void {
    if (!this.#isNamed) return;
    if (type.endsWith(".delta")) {
      if (typeof raw.delta === "string") this.#grow(raw.delta);
      else this.sink.markRepaired();
      return;
    }
    if (!type.endsWith(".done")) return;
    if (this.#call === undefined && filledText(raw.name) !== undefined) {
      this.seen = { ...this.seen, name: raw.name };
      this.#start();
    }
    this.#finish(raw[this.#kind.input]);
  }

  close(raw: Fields | undefined, complete: boolean): void {
    if (this.#call === undefined) {
      if (this.#isNamed) this.sink.markRepaired();
      this.seen = { ...this.seen, ...raw };
      // Nothing has been emitted yet, so the whole input replaces the pieces that were held.
      if (inputText(raw?.[this.#kind.input]) !== "") this.#held = "";
    }
    if (this.#isNamed && filledText(this.seen.name) === undefined)
      return this.sink.emit(this, { type: "turn-fail", fault: nameless() });
    const call = this.#start();
    if (raw !== undefined || this.#isNamed) this.#finish((raw ?? this.seen)[this.#kind.input]);
    // If no event ended the call, the end of the stream decides whether it is complete.
    if (raw !== undefined) this.sink.emit(this, { type: "call-end", choice, call, complete });
  }

  #start(): number {
    if (this.#call !== undefined) return this.#call;
    const { sink } = this;
    const seen = this.seen;
    const call = (this.#call = sink.calls++);
    let id = filledText(seen.call_id);
    if (id === undefined || sink.callIds.has(id)) {
      sink.markRepaired();
      id = sink.newId("call");
    }
    sink.callIds.add(id);
    const namespace = filledText(seen.namespace);
    const itemId = filledText(seen.id);
    sink.emit(this, {
      type: "call-start",
      choice,
      call,
      id,
      kind: this.#kind.kind,
      name: upstreamName(this.#isNamed ? (filledText(seen.name) ?? "") : this.#kind.kind),
      ...(namespace && { namespace }),
      ...(itemId && { itemId }),
      extra: responsesExtra(seen, [...ofCalls, this.#kind.input]),
    });
    if (this.#held !== "") this.#grow(this.#held);
    return call;
  }

  #grow(text: string): void {
    if (this.#call === undefined) {
      this.sink.markRepaired();
      this.#held += text;
      checkHeld(this.#held.length);
      return;
    }
    this.#input.text += text;
    this.sink.emit(this, { type: "call-delta", choice, call: this.#call, text });
  }

  #finish(whole: unknown): void {
    if (this.#call === undefined || whole === undefined || whole === null) return;
    if (!this.#isNamed) return this.#grow(inputText(whole));
    if (typeof whole !== "string") this.sink.markRepaired();
    const text = remainder(this.#input, inputText(whole), this.sink);
    if (text !== "") this.sink.emit(this, { type: "call-delta", choice, call: this.#call, text });
  }
}

/** Reads an item that the upstream works on itself, or one of an unknown type. */
class HostedItem extends OutputItem {
  readonly #item: number;

  constructor(first: Fields, id: string | undefined, sink: ItemSink) {
    super(first, id, sink);
    this.#item = sink.hosted++;
    this.#emit("item-start", this.seen);
  }

  each(_: string, raw: Fields): void {
    this.#emit("item-note", raw);
  }

  close(raw = this.seen): void {
    this.#emit("item-end", raw);
  }

  #emit(type: "item-start" | "item-note" | "item-end", raw: Fields): void {
    this.sink.emit(this, { type, choice, item: this.#item, dialect: "responses", raw });
  }
}
