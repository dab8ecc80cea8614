import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, numberOf, textOf } from "../loose.ts";
import { extraOf } from "./fields.ts";
import {
  choice,
  remainder,
  filledList,
  type ItemReader,
  type Teller,
  type Telling,
} from "./telling.ts";

type Side = "summary" | "content";
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

/** The fields that are told anew. An empty content would be left out, and is kept as it is. */
const said = (raw: Fields): string[] => [
  "encrypted_content",
  ...(filledList(raw.content) ? ["content"] : []),
];

/** Reads reasoning: a summary and a content, each in paragraphs. */
export class ReasoningReader implements ItemReader {
  readonly #first: Fields;
  readonly #to: Teller;
  readonly #sides = { summary: new Map<number, Telling>(), content: new Map<number, Telling>() };

  constructor(first: Fields, to: Teller) {
    this.#first = first;
    this.#to = to;
    const id = textOf(first.id);
    to.say({ type: "reasoning-start", choice, ...(id && { id }) });
  }

  each(type: string, raw: Fields): void {
    const step = steps[type];
    if (step === undefined) return;
    const { of, does } = step;
    const index = numberOf(of === "summary" ? raw.summary_index : raw.content_index);
    if (index === undefined) this.#to.bent();
    const part = index ?? Math.max(0, this.#sides[of].size - 1);
    switch (does) {
      case "add":
        if (this.#sides[of].has(part)) this.#to.bent();
        else this.#open(of, part);
        return;
      case "say": {
        if (typeof raw.delta !== "string") return this.#to.bent();
        this.#telling(of, part).said += raw.delta;
        return this.#to.say({ type: "reasoning-delta", choice, of, part, text: raw.delta });
      }
      case "finish":
        return this.#finish(of, part, raw.text ?? fieldsOf(raw.part)?.text);
      default:
        does satisfies never;
    }
  }

  close(raw: Fields | undefined, complete: boolean): void {
    const item = raw ?? this.#first;
    this.#finishAll("summary", item.summary);
    this.#finishAll("content", item.content);
    const encrypted = textOf(item.encrypted_content);
    this.#to.say({
      type: "reasoning-end",
      choice,
      ...(encrypted && { encrypted }),
      ...(!complete && { complete }),
      ...(raw && extraOf(raw, ["type", "id", "summary", ...said(raw)])),
    });
  }

  ripe(): boolean {
    const { summary, content } = this.#sides;
    for (const telling of [...summary.values(), ...content.values()])
      if (!telling.done) return false;
    return summary.size + content.size > 0;
  }

  #open(of: Side, part: number): Telling {
    if (part !== this.#sides[of].size) this.#to.bent();
    const telling = { said: "", done: false };
    this.#sides[of].set(part, telling);
    return telling;
  }

  /** The paragraph an event is about, opened if nobody announced it. */
  #telling(of: Side, part: number): Telling {
    const found = this.#sides[of].get(part);
    if (found === undefined) this.#to.bent();
    return found ?? this.#open(of, part);
  }

  #finish(of: Side, part: number, whole: unknown): void {
    const text = remainder(this.#telling(of, part), whole, this.#to);
    if (text !== "") this.#to.say({ type: "reasoning-delta", choice, of, part, text });
  }

  #finishAll(of: Side, paragraphs: unknown): void {
    for (const [part, entry] of listOf(paragraphs)?.entries() ?? []) {
      if (!this.#sides[of].has(part)) {
        this.#to.late();
        this.#open(of, part);
      }
      this.#finish(of, part, fieldsOf(entry)?.text);
    }
  }
}
