import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, numberOf, filledText } from "../shared/loose.ts";
import { extraOf } from "./fields.ts";
import {
  choice,
  remainder,
  filledList,
  inPlace,
  type ItemReader,
  type ItemContext,
  type StreamedText,
} from "./item-context.ts";

type Side = "summary" | "content";
/** A paragraph, and which one of its side. */
type Paragraph = StreamedText & { readonly part: number };
type Step = { readonly of: Side; readonly does: "add" | "say" | "finish" };

/** Also under the names of the open schema and of older servers. */
const steps: Readonly<Record<string, Step>> = {
  "response.reasoning_summary_part.added": { of: "summary", does: "add" },
  "response.reasoning_summary_text.delta": { of: "summary", does: "say" },
  "response.reasoning_summary.delta": { of: "summary", does: "say" },
  "response.reasoning_summary_text.done": { of: "summary", does: "finish" },
  "response.reasoning_summary.done": { of: "summary", does: "finish" },
  "response.reasoning_summary_part.done": { of: "summary", does: "finish" },
  "response.content_part.added": { of: "content", does: "add" },
  "response.reasoning_text.delta": { of: "content", does: "say" },
  "response.reasoning.delta": { of: "content", does: "say" },
  "response.reasoning_text.done": { of: "content", does: "finish" },
  "response.reasoning.done": { of: "content", does: "finish" },
  "response.content_part.done": { of: "content", does: "finish" },
};

/** The fields that are emitted as events. An empty content would be left out, and is kept as it is. */
const knownFields = (raw: Fields): string[] => [
  "encrypted_content",
  ...((filledList(raw.content) ?? filledText(raw.content)) ? ["content"] : []),
];

/** Reads reasoning: a summary and a content, each in paragraphs. */
export class ReasoningReader implements ItemReader {
  readonly #first: Fields;
  readonly #to: ItemContext;
  readonly #sides = {
    summary: new Map<number, Paragraph>(),
    content: new Map<number, Paragraph>(),
  };

  constructor(first: Fields, to: ItemContext) {
    this.#first = first;
    this.#to = to;
    const id = filledText(first.id);
    to.emit({ type: "reasoning-start", choice, ...(id && { id }) });
  }

  each(type: string, raw: Fields): void {
    const step = Object.hasOwn(steps, type) ? steps[type] : undefined;
    if (step === undefined) return;
    const { of, does } = step;
    const index = numberOf(of === "summary" ? raw.summary_index : raw.content_index);
    if (index === undefined) this.#to.markRepaired();
    switch (does) {
      case "add":
        if (index !== undefined && this.#sides[of].has(index)) this.#to.markRepaired();
        else this.#open(of, index);
        return;
      case "say": {
        if (typeof raw.delta !== "string") return this.#to.markRepaired();
        const paragraph = this.#paragraph(of, index);
        paragraph.text += raw.delta;
        return this.#emitText(of, paragraph, raw.delta);
      }
      case "finish": {
        const whole = raw.text ?? fieldsOf(raw.part)?.text;
        return this.#finish(of, this.#paragraph(of, index, whole), whole);
      }
      default:
        does satisfies never;
    }
  }

  close(raw: Fields | undefined, complete: boolean): void {
    const item = raw ?? this.#first;
    this.#finishAll("summary", item.summary);
    this.#finishAll("content", item.content);
    const encrypted = filledText(item.encrypted_content);
    this.#to.emit({
      type: "reasoning-end",
      choice,
      ...(encrypted && { encrypted }),
      ...(!complete && { complete }),
      extra: raw && extraOf(raw, ["type", "id", "summary", ...knownFields(raw)]),
    });
  }

  isComplete(): boolean {
    const { summary, content } = this.#sides;
    for (const paragraph of [...summary.values(), ...content.values()])
      if (!paragraph.done) return false;
    return summary.size + content.size > 0;
  }

  #open(of: Side, index = this.#sides[of].size): Paragraph {
    const side = this.#sides[of];
    if (index !== side.size) this.#to.markRepaired();
    const paragraph = { text: "", done: false, part: side.size };
    side.set(index, paragraph);
    return paragraph;
  }

  /**
   * The paragraph an event is about, opened if nobody announced it. Some count
   * their deltas where paragraphs of content are counted, so one goes on until
   * it is done; `whole` is what it came to, if the event says.
   */
  #paragraph(of: Side, index: number | undefined, whole?: unknown): Paragraph {
    const side = this.#sides[of];
    const found = index === undefined ? undefined : side.get(index);
    if (found !== undefined) return found;
    this.#to.markRepaired();
    const last = index === undefined || of === "content" ? [...side.values()].at(-1) : undefined;
    if (last !== undefined && (index === undefined || !last.done || whole === last.text))
      return last;
    return this.#open(of, index);
  }

  #emitText(of: Side, { part }: Paragraph, text: string): void {
    this.#to.emit({ type: "reasoning-delta", choice, of, part, text });
  }

  #finish(of: Side, paragraph: Paragraph, whole: unknown): void {
    const text = remainder(paragraph, whole, this.#to);
    if (text !== "") this.#emitText(of, paragraph, text);
  }

  #finishAll(of: Side, sent: unknown): void {
    const paragraphs = listOf(sent) ?? (filledText(sent) === undefined ? [] : [sent]);
    const known = inPlace(this.#sides[of], paragraphs.length);
    for (const [place, entry] of paragraphs.entries()) {
      if (known(place) === undefined) this.#to.markMissedDelta();
      this.#finish(of, known(place) ?? this.#open(of), fieldsOf(entry)?.text ?? entry);
    }
  }
}
