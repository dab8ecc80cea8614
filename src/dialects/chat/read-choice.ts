/** Reads one choice of a chat answer. */

import type { Emit } from "../../stream/stage.ts";
import { append } from "../../turn/append.ts";
import type { NewId } from "../../turn/clock.ts";
import { isCut, type StopReason, type TurnEvent, type VendorExtra } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { nameless, upstreamError } from "../errors/upstream-error.ts";
import { fieldsOf, filledText, inputText, isNothing, listOf, numberOf } from "../shared/loose.ts";
import {
  addDetails,
  areOwnAnnotations,
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
} from "./answer-fields.ts";
import { areNumbered, CallAssembly, fragmentOf } from "./assembly.ts";

type Event = TurnEvent<UpstreamName>;

export class ChoiceReader {
  /** Its number for the client. */
  readonly index: number;
  hasText = false;
  /** True if it has emitted anything but its end. */
  hasContent = false;
  isFinished = false;
  /** Vendor fields beside the message, as they came last. */
  seenFields: Map<string, unknown> | undefined;
  readonly calls: CallAssembly;
  readonly #newId: NewId;
  readonly #out: Emit<Event>;
  #images = 0;
  /** True if the reasoning has details or other signatures, which are emitted with its end. */
  #isSigned = false;
  #details: Fields[] = [];
  /** Vendor fields of the reasoning, such as signatures. */
  #reasoningExtra: Fields | undefined;
  #hasRole = false;
  #hasReasoning = false;
  /** True if calls came as `tool_calls`. */
  #hasCalls = false;
  /** For an upstream that sends messages in place of deltas. */
  #snapshots: Snapshots | undefined;

  constructor(index: number, newId: NewId, out: Emit<Event>) {
    this.index = index;
    this.#newId = newId;
    this.#out = out;
    this.calls = new CallAssembly(index, newId, this.#emitAfterReasoning);
  }

  /** True if an entry of `choices` is as the OpenAI API writes it. */
  fits(raw: Fields, isWhole: boolean): boolean {
    const delta = fieldsOf(isWhole ? raw.message : raw.delta);
    // A client would take the text twice if a message came with the delta.
    if (delta === undefined || (!isWhole && fieldsOf(raw.message)) || raw.error != null)
      return false;
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
    // A client goes by the reason, so it must agree with whether calls were made.
    if (stop === "calls" ? !made : stop === "end" && made) return false;
    // A whole answer is given without the call that its end cut off.
    if (isWhole) return !made || !isCut(stop);
    // Readers that detect the end of a call miss one that begins where the choice ends.
    const { count, begun, empty } = this.calls;
    return (
      begun === count && empty === 0 && !(hasCalls && fieldsOf(listOf(calls)?.[0])?.id != null)
    );
  }

  /** Reads an entry of any form. */
  each(raw: Fields, isWhole: boolean): void {
    const fault = raw.error == null ? undefined : upstreamError(raw);
    if (fault !== undefined) this.#emit({ type: "turn-fail", fault });
    const message = fieldsOf(raw.message);
    const delta = isWhole && message !== undefined ? message : fieldsOf(raw.delta);
    if (delta !== undefined) this.#readDelta(delta, raw, isWhole);
    else if (message !== undefined) this.#readSnapshot(message, raw);
    // Completions of old have the text in the choice.
    else if (typeof raw.text === "string") this.#readDelta({ content: raw.text }, raw, isWhole);
    const { finish_reason: reason } = raw;
    const stop = ownStops.get(reason);
    if (stop === undefined) {
      if (reason != null) this.#readEnd(reason);
    } else if (!this.isFinished) this.#end(stop);
  }

  /** Emits an annotation that came outside of the choice. */
  note(annotation: unknown): void {
    this.#out({ type: "text-note", choice: this.index, annotation });
  }

  /** Ends a choice whose answer ended without a `finish_reason`. */
  close(): void {
    // Arguments with open brackets were cut off: the end of the stream does not complete them.
    if (this.isFinished || this.calls.unclosed().length > 0) return;
    this.#end(this.calls.count > 0 ? "calls" : "end");
  }

  #readSnapshot(message: Fields, raw: Fields): void {
    if (!this.hasContent) this.#snapshots ??= new Snapshots();
    if (this.#snapshots !== undefined) this.#readDelta(this.#snapshots.fresh(message), raw, true);
    // A message after the deltas repeats them, but for calls.
    else if (this.calls.count === 0) this.#readCalls(message, true);
  }

  #readDelta(delta: Fields, raw: Fields, isWhole: boolean): void {
    if (delta.role != null) this.#hasRole = true;
    const thought = reasoningTextIn(delta);
    if (thought !== undefined) {
      this.#hasReasoning = true;
      this.#emitReasoning(thought);
    } else if (!this.#hasReasoning && (delta.reasoning_details ?? delta.thinking_blocks) != null) {
      // Reasoning that comes as text too is read once.
      const blocks = listOf(delta.reasoning_details) ?? listOf(delta.thinking_blocks);
      this.#emitReasoning(detailsText(blocks ?? []));
    }
    const vendor = vendorFieldsIn(delta);
    if (vendor?.reasoning !== undefined) this.#readReasoningExtra(vendor.reasoning, isWhole);
    // The transcript of audio counts as text.
    const { content } = delta;
    const text =
      (content === "" || typeof content !== "string") && delta.audio != null
        ? (filledText(fieldsOf(delta.audio)?.transcript) ?? content)
        : content;
    const logprobs = raw.logprobs == null ? undefined : listOf(fieldsOf(raw.logprobs)?.content);
    if (typeof text !== "string") {
      if (text != null) this.#readContentParts(text);
    } else this.#emitText(text, logprobs?.length === 0 ? undefined : logprobs);
    if (delta.refusal != null) this.#emitRefusal(filledText(delta.refusal) ?? "");
    if (delta.annotations != null) this.#readAnnotations(delta.annotations);
    if (delta.images != null) for (const url of imagesIn(delta.images)) this.#emitImage(url);
    if (vendor?.message !== undefined) this.#emitVendorExtra("message", vendor.message);
    if (delta.tool_calls != null || delta.function_call != null) this.#readCalls(delta, isWhole);
  }

  #readAnnotations(annotations: unknown): void {
    for (const raw of listOf(annotations) ?? []) {
      this.hasText = true;
      const annotation = readAnnotation(raw);
      this.#emitAfterReasoning({ type: "text-note", choice: this.index, annotation });
    }
  }

  #readContentParts(content: unknown): void {
    for (const part of listOf(content) ?? [content]) {
      const { type, text, signed } = readAnswerPart(part);
      if (type === "reasoning") this.#emitReasoning(text);
      if (signed !== undefined) this.#readReasoningExtra({ thinking_blocks: [signed] }, false);
      if (type === "refusal") this.#emitRefusal(text);
      if (type === "text") this.#emitText(text);
    }
  }

  #readCalls({ tool_calls: calls, function_call: oldCall }: Fields, isWhole: boolean): void {
    const list = listOf(calls) ?? [calls].filter((one) => one != null);
    const isPlaced = isWhole && list.length > 1 && !areNumbered(list);
    for (let at = 0; at < list.length; at++) {
      const raw = fieldsOf(list[at]);
      if (raw !== undefined)
        this.calls.each(fragmentOf(isPlaced ? { ...raw, index: at } : raw, at > 0));
    }
    this.#hasCalls ||= list.length > 0;
    const old = fieldsOf(oldCall);
    // Some send a call in the old form too.
    if (old !== undefined && !this.#hasCalls)
      this.calls.each(fragmentOf({ index: 0, type: "function", function: old }, false));
  }

  #readEnd(reason: unknown): void {
    const word = filledText(reason) ?? filledText(fieldsOf(reason)?.type);
    if (word === undefined || this.isFinished) return;
    const stop = readFinish(word);
    if (stop instanceof Fault) this.#emit({ type: "turn-fail", fault: stop });
    else this.#end(stop);
  }

  #end(stop: StopReason): void {
    const choice = this.index;
    const areNamed = this.calls.end();
    if (isCut(stop))
      for (const call of this.calls.unclosed())
        this.#emit({ type: "call-end", choice, call, complete: false });
    if (this.#isSigned) this.#endSignedReasoning();
    if (!areNamed) return this.#emit({ type: "turn-fail", fault: nameless() });
    this.#out({ type: "turn-end", choice, stop });
    this.isFinished = true;
  }

  #emit(event: Event): void {
    this.hasContent = true;
    this.#out(event);
  }

  /** Ends signed reasoning before anything else begins. */
  readonly #emitAfterReasoning = (event: Event): void => {
    if (this.#isSigned) this.#endSignedReasoning();
    this.#emit(event);
  };

  #emitText(text: string, logprobs?: readonly unknown[]): void {
    if (text === "" && logprobs === undefined) return;
    this.hasText = true;
    const delta = { type: "text-delta", choice: this.index, text } as const;
    this.#emitAfterReasoning(logprobs === undefined ? delta : { ...delta, logprobs });
  }

  #emitRefusal(text: string): void {
    if (text === "") return;
    this.hasText = true;
    this.#emitAfterReasoning({ type: "refusal-delta", choice: this.index, text });
  }

  #emitReasoning(text: string): void {
    const choice = this.index;
    if (text !== "") this.#emit({ type: "reasoning-delta", choice, text, of: "content", part: 0 });
  }

  #emitImage(url: string): void {
    const { first, last } = imageItem(url, this.#newId("ig"));
    // Written as the item of the API that has a form for it.
    const about = { choice: this.index, item: this.#images++, dialect: "responses" };
    this.#emitAfterReasoning({ type: "item-start", ...about, raw: first });
    this.#emit({ type: "item-end", ...about, raw: last });
  }

  #emitVendorExtra(of: VendorExtra["of"], fields: Fields): void {
    const extra = { dialect: "chat", fields };
    this.#emit({ type: "vendor-extra", choice: this.index, of, extra });
  }

  #readReasoningExtra(fields: Fields, isWhole: boolean): void {
    const { reasoning_details: details, ...rest } = fields;
    const more = (listOf(details) ?? []).flatMap((entry) => fieldsOf(entry) ?? []);
    if (isWhole) append(this.#details, more);
    else addDetails(this.#details, more);
    if (Object.keys(rest).length > 0)
      this.#reasoningExtra = mergedPieces(this.#reasoningExtra ?? {}, rest);
    this.#isSigned = this.#details.length > 0 || this.#reasoningExtra !== undefined;
    this.#emitVendorExtra("reasoning", fields);
  }

  #endSignedReasoning(): void {
    const [details, fields] = [this.#details, this.#reasoningExtra];
    this.#isSigned = false;
    this.#details = [];
    this.#reasoningExtra = undefined;
    this.#emit({
      type: "reasoning-end",
      choice: this.index,
      ...(details.length > 0 && { details }),
      ...(fields !== undefined && { extra: { dialect: "chat", fields } as const }),
    });
  }
}

const isSilent = (delta: Fields, { logprobs }: Fields): boolean =>
  logprobs == null && Object.values(delta).every(isNothing);

/** The texts of an upstream that sends messages in place of deltas, each with all text so far. */
class Snapshots {
  readonly #texts = new Map<string, { readonly last: string; readonly hasGrown: boolean }>();

  /** The message without the text that earlier messages brought. */
  fresh(message: Fields): Fields {
    const fresh: Record<string, unknown> = { ...message };
    for (const key of ["content", "refusal", ...reasoningFields]) {
      const text = filledText(message[key]);
      if (text !== undefined) fresh[key] = this.#freshText(key, text);
    }
    const calls = listOf(message.tool_calls);
    if (calls !== undefined) fresh.tool_calls = calls.map((call, at) => this.#freshCall(call, at));
    return fresh;
  }

  #freshCall(raw: unknown, at: number): unknown {
    const call = fieldsOf(raw);
    const called = fieldsOf(call?.function);
    if (call === undefined || called === undefined) return raw;
    const key = `call ${filledText(call.id) ?? numberOf(call.index) ?? at}`;
    const input = this.#freshText(key, inputText(called.arguments));
    return { ...call, function: { ...called, arguments: input } };
  }

  #freshText(key: string, text: string): string {
    const { last, hasGrown } = this.#texts.get(key) ?? { last: "", hasGrown: false };
    const grows = text.startsWith(last);
    // Before any has grown, a text that does not begin with the last one is a piece.
    if (last.startsWith(text) || (hasGrown && !grows)) return "";
    this.#texts.set(key, { last: text, hasGrown: grows && last !== "" });
    return grows ? text.slice(last.length) : text;
  }
}
