/** Reads one choice of a chat answer. */

import { isFields } from "../../json/json.ts";
import type { Emit } from "../../stream/stage.ts";
import { append } from "../../turn/append.ts";
import type { NewId } from "../../turn/clock.ts";
import { isCut, type StopReason, type TurnEvent, type VendorExtra } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { nameless, upstreamError } from "../errors/upstream-error.ts";
import type { Delta, Run } from "../shared/frame-runs.ts";
import { fieldsOf, filledText, inputText, listOf, numberOf } from "../shared/loose.ts";
import { isNothing } from "../shared/plain.ts";
import {
  addDetails,
  areOwnAnnotations,
  choiceFields,
  detailsText,
  imageItem,
  imagesIn,
  mergedPieces,
  ownStops,
  readAnnotation,
  readAnswerPart,
  readFinish,
  reasoningFields,
  reasoningTextIn,
  vendorFieldsIn,
  VendorFields,
} from "./answer-fields.ts";
import { areNumbered, CallAssembly, callInPart, fragmentOf } from "./assembly.ts";

type Event = TurnEvent<UpstreamName>;

/** Reads one choice of an answer, whatever shape its pieces have. */
export class ChoiceReader {
  /** Its number for the client. */
  readonly index: number;
  hasText = false;
  /** Whether it has emitted anything but its end. */
  hasContent = false;
  isFinished = false;
  readonly vendorFields = new VendorFields(choiceFields);
  readonly #newId: NewId;
  readonly calls: CallAssembly;
  #images = 0;
  /** Whether the reasoning has details or other signatures, which are emitted with its end. */
  #isSigned = false;
  #details: Fields[] = [];
  /** What else came with the reasoning, such as signatures. */
  #reasoningExtra: Fields | undefined;
  #hasRole = false;
  #hasReasoning = false;
  /** In the form of today. */
  #hasCalls = false;
  /** Of an upstream that sends messages where deltas belong. */
  #snapshots: Snapshots | undefined;
  #emit: Emit<Event> = () => {};

  constructor(index: number, newId: NewId) {
    this.index = index;
    this.#newId = newId;
    this.calls = new CallAssembly(index, newId);
  }

  /** Whether an entry of `choices` is as the OpenAI API writes it. */
  fits(raw: Fields, isWhole: boolean): boolean {
    const delta = isWhole ? raw.message : raw.delta;
    // A client would take the text twice if a message came with the delta.
    if (!isFields(delta) || (!isWhole && isFields(raw.message)) || raw.error != null) return false;
    const { role, content, annotations, tool_calls: calls, function_call: oldCall } = delta;
    if (role === undefined ? !this.#hasRole : role !== "assistant" || this.#hasRole) return false;
    if (content != null && typeof content !== "string") return false;
    if (oldCall != null || !(annotations == null || areOwnAnnotations(annotations))) return false;
    const hasCalls = Array.isArray(calls) ? calls.length > 0 : calls != null;
    if (hasCalls && !this.calls.fits(calls, isWhole)) return false;
    const reason = raw.finish_reason;
    if (reason == null) return !isWhole && (!this.isFinished || isSilent(delta, raw));
    const stop = ownStops.get(reason);
    if (stop === undefined || this.isFinished) return false;
    const made = hasCalls || this.calls.count > 0;
    // Whether calls were made is a fact, and what a client goes by.
    if (stop === "calls" ? !made : stop === "end" && made) return false;
    // A whole answer is given without the call that its end cut off.
    if (isWhole) return !made || !isCut(stop);
    // Readers that detect the end of a call miss one that begins where the choice ends.
    const { count, begun, empty } = this.calls;
    return (
      begun === count && empty === 0 && !(hasCalls && fieldsOf(listOf(calls)?.[0])?.id != null)
    );
  }

  /** Reads an entry that fits. */
  take(raw: Fields, isWhole: boolean, emit: Emit<Event>): void {
    this.#emit = emit;
    const delta = (isWhole ? raw.message : raw.delta) as Fields;
    if (delta.role !== undefined) this.#hasRole = true;
    this.#readParts(delta, raw, isWhole);
    const calls = delta.tool_calls as readonly Fields[] | null | undefined;
    if (calls != null && calls.length > 0) {
      this.#hasCalls = true;
      this.calls.take(calls, isWhole, this.#emitCall);
    }
    const stop = ownStops.get(raw.finish_reason);
    if (stop !== undefined) this.#end(stop);
  }

  /** Reads an entry of any shape. */
  each(raw: Fields, isWhole: boolean, emit: Emit<Event>): void {
    this.#emit = emit;
    const fault = raw.error == null ? undefined : upstreamError(raw);
    if (fault !== undefined) this.#fail(fault);
    this.#readEntry(raw, isWhole);
    this.#readEnd(raw.finish_reason);
  }

  /** Emits an annotation that came outside of the choice. */
  note(annotation: unknown, emit: Emit<Event>): void {
    emit({ type: "text-note", choice: this.index, annotation });
  }

  /** True if more text has no other effect than to be emitted. */
  takesRuns(): boolean {
    return !this.isFinished && !this.#isSigned && this.calls.begun === this.calls.count;
  }

  /** Takes frames that are known to bring nothing but more text. */
  more(delta: Delta, { literals }: Run, emit: Emit<Event>): void {
    if (delta.type === "call-delta") this.calls.more(delta.call, literals, emit);
    else emit({ ...delta, text: literals.of, literals });
  }

  /** The answer is over without a `finish_reason` of this choice. */
  close(emit: Emit<Event>): void {
    // Arguments with open brackets were cut off: the end of the stream does not complete them.
    if (this.isFinished || this.calls.unclosed().length > 0) return;
    this.#emit = emit;
    this.#end(this.calls.count > 0 ? "calls" : "end");
  }

  #readEntry(raw: Fields, isWhole: boolean): void {
    const message = fieldsOf(raw.message);
    if (isWhole && message !== undefined) return this.#readDelta(message, raw, true);
    const delta = fieldsOf(raw.delta) ?? textDelta(raw);
    if (delta !== undefined) return this.#readDelta(delta, raw, isWhole);
    if (message === undefined) return;
    if (!this.hasContent) this.#snapshots ??= new Snapshots();
    if (this.#snapshots !== undefined) this.#readDelta(this.#snapshots.fresh(message), raw, true);
    // A message behind the deltas repeats them, but for calls.
    else if (this.calls.count === 0) this.#readCalls(message, true);
  }

  #readDelta(delta: Fields, raw: Fields, isWhole: boolean): void {
    if (delta.role != null) this.#hasRole = true;
    this.#readParts(delta, raw, isWhole);
    this.#readCalls(delta, isWhole);
  }

  /** Reads what is no call. */
  #readParts(delta: Fields, raw: Fields, isWhole: boolean): void {
    const thought = reasoningTextIn(delta);
    if (thought !== undefined) {
      this.#hasReasoning = true;
      this.#emitReasoning(thought);
    } else if (delta.reasoning_details != null || delta.thinking_blocks != null)
      this.#readBlocks(delta);
    const vendor = vendorFieldsIn(delta);
    if (vendor?.reasoning !== undefined) this.#readReasoningExtra(vendor.reasoning, isWhole);
    // The transcript of audio counts as text.
    const { content } = delta;
    const text =
      (content === "" || typeof content !== "string") && delta.audio != null
        ? (filledText(fieldsOf(delta.audio)?.transcript) ?? content)
        : content;
    const logprobs = raw.logprobs == null ? undefined : listOf(fieldsOf(raw.logprobs)?.content);
    const hasLogprobs = logprobs !== undefined && logprobs.length > 0;
    if (typeof text !== "string") {
      if (text != null) this.#readContentParts(delta, isWhole);
    } else if (hasLogprobs) this.#emitText(text, logprobs);
    else if (text !== "") this.#emitText(text);
    if (delta.refusal != null) this.#emitRefusal(filledText(delta.refusal) ?? "");
    if (delta.annotations != null) this.#readAnnotations(delta.annotations);
    if (delta.images != null) for (const url of imagesIn(delta.images)) this.#emitImage(url);
    if (vendor?.message !== undefined) this.#emitVendorExtra("message", vendor.message);
  }

  /** Reads reasoning that comes in blocks. If it comes as text too, it is read once. */
  #readBlocks({ reasoning_details: details, thinking_blocks: blocks }: Fields): void {
    if (!this.#hasReasoning)
      this.#emitReasoning(detailsText(listOf(details) ?? listOf(blocks) ?? []));
  }

  #readAnnotations(annotations: unknown): void {
    for (const raw of listOf(annotations) ?? []) {
      this.hasText = true;
      if (this.#isSigned) this.#endSignedReasoning();
      this.#emitEvent({ type: "text-note", choice: this.index, annotation: readAnnotation(raw) });
    }
  }

  /** Reads content that is no text: parts, which may be calls. */
  #readContentParts({ content, tool_calls: listed }: Fields, isWhole: boolean): void {
    const parts = listOf(content) ?? [content];
    for (const part of parts) {
      const { type, text, signed } = readAnswerPart(part);
      if (type === "reasoning") this.#emitReasoning(text);
      if (signed !== undefined) this.#readReasoningExtra({ thinking_blocks: [signed] }, false);
      if (type === "refusal") this.#emitRefusal(text);
      if (type === "text") this.#emitText(text);
    }
    // Calls that come in both forms are read once.
    if (this.#hasCalls || (listOf(listed) ?? []).length > 0) return;
    for (const [at, fragment] of parts.flatMap((part) => callInPart(part) ?? []).entries()) {
      const index = isWhole ? at : undefined;
      this.calls.each({ ...fragment, index, notFirst: at > 0 }, this.#emitCall);
    }
  }

  #readCalls(delta: Fields, isWhole: boolean): void {
    const list = listOf(delta.tool_calls) ?? [delta.tool_calls].filter((one) => one != null);
    const isPlaced = isWhole && !areNumbered(list);
    for (const [at, entry] of list.entries()) {
      const raw = fieldsOf(entry);
      if (raw === undefined) continue;
      this.calls.each(fragmentOf(raw, at, isPlaced ? at : undefined), this.#emitCall);
    }
    this.#hasCalls ||= list.length > 0;
    const oldCall = fieldsOf(delta.function_call);
    // Some send a call in the old form too.
    if (oldCall === undefined || this.#hasCalls) return;
    const { name, arguments: input } = oldCall;
    const fragment = { index: 0, kind: "function", name: filledText(name), input };
    this.calls.each(fragment, this.#emitCall);
  }

  #readEnd(reason: unknown): void {
    if (reason === undefined || reason === null) return;
    const word = filledText(reason) ?? filledText(fieldsOf(reason)?.type);
    if (word === undefined || this.isFinished) return;
    const stop = readFinish(word);
    if (stop instanceof Fault) this.#fail(stop);
    else this.#end(stop);
  }

  #end(stop: StopReason): void {
    const areNamed = this.calls.end(this.#emitCall);
    if (isCut(stop))
      for (const call of this.calls.unclosed())
        this.#emitEvent({ type: "call-end", choice: this.index, call, complete: false });
    if (this.#isSigned) this.#endSignedReasoning();
    if (!areNamed) return this.#fail(nameless());
    this.#emitEvent({ type: "turn-end", choice: this.index, stop });
    this.isFinished = true;
  }

  #emitEvent(event: Event): void {
    // The end is not content.
    if (event.type !== "turn-end") this.hasContent = true;
    this.#emit(event);
  }

  #emitText(text: string, logprobs?: readonly unknown[]): void {
    if (text === "" && logprobs === undefined) return;
    if (this.#isSigned) this.#endSignedReasoning();
    this.hasText = true;
    const delta = { type: "text-delta", choice: this.index, text } as const;
    this.#emitEvent(logprobs === undefined ? delta : { ...delta, logprobs });
  }

  #emitRefusal(text: string): void {
    if (text === "") return;
    if (this.#isSigned) this.#endSignedReasoning();
    this.hasText = true;
    this.#emitEvent({ type: "refusal-delta", choice: this.index, text });
  }

  #emitReasoning(text: string): void {
    if (text === "") return;
    const choice = this.index;
    this.#emitEvent({ type: "reasoning-delta", choice, text, of: "content", part: 0 });
  }

  #emitImage(url: string): void {
    if (this.#isSigned) this.#endSignedReasoning();
    const { first, last } = imageItem(url, this.#newId("ig"));
    // Written as the item of the API that has a form for it.
    const about = { choice: this.index, item: this.#images++, dialect: "responses" };
    this.#emitEvent({ type: "item-start", ...about, raw: first });
    this.#emitEvent({ type: "item-end", ...about, raw: last });
  }

  readonly #emitCall = (event: Event): void => {
    if (this.#isSigned) this.#endSignedReasoning();
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
    this.#isSigned = this.#details.length > 0 || this.#reasoningExtra !== undefined;
    this.#emitVendorExtra("reasoning", fields);
  }

  /** Ends reasoning that is signed, with its signatures, before anything else begins. */
  #endSignedReasoning(): void {
    const [details, fields] = [this.#details, this.#reasoningExtra];
    this.#isSigned = false;
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
    this.#emitEvent({ type: "turn-fail", fault });
  }
}

/** Whether a delta emits nothing. */
const isSilent = (delta: Fields, { logprobs }: Fields): boolean =>
  logprobs == null && Object.values(delta).every(isNothing);

/** What a choice says in the form of old completions. */
const textDelta = ({ message, text }: Fields): Fields | undefined =>
  message == null && typeof text === "string" ? { content: text } : undefined;

/**
 * For upstreams that send messages where deltas belong: some send all text so
 * far in each, others only what is new. Which it is shows with the second text
 * of a field, so it is decided for each field by itself.
 */
class Snapshots {
  readonly #texts = new Map<string, Text>();

  /** The message without what those before it have brought. */
  fresh(message: Fields): Fields {
    const fresh: Record<string, unknown> = { ...message };
    for (const key of ["content", "refusal", ...reasoningFields]) {
      const text = filledText(message[key]);
      if (text !== undefined) fresh[key] = this.#new(key, text);
    }
    const calls = listOf(message.tool_calls);
    if (calls !== undefined) fresh.tool_calls = calls.map((call, at) => this.#newOfCall(call, at));
    return fresh;
  }

  #newOfCall(raw: unknown, at: number): unknown {
    const call = fieldsOf(raw);
    const called = fieldsOf(call?.function);
    if (call === undefined || called === undefined) return raw;
    const key = `call ${filledText(call.id) ?? numberOf(call.index) ?? at}`;
    const input = this.#new(key, inputText(called.arguments));
    return { ...call, function: { ...called, arguments: input } };
  }

  #new(key: string, text: string): string {
    let known = this.#texts.get(key);
    if (known === undefined) this.#texts.set(key, (known = newText()));
    return newIn(known, text);
  }
}

type Text = {
  last: string;
  grows: "unknown" | "by pieces" | "as a whole";
  /** Came once more: the same again, or a piece like the one before. */
  repeated: string;
};

const newText = (): Text => ({ last: "", grows: "unknown", repeated: "" });

function newIn(known: Text, text: string): string {
  const { last, grows, repeated } = known;
  if (last === "" || grows === "by pieces") {
    known.last = text;
    return text;
  }
  if (text.length > last.length && text.startsWith(last)) {
    known.grows = "as a whole";
    known.last = text;
    return text.slice(last.length);
  }
  if (grows === "as a whole" || text === "") return "";
  if (text === last) {
    known.repeated += text;
    return "";
  }
  known.grows = "by pieces";
  return repeated + text;
}
