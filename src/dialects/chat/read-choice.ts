import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import { isCut, type VendorExtra, type StopReason, type TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, textOf } from "../shared/loose.ts";
import { upstreamError } from "../errors/upstream-error.ts";
import { nameless } from "../errors/malformed.ts";
import { asidesIn, besideChoice, type Beside } from "./vendor-extra.ts";
import { CallAssembly } from "./assembly.ts";
import { isWholeAnnotation, readAnnotation } from "./citations.ts";
import { addDetails, detailsText, grown, thoughtIn } from "./details.ts";
import { readFinish } from "./finish.ts";
import { areNumbered, callInPart, fragmentOf, isOwnHeader } from "./fragment.ts";
import { imageItem, imagesIn } from "./images.ts";
import { readSaidPart } from "./said-part.ts";
import { Snapshots } from "./snapshots.ts";

type Event = TurnEvent<UpstreamName>;

/** A delta that is the whole effect of a frame. */
export type Spoken = Extract<
  Event,
  { type: "text-delta" | "reasoning-delta" | "refusal-delta" | "call-delta" }
>;

/** Reads one choice of an answer, whatever shape its pieces have. */
export class ChoiceReader {
  /** Its number for the client. */
  readonly index: number;
  readonly beside: Beside = besideChoice();
  readonly #newId: NewId;
  readonly #calls: CallAssembly;
  #images = 0;
  #details: Fields[] = [];
  /** What else came with the reasoning, such as signatures. */
  #sealed: Fields | undefined;
  #hasRole = false;
  #hasReasoning = false;
  #hasText = false;
  /** In the form of today. */
  #hasCalls = false;
  #told = false;
  #finished = false;
  /** Of an upstream that sends messages where deltas belong. */
  #snapshots: Snapshots | undefined;
  #emit: Emit<Event> = () => {};
  // Of the entry at hand:
  #forwardable = true;
  #plain = true;
  #begun = false;
  #said: Event | undefined;
  /** What it said behind that and beside it. */
  #aside: VendorExtra | undefined;

  constructor(index: number, newId: NewId) {
    this.index = index;
    this.#newId = newId;
    this.#calls = new CallAssembly(index, newId);
  }

  /** Takes an entry of `choices`. True if it is as the OpenAI API would have sent it. */
  each(raw: Fields, whole: boolean, emit: Emit<Event>): boolean {
    this.#emit = emit;
    this.#forwardable = true;
    this.#plain = true;
    this.#begun = false;
    this.#said = undefined;
    this.#aside = undefined;
    if (raw.error != null) {
      const fault = upstreamError(raw);
      if (fault !== undefined) this.#fail(fault);
    }
    this.#readEntry(raw, whole);
    this.#readEnd(raw.finish_reason, whole);
    return this.#forwardable;
  }

  /** Notes an annotation that stood outside of the choice. */
  note(annotation: unknown, emit: Emit<Event>): void {
    this.#plain = false;
    emit({ type: "text-note", choice: this.index, annotation });
  }

  /** Takes text that is known to be all that a frame says. */
  more(event: Spoken, text: string, emit: Emit<Event>): void {
    if (event.type === "text-delta") emit({ type: "text-delta", choice: this.index, text });
    else if (event.type === "call-delta") this.#calls.more(event.call, text, emit);
    else emit({ ...event, text });
  }

  /** The answer is over and never said how this choice ended. */
  close(emit: Emit<Event>): void {
    // That the stream is over does not say that arguments are: those were cut off.
    if (this.#finished || this.#calls.unclosed().length > 0) return;
    this.#emit = emit;
    this.#end(this.#calls.made() ? "calls" : "end");
  }

  finished(): boolean {
    return this.#finished;
  }

  hasText(): boolean {
    return this.#hasText;
  }

  /** Whether it has said anything but its end. */
  told(): boolean {
    return this.#told;
  }

  /** Whether a call has been heard of and cannot be told of yet. */
  waiting(): boolean {
    return this.#calls.waiting();
  }

  /** What the last entry said beside what it spoke. */
  aside(): VendorExtra | undefined {
    return this.#aside;
  }

  /** What the last entry said, if it did nothing else than to say it, but for an aside. */
  spoken(): Spoken | undefined {
    const said = this.#said;
    if (!this.#plain || said === undefined) return undefined;
    switch (said.type) {
      case "text-delta":
        return said.logprobs === undefined ? said : undefined;
      case "reasoning-delta":
      case "refusal-delta":
      case "call-delta":
        return said;
      default:
        return undefined;
    }
  }

  #readEntry(raw: Fields, whole: boolean): void {
    const message = fieldsOf(raw.message);
    if (whole && message !== undefined) return this.#readDelta(message, raw, true);
    const delta = fieldsOf(raw.delta) ?? textDelta(raw);
    // Beside a delta, a message makes readers take the text twice.
    const isOwn = delta !== undefined && delta === raw.delta && message === undefined;
    if (whole || !isOwn) this.#forwardable = false;
    if (delta !== undefined) return this.#readDelta(delta, raw, whole);
    if (message === undefined) return;
    if (!this.#told) this.#snapshots ??= new Snapshots();
    if (this.#snapshots !== undefined) this.#readDelta(this.#snapshots.news(message), raw, true);
    // A message that sums up what was already streamed says nothing new, but for calls.
    else if (!this.#calls.made()) this.#readCalls(message, true);
  }

  #readDelta(delta: Fields, raw: Fields, whole: boolean): void {
    this.#readRole(delta.role);
    this.#readReasoning(delta);
    const { message, reasoning } = asidesIn(delta);
    if (reasoning !== undefined) this.#sayReasoningAside(reasoning, whole);
    const logprobs = listOf(fieldsOf(raw.logprobs)?.content);
    // What is spoken is told as text, too.
    const spoken = textOf(fieldsOf(delta.audio)?.transcript);
    const content = textOf(delta.content) === undefined ? (spoken ?? delta.content) : delta.content;
    this.#readContent(content, logprobs?.length === 0 ? undefined : logprobs);
    // Who says calls in both ways is heard once.
    const isOther = this.#hasCalls || (listOf(delta.tool_calls) ?? []).length > 0;
    if (typeof delta.content === "object" && !isOther)
      this.#readCallParts(listOf(delta.content) ?? [delta.content], whole);
    this.#sayRefusal(textOf(delta.refusal) ?? "");
    this.#readAnnotations(delta.annotations);
    for (const url of imagesIn(delta.images)) this.#sayImage(url);
    if (message !== undefined) this.#sayAside("message", message);
    this.#readCalls(delta, whole);
  }

  #readRole(role: unknown): void {
    if (role === undefined) return;
    if (this.#hasRole || role !== "assistant") this.#forwardable = false;
    if (role === null) return;
    if (!this.#hasRole) this.#plain = false;
    this.#hasRole = true;
  }

  #readReasoning(delta: Fields): void {
    const text = thoughtIn(delta);
    this.#hasReasoning ||= text !== undefined;
    // Who says it in both ways is heard once.
    const blocks = listOf(delta.reasoning_details) ?? listOf(delta.thinking_blocks) ?? [];
    this.#sayReasoning(text ?? (this.#hasReasoning ? "" : detailsText(blocks)));
  }

  #readContent(content: unknown, logprobs: readonly unknown[] | undefined): void {
    if (typeof content === "string") return this.#sayText(content, logprobs);
    if (content === undefined || content === null) return;
    this.#forwardable = false;
    for (const part of listOf(content) ?? [content]) {
      const { type, text, signed } = readSaidPart(part);
      if (type === "reasoning") this.#sayReasoning(text);
      if (signed !== undefined) this.#sayReasoningAside({ thinking_blocks: [signed] }, false);
      if (type === "refusal") this.#sayRefusal(text);
      if (type === "text") this.#sayText(text);
    }
  }

  #readCallParts(parts: readonly unknown[], whole: boolean): void {
    for (const [at, fragment] of parts.flatMap((part) => callInPart(part) ?? []).entries()) {
      this.#plain = false;
      const index = whole ? at : undefined;
      this.#calls.each({ ...fragment, index, beside: at > 0 }, this.#sayCall);
    }
  }

  #readAnnotations(annotations: unknown): void {
    for (const raw of listOf(annotations) ?? []) {
      if (!isWholeAnnotation(raw)) this.#forwardable = false;
      this.#hasText = true;
      this.#seal();
      this.#say({ type: "text-note", choice: this.index, annotation: readAnnotation(raw) });
    }
  }

  #readCalls(delta: Fields, whole: boolean): void {
    const list = listOf(delta.tool_calls) ?? [delta.tool_calls].filter((one) => one != null);
    // Some readers look at the first only.
    if (list.length > 1 && !whole) this.#forwardable = false;
    const isPlaced = whole && !areNumbered(list);
    for (const [at, entry] of list.entries()) {
      const raw = fieldsOf(entry);
      if (typeof raw?.index === "string" || list !== delta.tool_calls) this.#forwardable = false;
      if (raw === undefined) {
        this.#forwardable = false;
        continue;
      }
      const fragment = fragmentOf(raw, at, isPlaced ? at : undefined);
      if (textOf(fragment.name) !== undefined) {
        // A header repeated with every piece is weighed each time anew.
        this.#plain = false;
        if (!isOwnHeader(raw)) this.#forwardable = false;
      }
      this.#calls.each(fragment, this.#sayCall);
    }
    this.#hasCalls ||= list.length > 0;
    const legacy = fieldsOf(delta.function_call);
    if (legacy !== undefined && this.#hasCalls) this.#forwardable = false;
    // Some say a call in the old form too, for whoever knows no other.
    else if (legacy !== undefined) {
      this.#plain = false;
      const { name, arguments: input } = legacy;
      this.#calls.each({ index: 0, kind: "function", name: textOf(name), input }, this.#sayCall);
    }
    if (this.#calls.repaired()) this.#forwardable = false;
  }

  #readEnd(reason: unknown, whole: boolean): void {
    if (reason === undefined || reason === null) return;
    const word = textOf(reason) ?? textOf(fieldsOf(reason)?.type);
    this.#plain = false;
    if (word === undefined || this.#finished) {
      this.#forwardable = false;
      return;
    }
    const { stop, forwardable: isOwn } = readFinish(word);
    // Whether calls were made is a fact, and what a client goes by.
    const made = this.#calls.made();
    const isTrue = stop === "calls" ? made : stop !== "end" || !made;
    // A whole answer is given without the call that its end cut off.
    const isLess = whole && made && !(stop instanceof Fault) && isCut(stop);
    // Readers that tell when a call is done miss one that begins where the choice ends.
    const isLate = this.#begun && !whole;
    if (word !== reason || !isOwn || !isTrue || isLess || isLate) this.#forwardable = false;
    if (stop instanceof Fault) this.#fail(stop);
    else this.#end(stop);
  }

  #end(stop: StopReason): void {
    this.#calls.end(this.#sayCall);
    if (isCut(stop))
      for (const call of this.#calls.unclosed())
        this.#say({ type: "call-end", choice: this.index, call, complete: false });
    this.#seal();
    if (this.#calls.repaired()) this.#forwardable = false;
    if (this.#calls.nameless()) return this.#fail(nameless());
    this.#say({ type: "turn-end", choice: this.index, stop });
    this.#finished = true;
  }

  #say(event: Event): void {
    const isAside = event.type === "vendor-extra";
    if (this.#aside !== undefined || (this.#said !== undefined && !isAside)) this.#plain = false;
    if (!this.#hasRole || this.#finished) this.#forwardable = false;
    // That it is over the client hears last of all.
    if (event.type !== "turn-end") this.#told = true;
    if (isAside) this.#aside = event;
    else this.#said = event;
    this.#emit(event);
  }

  #sayText(text: string, logprobs?: readonly unknown[]): void {
    if (text === "" && logprobs === undefined) return;
    this.#seal();
    this.#hasText = true;
    const delta = { type: "text-delta", choice: this.index, text } as const;
    this.#say(logprobs === undefined ? delta : { ...delta, logprobs });
  }

  #sayRefusal(text: string): void {
    if (text === "") return;
    this.#seal();
    this.#hasText = true;
    this.#say({ type: "refusal-delta", choice: this.index, text });
  }

  #sayReasoning(text: string): void {
    if (text === "") return;
    const choice = this.index;
    this.#say({ type: "reasoning-delta", choice, text, of: "content", part: 0 });
  }

  #sayImage(url: string): void {
    this.#seal();
    this.#plain = false;
    const { first, last } = imageItem(url, this.#newId("ig"));
    // Written as the item of the API that has a form for it.
    const about = { choice: this.index, item: this.#images++, dialect: "responses" };
    this.#say({ type: "item-start", ...about, raw: first });
    this.#say({ type: "item-end", ...about, raw: last });
  }

  readonly #sayCall = (event: Event): void => {
    this.#begun ||= event.type === "call-start";
    this.#seal();
    this.#say(event);
  };

  #sayAside(of: VendorExtra["of"], fields: Fields): void {
    if (of === "reasoning") this.#plain = false;
    this.#say({ type: "vendor-extra", choice: this.index, of, extra: { dialect: "chat", fields } });
  }

  #sayReasoningAside(fields: Fields, whole: boolean): void {
    const { reasoning_details: details, ...rest } = fields;
    const more = listOf(details) ?? [];
    if (!whole) addDetails(this.#details, more);
    else this.#details.push(...more.map(fieldsOf).filter((entry) => entry !== undefined));
    if (Object.keys(rest).length > 0) this.#sealed = grown(this.#sealed ?? {}, rest);
    this.#sayAside("reasoning", fields);
  }

  /** Reasoning that is signed ends with all that it was signed with, before anything else begins. */
  #seal(): void {
    const [details, fields] = [this.#details, this.#sealed];
    if (details.length === 0 && fields === undefined) return;
    this.#details = [];
    this.#sealed = undefined;
    this.#plain = false;
    this.#say({
      type: "reasoning-end",
      choice: this.index,
      ...(details.length > 0 && { details }),
      ...(fields !== undefined && { extra: { dialect: "chat", fields } as const }),
    });
  }

  #fail(fault: Fault): void {
    this.#forwardable = false;
    this.#say({ type: "turn-fail", fault });
  }
}

/** What a choice says in the form of old completions. */
const textDelta = ({ message, text }: Fields): Fields | undefined =>
  message == null && typeof text === "string" ? { content: text } : undefined;
