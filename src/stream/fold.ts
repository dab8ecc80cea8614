import type { StopReason, TurnEvent, Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { AnyName } from "../turn/names.ts";
import type { DialectName, Fields, Item, Part } from "../turn/turn.ts";

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
  readonly stop: StopReason;
};

/** A fold in progress. */
export type Folding<Name extends AnyName> = {
  /** Takes an event of a lawful stream; gives the item that it closed, if it closed one. */
  each(event: TurnEvent<Name>): Item<Name> | undefined;
  answer(): Answer<Name>;
};

type TextPart = { type: "text"; text: string; annotations?: unknown[]; logprobs?: unknown[] };
type Build<Name extends AnyName> = {
  items: Item<Name>[];
  stop: StopReason;
  message: { at: number; parts: (TextPart | { type: "refusal"; text: string })[]; fresh: boolean };
  reasoning: { at: number; summary: string[]; content: string[] };
  calls: Map<number, number>;
  opaque: Map<number, number>;
};

/** A whole answer is a finished stream; there is no second code path. */
export function folding<Name extends AnyName>(): Folding<Name> {
  const choices: (Build<Name> | undefined)[] = [];
  let start: Extract<TurnEvent<Name>, { type: "turn-start" }> | undefined;
  let usage: Usage | undefined;
  let fault: Fault | undefined;

  const build = (choice: number): Build<Name> =>
    (choices[choice] ??= {
      items: [],
      stop: "end",
      message: { at: 0, parts: [], fresh: true },
      reasoning: { at: 0, summary: [], content: [] },
      calls: new Map(),
      opaque: new Map(),
    });
  const replace = (
    choice: Build<Name>,
    at: number,
    change: (item: Item<Name>) => Item<Name>,
  ): Item<Name> | undefined => {
    const item = choice.items[at];
    if (item === undefined) return undefined;
    return (choice.items[at] = change(item));
  };

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
        case "turn-end":
          build(event.choice).stop = event.stop;
          return undefined;
        case "text-start": {
          const choice = build(event.choice);
          choice.message = { at: choice.items.length, parts: [], fresh: true };
          const { id, phase } = event;
          choice.items.push({
            type: "message",
            role: "assistant",
            parts: choice.message.parts,
            id,
            phase,
            status: "incomplete",
          });
          return undefined;
        }
        case "text-break":
          build(event.choice).message.fresh = true;
          return undefined;
        case "text-delta": {
          const part = textPart(build(event.choice).message);
          part.text += event.text;
          if (event.logprobs) (part.logprobs ??= []).push(...event.logprobs);
          return undefined;
        }
        case "text-note":
          (textPart(build(event.choice).message).annotations ??= []).push(event.annotation);
          return undefined;
        case "refusal-delta": {
          const { message } = build(event.choice);
          const last = message.parts.at(-1);
          if (last?.type === "refusal") last.text += event.text;
          else message.parts.push({ type: "refusal", text: event.text });
          return undefined;
        }
        case "text-end": {
          const choice = build(event.choice);
          return replace(
            choice,
            choice.message.at,
            (item) => ({ ...item, status: "completed" }) as Item<Name>,
          );
        }
        case "reasoning-start": {
          const choice = build(event.choice);
          const { summary, content } = (choice.reasoning = {
            at: choice.items.length,
            summary: [],
            content: [],
          });
          choice.items.push({
            type: "reasoning",
            id: event.id,
            summary,
            content,
            status: "incomplete",
          });
          return undefined;
        }
        case "reasoning-delta": {
          const paragraphs = build(event.choice).reasoning[event.of];
          while (paragraphs.length <= event.part) paragraphs.push("");
          paragraphs[event.part] += event.text;
          return undefined;
        }
        case "reasoning-end": {
          const choice = build(event.choice);
          const { encrypted, details } = event;
          return replace(
            choice,
            choice.reasoning.at,
            (item) => ({ ...item, encrypted, details, status: "completed" }) as Item<Name>,
          );
        }
        case "call-start": {
          const choice = build(event.choice);
          choice.calls.set(event.call, choice.items.length);
          const { id, kind, name, namespace, itemId } = event;
          choice.items.push({
            type: "call",
            id,
            kind,
            name,
            namespace,
            input: "",
            itemId,
            status: "incomplete",
          });
          return undefined;
        }
        case "call-delta": {
          const choice = build(event.choice);
          const item = choice.items[choice.calls.get(event.call) ?? -1];
          // The one place an item grows in place: a copy per fragment would cost more than the text.
          if (item?.type === "call") (item as { input: string }).input += event.text;
          return undefined;
        }
        case "call-end": {
          const choice = build(event.choice);
          const status = event.complete ? "completed" : "incomplete";
          return replace(
            choice,
            choice.calls.get(event.call) ?? -1,
            (item) => ({ ...item, status }) as Item<Name>,
          );
        }
        case "item-start": {
          const choice = build(event.choice);
          choice.opaque.set(event.item, choice.items.length);
          choice.items.push({ type: "opaque", dialect: "responses", raw: event.raw });
          return undefined;
        }
        case "item-end": {
          const choice = build(event.choice);
          return replace(
            choice,
            choice.opaque.get(event.item) ?? -1,
            (item) => ({ ...item, raw: event.raw }) as Item<Name>,
          );
        }
        case "item-note":
        case "frame":
          return undefined;
        default:
          event satisfies never;
          return undefined;
      }
    },
    answer: () => ({
      dialect: start?.dialect,
      id: start?.id,
      model: start?.model,
      created: start?.created,
      extra: start?.extra,
      choices: choices.flatMap((choice, index) =>
        choice === undefined ? [] : [{ index, items: choice.items, stop: choice.stop }],
      ),
      usage,
      fault,
    }),
  };
}

/** Folds a lawful stream that is all there. */
export function fold<Name extends AnyName>(events: Iterable<TurnEvent<Name>>): Answer<Name> {
  const folded = folding<Name>();
  for (const event of events) folded.each(event);
  return folded.answer();
}

function textPart(message: { parts: Part[]; fresh: boolean }): TextPart {
  const last = message.parts.at(-1);
  if (!message.fresh && last?.type === "text") return last as TextPart;
  const part: TextPart = { type: "text", text: "" };
  message.parts.push(part);
  message.fresh = false;
  return part;
}
