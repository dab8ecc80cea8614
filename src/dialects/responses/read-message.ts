import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, numberOf, filledText } from "../shared/loose.ts";
import { extraOf } from "./fields.ts";
import { isOwnAnnotation } from "./content-parts.ts";
import {
  choice,
  remainder,
  filledList,
  inPlace,
  type ItemReader,
  type ItemContext,
  type StreamedText,
} from "./item-context.ts";

const known = ["type", "id", "role", "content", "phase", "status"];

type PartType = "text" | "refusal";
type Part = StreamedText & { readonly type: PartType; notes: number; probed: boolean };

/** Reads a message. */
export class MessageReader implements ItemReader {
  readonly #first: Fields;
  readonly #to: ItemContext;
  readonly #parts = new Map<number, Part>();
  #last = 0;

  constructor(first: Fields, to: ItemContext) {
    this.#first = first;
    this.#to = to;
    if (filledList(first.content) !== undefined) to.markMissedDelta();
    const [id, phase] = [filledText(first.id), filledText(first.phase)];
    to.emit({ type: "text-start", choice, ...(id && { id }), ...(phase && { phase }) });
  }

  each(type: string, raw: Fields): void {
    switch (type) {
      case "response.output_text.delta":
        return this.#grow(this.#part(raw, "text"), raw);
      case "response.refusal.delta":
        return this.#grow(this.#part(raw, "refusal"), raw);
      case "response.content_part.added":
        return this.#add(raw);
      case "response.output_text.done":
        return this.#finish(this.#part(raw, "text", raw.text), raw);
      case "response.refusal.done":
        return this.#finish(this.#part(raw, "refusal", raw.refusal), raw);
      case "response.content_part.done": {
        const fields = fieldsOf(raw.part);
        const done = typeOf(fields);
        if (fields === undefined || done === undefined) return this.#to.markRepaired();
        return this.#finish(this.#part(raw, done, fields.text ?? fields.refusal), fields);
      }
      case "response.output_text.annotation.added":
        this.#part(raw, "text").notes++;
        this.#note(raw.annotation);
    }
  }

  close(raw: Fields | undefined, complete: boolean): void {
    const { content } = raw ?? (this.#parts.size === 0 ? this.#first : {});
    const parts = this.#partsOf(content);
    if (parts.length < this.#parts.size) this.#to.markRepaired();
    const streamed = inPlace(this.#parts, parts.length);
    for (const [index, entry] of parts.entries()) {
      const fields = fieldsOf(entry);
      const type = typeOf(fields);
      if (fields === undefined || type === undefined) continue;
      const part = streamed(index);
      if (part === undefined) this.#to.markMissedDelta();
      this.#finish(part ?? this.#open(index, type), fields);
    }
    const extra = raw && extraOf(raw, known);
    this.#to.emit({
      type: "text-end",
      choice,
      ...(!complete && { complete }),
      extra,
    });
  }

  isComplete(): boolean {
    for (const part of this.#parts.values()) if (!part.done) return false;
    return this.#parts.size > 0;
  }

  #partsOf(content: unknown): readonly unknown[] {
    if (typeof content !== "string") return listOf(content) ?? [];
    this.#to.markRepaired();
    return content === "" ? [] : [{ type: "output_text", text: content }];
  }

  #add(raw: Fields): void {
    const type = typeOf(fieldsOf(raw.part));
    const index = this.#index(raw) ?? this.#parts.size;
    if (type === undefined || this.#parts.has(index)) this.#to.markRepaired();
    else this.#open(index, type);
  }

  #open(index: number, type: PartType): Part {
    if (index !== this.#parts.size) this.#to.markRepaired();
    if (type === "text" && this.#parts.size > 0) this.#to.emit({ type: "text-break", choice });
    const part: Part = { type, text: "", done: false, notes: 0, probed: false };
    this.#parts.set(index, part);
    this.#last = index;
    return part;
  }

  #index(raw: Fields): number | undefined {
    const index = numberOf(raw.content_index);
    if (index === undefined) this.#to.markRepaired();
    return index;
  }

  /**
   * The part an event is about, opened if nobody announced it. Some count their
   * deltas where parts are counted, so a part goes on until it is done; `whole`
   * is what it came to, if the event says.
   */
  #part(raw: Fields, type: PartType, whole?: unknown): Part {
    const index = this.#index(raw) ?? this.#last;
    const found = this.#parts.get(index);
    if (found?.type === type) return found;
    this.#to.markRepaired();
    const last = found === undefined ? this.#parts.get(this.#last) : undefined;
    if (last?.type === type && (!last.done || whole === last.text)) return last;
    return this.#open(found === undefined ? index : this.#parts.size, type);
  }

  #grow(part: Part, raw: Fields): void {
    if (typeof raw.delta !== "string") return this.#to.markRepaired();
    part.text += raw.delta;
    this.#emitText(part, raw.delta, filledList(raw.logprobs));
  }

  #emitText(part: Part, text: string, logprobs: readonly unknown[] | undefined): void {
    if (part.type === "refusal") return this.#to.emit({ type: "refusal-delta", choice, text });
    if (logprobs === undefined) return this.#to.emit({ type: "text-delta", choice, text });
    part.probed = true;
    this.#to.emit({ type: "text-delta", choice, text, logprobs });
  }

  #finish(part: Part, raw: Fields): void {
    const more = remainder(part, part.type === "text" ? raw.text : raw.refusal, this.#to);
    const logprobs = part.probed ? undefined : filledList(raw.logprobs);
    if (more !== "" || logprobs !== undefined) this.#emitText(part, more, logprobs);
    for (const annotation of listOf(raw.annotations)?.slice(part.notes) ?? []) {
      this.#to.markMissedDelta();
      part.notes++;
      this.#note(annotation);
    }
  }

  #note(annotation: unknown): void {
    if (!isOwnAnnotation(annotation)) this.#to.markRepaired();
    this.#to.emit({ type: "text-note", choice, annotation });
  }
}

function typeOf(part: Fields | undefined): PartType | undefined {
  if (part?.type === "refusal") return "refusal";
  return part?.type === "output_text" || part?.type === "text" ? "text" : undefined;
}
