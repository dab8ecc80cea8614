import { append } from "../../turn/append.ts";
import type { Emit } from "../../stream/stage.ts";
import type { NewId } from "../../turn/clock.ts";
import { isCut, type VendorExtra, type StopReason, type TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Delta, Run } from "../shared/frame-runs.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";
import { upstreamError } from "../errors/upstream-error.ts";
import { nameless } from "../errors/malformed.ts";
import { vendorFieldsIn, choiceVendorFields, type VendorFields } from "./vendor-extra.ts";
import { CallAssembly } from "./assembly.ts";
import { isOwnAnnotation, readAnnotation } from "./citations.ts";
import { addDetails, detailsText, mergedPieces, reasoningTextIn } from "./details.ts";
import { readFinish } from "./finish.ts";
import { areNumbered, callInPart, fragmentOf, isOwnHeader } from "./fragment.ts";
import { imageItem, imagesIn } from "./images.ts";
import { readAnswerPart } from "./answer-part.ts";
import { Snapshots } from "./snapshots.ts";

type Event = TurnEvent<UpstreamName>;

/** Reads one choice of an answer, whatever shape its pieces have. */
export class ChoiceReader {
  /** Its number for the client. */
  readonly index: number;
  readonly vendorFields: VendorFields = choiceVendorFields();
  readonly #newId: NewId;
  readonly #calls: CallAssembly;
  #images = 0;
  #details: Fields[] = [];
  /** What else came with the reasoning, such as signatures. */
  #reasoningExtra: Fields | undefined;
  #hasRole = false;
  #hasReasoning = false;
  #hasText = false;
  /** In the form of today. */
  #hasCalls = false;
  #hasContent = false;
  #finished = false;
  /** Of an upstream that sends messages where deltas belong. */
  #snapshots: Snapshots | undefined;
  #emit: Emit<Event> = () => {};
  // Of the entry at hand:
  #forwardable = true;
  #begun = false;

  constructor(index: number, newId: NewId) {
    this.index = index;
    this.#newId = newId;
    this.#calls = new CallAssembly(index, newId);
  }

  /** Takes an entry of `choices`. True if it is as the OpenAI API would have sent it. */
  each(raw: Fields, whole: boolean, emit: Emit<Event>): boolean {
    this.#emit = emit;
    this.#forwardable = true;
    this.#begun = false;
    if (raw.error != null) {
      const fault = upstreamError(raw);
      if (fault !== undefined) this.#fail(fault);
    }
    this.#readEntry(raw, whole);
    this.#readEnd(raw.finish_reason, whole);
    return this.#forwardable;
  }

  /** Emits an annotation that came outside of the choice. */
  note(annotation: unknown, emit: Emit<Event>): void {
    emit({ type: "text-note", choice: this.index, annotation });
  }

  /** True if more text has no other effect than to be emitted. */
  takesRuns(): boolean {
    const isSigned = this.#details.length > 0 || this.#reasoningExtra !== undefined;
    return !this.#finished && !isSigned && !this.#calls.waiting();
  }

  /** Takes frames that are known to bring nothing but more text. */
  more(delta: Delta, { literals }: Run, emit: Emit<Event>): void {
    if (delta.type === "call-delta") this.#calls.more(delta.call, literals, emit);
    else emit({ ...delta, text: literals.of, literals });
  }

  /** The answer is over without a `finish_reason` of this choice. */
  close(emit: Emit<Event>): void {
    // Arguments with open brackets were cut off: the end of the stream does not complete them.
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

  /** Whether it has emitted anything but its end. */
  hasContent(): boolean {
    return this.#hasContent;
  }

  /** Whether a call has begun upstream that cannot be emitted yet. */
  hasUnnamedCall(): boolean {
    return this.#calls.waiting();
  }

  #readEntry(raw: Fields, whole: boolean): void {
    const message = fieldsOf(raw.message);
    if (whole && message !== undefined) return this.#readDelta(message, raw, true);
    const delta = fieldsOf(raw.delta) ?? textDelta(raw);
    // A client would take the text twice if a message came with the delta.
    const isOwn = delta !== undefined && delta === raw.delta && message === undefined;
    if (whole || !isOwn) this.#forwardable = false;
    if (delta !== undefined) return this.#readDelta(delta, raw, whole);
    if (message === undefined) return;
    if (!this.#hasContent) this.#snapshots ??= new Snapshots();
    if (this.#snapshots !== undefined) this.#readDelta(this.#snapshots.fresh(message), raw, true);
    // A message behind the deltas repeats them, but for calls.
    else if (!this.#calls.made()) this.#readCalls(message, true);
  }

  #readDelta(delta: Fields, raw: Fields, whole: boolean): void {
    this.#readRole(delta.role);
    this.#readReasoning(delta);
    const { message, reasoning } = vendorFieldsIn(delta);
    if (reasoning !== undefined) this.#readReasoningExtra(reasoning, whole);
    const logprobs = listOf(fieldsOf(raw.logprobs)?.content);
    // The transcript of audio counts as text.
    const transcript = filledText(fieldsOf(delta.audio)?.transcript);
    const content =
      filledText(delta.content) === undefined ? (transcript ?? delta.content) : delta.content;
    this.#readContent(content, logprobs?.length === 0 ? undefined : logprobs);
    // Calls that come in both forms are read once.
    const isOther = this.#hasCalls || (listOf(delta.tool_calls) ?? []).length > 0;
    if (typeof delta.content === "object" && !isOther)
      this.#readCallParts(listOf(delta.content) ?? [delta.content], whole);
    this.#emitRefusal(filledText(delta.refusal) ?? "");
    this.#readAnnotations(delta.annotations);
    for (const url of imagesIn(delta.images)) this.#emitImage(url);
    if (message !== undefined) this.#emitVendorExtra("message", message);
    this.#readCalls(delta, whole);
  }

  #readRole(role: unknown): void {
    if (role === undefined) return;
    if (this.#hasRole || role !== "assistant") this.#forwardable = false;
    if (role === null) return;
    this.#hasRole = true;
  }

  #readReasoning(delta: Fields): void {
    const text = reasoningTextIn(delta);
    this.#hasReasoning ||= text !== undefined;
    // Reasoning that comes in both forms is read once.
    const blocks = listOf(delta.reasoning_details) ?? listOf(delta.thinking_blocks) ?? [];
    this.#emitReasoning(text ?? (this.#hasReasoning ? "" : detailsText(blocks)));
  }

  #readContent(content: unknown, logprobs: readonly unknown[] | undefined): void {
    if (typeof content === "string") return this.#emitText(content, logprobs);
    if (content === undefined || content === null) return;
    this.#forwardable = false;
    for (const part of listOf(content) ?? [content]) {
      const { type, text, signed } = readAnswerPart(part);
      if (type === "reasoning") this.#emitReasoning(text);
      if (signed !== undefined) this.#readReasoningExtra({ thinking_blocks: [signed] }, false);
      if (type === "refusal") this.#emitRefusal(text);
      if (type === "text") this.#emitText(text);
    }
  }

  #readCallParts(parts: readonly unknown[], whole: boolean): void {
    for (const [at, fragment] of parts.flatMap((part) => callInPart(part) ?? []).entries()) {
      const index = whole ? at : undefined;
      this.#calls.each({ ...fragment, index, notFirst: at > 0 }, this.#emitCall);
    }
  }

  #readAnnotations(annotations: unknown): void {
    for (const raw of listOf(annotations) ?? []) {
      if (!isOwnAnnotation(raw)) this.#forwardable = false;
      this.#hasText = true;
      this.#endSignedReasoning();
      this.#emitEvent({ type: "text-note", choice: this.index, annotation: readAnnotation(raw) });
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
      if (filledText(fragment.name) !== undefined) {
        // A header repeated with every piece is weighed each time anew.
        if (!isOwnHeader(raw)) this.#forwardable = false;
      }
      this.#calls.each(fragment, this.#emitCall);
    }
    this.#hasCalls ||= list.length > 0;
    const legacy = fieldsOf(delta.function_call);
    if (legacy !== undefined && this.#hasCalls) this.#forwardable = false;
    // Some send a call in the old form too.
    else if (legacy !== undefined) {
      const { name, arguments: input } = legacy;
      this.#calls.each(
        { index: 0, kind: "function", name: filledText(name), input },
        this.#emitCall,
      );
    }
    if (this.#calls.repaired()) this.#forwardable = false;
  }

  #readEnd(reason: unknown, whole: boolean): void {
    if (reason === undefined || reason === null) return;
    const word = filledText(reason) ?? filledText(fieldsOf(reason)?.type);
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
    this.#calls.end(this.#emitCall);
    if (isCut(stop))
      for (const call of this.#calls.unclosed())
        this.#emitEvent({ type: "call-end", choice: this.index, call, complete: false });
    this.#endSignedReasoning();
    if (this.#calls.repaired()) this.#forwardable = false;
    if (this.#calls.nameless()) return this.#fail(nameless());
    this.#emitEvent({ type: "turn-end", choice: this.index, stop });
    this.#finished = true;
  }

  #emitEvent(event: Event): void {
    if (!this.#hasRole || this.#finished) this.#forwardable = false;
    // The end is not content.
    if (event.type !== "turn-end") this.#hasContent = true;
    this.#emit(event);
  }

  #emitText(text: string, logprobs?: readonly unknown[]): void {
    if (text === "" && logprobs === undefined) return;
    this.#endSignedReasoning();
    this.#hasText = true;
    const delta = { type: "text-delta", choice: this.index, text } as const;
    this.#emitEvent(logprobs === undefined ? delta : { ...delta, logprobs });
  }

  #emitRefusal(text: string): void {
    if (text === "") return;
    this.#endSignedReasoning();
    this.#hasText = true;
    this.#emitEvent({ type: "refusal-delta", choice: this.index, text });
  }

  #emitReasoning(text: string): void {
    if (text === "") return;
    const choice = this.index;
    this.#emitEvent({ type: "reasoning-delta", choice, text, of: "content", part: 0 });
  }

  #emitImage(url: string): void {
    this.#endSignedReasoning();
    const { first, last } = imageItem(url, this.#newId("ig"));
    // Written as the item of the API that has a form for it.
    const about = { choice: this.index, item: this.#images++, dialect: "responses" };
    this.#emitEvent({ type: "item-start", ...about, raw: first });
    this.#emitEvent({ type: "item-end", ...about, raw: last });
  }

  readonly #emitCall = (event: Event): void => {
    this.#begun ||= event.type === "call-start";
    this.#endSignedReasoning();
    this.#emitEvent(event);
  };

  #emitVendorExtra(of: VendorExtra["of"], fields: Fields): void {
    this.#emitEvent({
      type: "vendor-extra",
      choice: this.index,
      of,
      extra: { dialect: "chat", fields },
    });
  }

  #readReasoningExtra(fields: Fields, whole: boolean): void {
    const { reasoning_details: details, ...rest } = fields;
    const more = listOf(details) ?? [];
    if (!whole) addDetails(this.#details, more);
    else
      append(
        this.#details,
        more.map(fieldsOf).filter((entry) => entry !== undefined),
      );
    if (Object.keys(rest).length > 0)
      this.#reasoningExtra = mergedPieces(this.#reasoningExtra ?? {}, rest);
    this.#emitVendorExtra("reasoning", fields);
  }

  /** Ends reasoning that is signed, with its signatures, before anything else begins. */
  #endSignedReasoning(): void {
    const [details, fields] = [this.#details, this.#reasoningExtra];
    if (details.length === 0 && fields === undefined) return;
    this.#details = [];
    this.#reasoningExtra = undefined;
    this.#emitEvent({
      type: "reasoning-end",
      choice: this.index,
      ...(details.length > 0 && { details }),
      ...(fields !== undefined && { extra: { dialect: "chat", fields } as const }),
    });
  }

  #fail(fault: Fault): void {
    this.#forwardable = false;
    this.#emitEvent({ type: "turn-fail", fault });
  }
}

/** What a choice says in the form of old completions. */
const textDelta = ({ message, text }: Fields): Fields | undefined =>
  message == null && typeof text === "string" ? { content: text } : undefined;
