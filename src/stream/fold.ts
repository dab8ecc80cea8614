import { append } from "../turn/append.ts";
import type { CallStart, StopReason, TurnEvent, TurnStart, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type {
  Call,
  DialectName,
  Extra,
  Fields,
  Item,
  Message,
  Opaque,
  Reasoning,
} from "../turn/turn.ts";
import type { Writable } from "../turn/writable.ts";

/** A whole answer, made of a finished stream. */
export type Answer<Name extends AnyName> = {
  readonly dialect?: DialectName | undefined;
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  readonly created?: number | undefined;
  readonly extra?: Fields | undefined;
  readonly choices: readonly AnswerChoice<Name>[];
  readonly usage?: Usage | undefined;
  readonly fault?: Fault | undefined;
};
export type AnswerChoice<Name extends AnyName> = {
  readonly index: number;
  readonly items: readonly Item<Name>[];
  /** Unknown fields beside the items, piece by piece. */
  readonly vendorExtras?: readonly Extra[];
  /** Unknown fields beside the message. */
  readonly choiceExtra?: Extra | undefined;
  readonly stop: StopReason;
  /** Other fields of the end. */
  readonly ending?: Extra | undefined;
};

// Items grow in place until they are closed: a copy per delta would cost more than the delta.
type TextPart = { type: "text"; text: string; annotations?: unknown[]; logprobs?: unknown[] };
type OpenMessage = Writable<Omit<Message, "parts">> & {
  readonly parts: (TextPart | { type: "refusal"; text: string })[];
};
type OpenReasoning = Writable<Omit<Reasoning, "summary" | "content">> & {
  readonly summary: string[];
  readonly content: string[];
};

/** Folds a lawful stream that has ended. */
export function fold<Name extends AnyName>(events: Iterable<TurnEvent<Name>>): Answer<Name> {
  const folded = new AnswerFold<Name>();
  for (const event of events) folded.each(event);
  return folded.answer();
}

/** Folds a lawful stream, event by event, into a whole answer. */
export class AnswerFold<Name extends AnyName> {
  readonly #choices: (ChoiceFold<Name> | undefined)[] = [];
  #start: TurnStart | undefined;
  #usage: Usage | undefined;
  /** The failure that ended the stream. */
  fault: Fault | undefined;
  #extra: Fields | undefined;

  /** Returns the item that the event closed, if it closed one. */
  each(event: TurnEvent<Name>): Item<Name> | undefined {
    switch (event.type) {
      case "turn-start":
        this.#start = event;
        return undefined;
      case "usage":
        this.#usage = event.usage;
        return undefined;
      case "turn-fail":
        this.fault = event.fault;
        return undefined;
      case "frame":
        return undefined;
      case "vendor-extra":
        if (event.of === "answer") this.#extra = { ...this.#extra, ...event.extra.fields };
        break;
      default:
    }
    return (this.#choices[event.choice] ??= new ChoiceFold<Name>()).each(event);
  }

  /** The items of a choice so far. The last one may still grow. */
  items(choice: number): readonly Item<Name>[] {
    return this.#choices[choice]?.items ?? [];
  }

  answer(): Answer<Name> {
    const start = this.#start;
    return {
      dialect: start?.dialect,
      id: start?.id,
      model: start?.model,
      created: start?.created,
      extra: this.#extra === undefined ? start?.extra : { ...start?.extra, ...this.#extra },
      choices: this.#choices.flatMap((choice, index) => choice?.answer(index) ?? []),
      usage: this.#usage,
      fault: this.fault,
    };
  }
}

class ChoiceFold<Name extends AnyName> {
  readonly items: Item<Name>[] = [];
  #vendorExtras: Extra[] | undefined;
  #extra: Extra | undefined;
  #stop: StopReason = "end";
  #ending: Extra | undefined;
  #message: OpenMessage | undefined;
  /** True if the next text begins a new part. */
  #isFresh = true;
  #reasoning: OpenReasoning | undefined;
  readonly #calls = new Map<number, Writable<Call<Name>>>();
  #opaque: Map<number, Writable<Opaque>> | undefined;

  answer(index: number): AnswerChoice<Name> {
    return {
      index,
      items: this.items,
      ...(this.#vendorExtras !== undefined && { vendorExtras: this.#vendorExtras }),
      ...(this.#extra !== undefined && { choiceExtra: this.#extra }),
      stop: this.#stop,
      ...(this.#ending !== undefined && { ending: this.#ending }),
    };
  }

  each(event: Extract<TurnEvent<Name>, { readonly choice: number }>): Item<Name> | undefined {
    switch (event.type) {
      case "text-start": {
        const { id, phase } = event;
        const status = "incomplete";
        this.#message = { type: "message", role: "assistant", parts: [], id, phase, status };
        this.#isFresh = true;
        this.items.push(this.#message);
        return undefined;
      }
      case "text-delta": {
        const part = this.#textPart();
        part.text += event.text;
        if (event.logprobs !== undefined) append((part.logprobs ??= []), event.logprobs);
        return undefined;
      }
      case "text-break":
        this.#isFresh = true;
        return undefined;
      case "text-note":
        (this.#textPart().annotations ??= []).push(event.annotation);
        return undefined;
      case "refusal-delta":
        return this.#refuse(event.text);
      case "text-end":
        return closed(this.#message, event);
      case "reasoning-start":
        this.#reasoning = {
          type: "reasoning",
          id: event.id,
          summary: [],
          content: [],
          status: "incomplete",
        };
        this.items.push(this.#reasoning);
        return undefined;
      case "reasoning-delta": {
        const paragraphs = this.#reasoning?.[event.of] ?? [];
        while (paragraphs.length <= event.part) paragraphs.push("");
        paragraphs[event.part] += event.text;
        return undefined;
      }
      case "reasoning-end":
        if (this.#reasoning === undefined) return undefined;
        this.#reasoning.encrypted = event.encrypted;
        this.#reasoning.details = event.details;
        return closed(this.#reasoning, event);
      case "vendor-extra":
        // The end of reasoning brings its fields as a whole.
        if (event.of === "message") (this.#vendorExtras ??= []).push(event.extra);
        if (event.of === "choice")
          this.#extra = {
            ...event.extra,
            fields: { ...this.#extra?.fields, ...event.extra.fields },
          };
        return undefined;
      case "call-start":
        return this.#openCall(event);
      case "call-delta": {
        const call = this.#calls.get(event.call);
        if (call !== undefined) call.input += event.text;
        return undefined;
      }
      case "call-end":
        return closed(this.#calls.get(event.call), event);
      case "item-start": {
        const item: Opaque = { type: "opaque", dialect: event.dialect, raw: event.raw };
        (this.#opaque ??= new Map()).set(event.item, item);
        this.items.push(item);
        return undefined;
      }
      case "item-note":
        return undefined;
      case "item-end": {
        const item = this.#opaque?.get(event.item);
        if (item !== undefined) item.raw = event.raw;
        return item;
      }
      case "turn-end":
        this.#stop = event.stop;
        this.#ending = event.extra;
        return undefined;
      default:
        event satisfies never;
        return undefined;
    }
  }

  #textPart(): TextPart {
    const parts = this.#message?.parts ?? [];
    const last = parts.at(-1);
    if (!this.#isFresh && last?.type === "text") return last;
    const part: TextPart = { type: "text", text: "" };
    parts.push(part);
    this.#isFresh = false;
    return part;
  }

  #refuse(text: string): undefined {
    const parts = this.#message?.parts ?? [];
    const last = parts.at(-1);
    if (last?.type === "refusal") last.text += text;
    else parts.push({ type: "refusal", text });
  }

  #openCall({ call, id, kind, name, namespace, itemId, extra }: CallStart<Name>): undefined {
    const status = "incomplete";
    const said = { id, kind, name, namespace, input: "", itemId, status, extra } as const;
    const item: Writable<Call<Name>> = { type: "call", ...said };
    this.#calls.set(call, item);
    this.items.push(item);
  }
}

function closed<T extends { status?: Message["status"]; extra?: Extra | undefined }>(
  item: T | undefined,
  {
    complete,
    extra,
  }: { readonly complete?: boolean | undefined; readonly extra?: Extra | undefined },
): T | undefined {
  if (item === undefined) return undefined;
  item.status = complete === false ? "incomplete" : "completed";
  if (extra !== undefined) item.extra = extra;
  return item;
}
