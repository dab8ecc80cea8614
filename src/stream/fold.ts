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

/** A whole answer: what a finished stream said. */
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
  /** What was said beside them, piece by piece. */
  readonly vendorExtras?: readonly Extra[];
  /** What was said of the choice beside its message. */
  readonly choiceExtra?: Extra | undefined;
  readonly stop: StopReason;
  /** What else was said of the end. */
  readonly ending?: Extra | undefined;
};

/** A fold in progress. */
export type Folding<Name extends AnyName> = {
  /** Takes an event of a lawful stream; gives the item that it closed, if it closed one. */
  each(event: TurnEvent<Name>): Item<Name> | undefined;
  /** What a choice has said so far. Its last item may still be growing. */
  items(choice: number): readonly Item<Name>[];
  answer(): Answer<Name>;
};

// Items grow in place until they are closed: a copy per delta would cost more than the delta.
type Growing<T> = { -readonly [K in keyof T]: T[K] };
type TextPart = { type: "text"; text: string; annotations?: unknown[]; logprobs?: unknown[] };
type OpenMessage = Growing<Omit<Message, "parts">> & {
  readonly parts: (TextPart | { type: "refusal"; text: string })[];
};
type OpenReasoning = Growing<Omit<Reasoning, "summary" | "content">> & {
  readonly summary: string[];
  readonly content: string[];
};

type Build<Name extends AnyName> = {
  readonly items: Item<Name>[];
  vendorExtras: Extra[] | undefined;
  beside: Extra | undefined;
  stop: StopReason;
  ending: Extra | undefined;
  message: OpenMessage | undefined;
  /** The next text begins a part of its own. */
  fresh: boolean;
  reasoning: OpenReasoning | undefined;
  readonly calls: Map<number, Growing<Call<Name>>>;
  readonly opaque: Map<number, Growing<Opaque>>;
};

/** An event of one choice. */
type Said<Name extends AnyName> = Extract<TurnEvent<Name>, { readonly choice: number }>;
type Event<T extends TurnEvent<AnyName>["type"]> = Extract<TurnEvent<AnyName>, { type: T }>;

/** A whole answer is a finished stream; there is no second code path. */
export function folding<Name extends AnyName>(): Folding<Name> {
  const choices: (Build<Name> | undefined)[] = [];
  let start: TurnStart | undefined;
  let usage: Usage | undefined;
  let fault: Fault | undefined;
  let beside: Fields | undefined;

  return {
    each(event) {
      switch (event.type) {
        case "turn-start":
          start = event;
          return undefined;
        case "usage":
          usage = event.usage;
          return undefined;
        case "turn-fail":
          fault = event.fault;
          return undefined;
        case "frame":
          return undefined;
        case "vendor-extra":
          if (event.of === "answer") beside = { ...beside, ...event.extra.fields };
          return foldInto((choices[event.choice] ??= newBuild()), event);
        default:
          return foldInto((choices[event.choice] ??= newBuild()), event);
      }
    },
    items: (choice) => choices[choice]?.items ?? [],
    answer: () => ({
      dialect: start?.dialect,
      id: start?.id,
      model: start?.model,
      created: start?.created,
      extra: beside === undefined ? start?.extra : { ...start?.extra, ...beside },
      choices: choices.flatMap((choice, index) =>
        choice === undefined ? [] : [made(choice, index)],
      ),
      usage,
      fault,
    }),
  };
}

const made = <Name extends AnyName>(
  { items, vendorExtras, beside, stop, ending }: Build<Name>,
  index: number,
): AnswerChoice<Name> => ({
  index,
  items,
  ...(vendorExtras !== undefined && { vendorExtras }),
  ...(beside !== undefined && { choiceExtra: beside }),
  stop,
  ...(ending !== undefined && { ending }),
});

const withMore = (known: Extra | undefined, more: Extra): Extra => ({
  ...more,
  fields: { ...known?.fields, ...more.fields },
});

/** Folds a lawful stream that is all there. */
export function fold<Name extends AnyName>(events: Iterable<TurnEvent<Name>>): Answer<Name> {
  const folded = folding<Name>();
  for (const event of events) folded.each(event);
  return folded.answer();
}

const newBuild = <Name extends AnyName>(): Build<Name> => ({
  items: [],
  vendorExtras: undefined,
  beside: undefined,
  stop: "end",
  ending: undefined,
  message: undefined,
  fresh: true,
  reasoning: undefined,
  calls: new Map(),
  opaque: new Map(),
});

function foldInto<Name extends AnyName>(
  build: Build<Name>,
  event: Said<Name>,
): Item<Name> | undefined {
  switch (event.type) {
    case "text-start":
      return openMessage(build, event);
    case "text-delta":
      return growText(build, event);
    case "text-break":
      build.fresh = true;
      return undefined;
    case "text-note":
      (textPart(build).annotations ??= []).push(event.annotation);
      return undefined;
    case "refusal-delta":
      return growRefusal(build, event.text);
    case "text-end":
      return close(build.message, event.complete, event.extra);
    case "reasoning-start":
      return openReasoning(build, event);
    case "reasoning-delta":
      return growReasoning(build, event);
    case "reasoning-end":
      return closeReasoning(build, event);
    case "vendor-extra":
      // Reasoning has all of it with its end.
      if (event.of === "message") (build.vendorExtras ??= []).push(event.extra);
      if (event.of === "choice") build.beside = withMore(build.beside, event.extra);
      return undefined;
    case "call-start":
      return openCall(build, event);
    case "call-delta": {
      const call = build.calls.get(event.call);
      if (call !== undefined) call.input += event.text;
      return undefined;
    }
    case "call-end":
      return close(build.calls.get(event.call), event.complete);
    case "item-start":
      return openItem(build, event);
    case "item-note":
      return undefined;
    case "item-end":
      return closeItem(build, event);
    case "turn-end":
      build.stop = event.stop;
      build.ending = event.extra;
      return undefined;
    default:
      event satisfies never;
      return undefined;
  }
}

function openMessage<Name extends AnyName>(
  build: Build<Name>,
  event: Event<"text-start">,
): undefined {
  const { id, phase } = event;
  const status = "incomplete";
  build.message = { type: "message", role: "assistant", parts: [], id, phase, status };
  build.fresh = true;
  build.items.push(build.message);
}

function textPart<Name extends AnyName>(build: Build<Name>): TextPart {
  const parts = build.message?.parts ?? [];
  const last = parts.at(-1);
  if (!build.fresh && last?.type === "text") return last;
  const part: TextPart = { type: "text", text: "" };
  parts.push(part);
  build.fresh = false;
  return part;
}

function growText<Name extends AnyName>(build: Build<Name>, event: Event<"text-delta">): undefined {
  const part = textPart(build);
  part.text += event.text;
  if (event.logprobs !== undefined) append((part.logprobs ??= []), event.logprobs);
}

function growRefusal<Name extends AnyName>(build: Build<Name>, text: string): undefined {
  const parts = build.message?.parts ?? [];
  const last = parts.at(-1);
  if (last?.type === "refusal") last.text += text;
  else parts.push({ type: "refusal", text });
}

function openReasoning<Name extends AnyName>(
  build: Build<Name>,
  event: Event<"reasoning-start">,
): undefined {
  const { id } = event;
  build.reasoning = { type: "reasoning", id, summary: [], content: [], status: "incomplete" };
  build.items.push(build.reasoning);
}

function growReasoning<Name extends AnyName>(
  build: Build<Name>,
  event: Event<"reasoning-delta">,
): undefined {
  const paragraphs = build.reasoning?.[event.of] ?? [];
  while (paragraphs.length <= event.part) paragraphs.push("");
  paragraphs[event.part] += event.text;
}

function closeReasoning<Name extends AnyName>(
  build: Build<Name>,
  event: Event<"reasoning-end">,
): Item<Name> | undefined {
  const item = build.reasoning;
  if (item === undefined) return undefined;
  item.encrypted = event.encrypted;
  item.details = event.details;
  return close(item, event.complete, event.extra);
}

function openCall<Name extends AnyName>(build: Build<Name>, event: CallStart<Name>): undefined {
  const { id, kind, name, namespace, itemId, extra } = event;
  const item: Growing<Call<Name>> = {
    type: "call",
    id,
    kind,
    name,
    namespace,
    input: "",
    itemId,
    status: "incomplete",
    extra,
  };
  build.calls.set(event.call, item);
  build.items.push(item);
}

function openItem<Name extends AnyName>(build: Build<Name>, event: Event<"item-start">): undefined {
  const item: Opaque = { type: "opaque", dialect: event.dialect, raw: event.raw };
  build.opaque.set(event.item, item);
  build.items.push(item);
}

function closeItem<Name extends AnyName>(
  build: Build<Name>,
  event: Event<"item-end">,
): Item<Name> | undefined {
  const item = build.opaque.get(event.item);
  if (item !== undefined) item.raw = event.raw;
  return item;
}

function close<T extends { status?: Message["status"]; extra?: Extra | undefined }>(
  item: T | undefined,
  complete: boolean | undefined,
  extra?: Extra,
): T | undefined {
  if (item === undefined) return undefined;
  item.status = complete === false ? "incomplete" : "completed";
  if (extra !== undefined) item.extra = extra;
  return item;
}
