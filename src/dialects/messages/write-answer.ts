import type { Answer, AnswerChoice } from "../../stream/fold.ts";
import { isFields } from "../../json/json.ts";
import type { AnyName, ClientName } from "../../turn/names.ts";
import type { Call, Fields, Item, Message, Reasoning, Turn } from "../../turn/turn.ts";
import type { WriteContext } from "../dialect.ts";
import { exactJsonOf } from "../../json/exact.ts";
import { lossReporter, type OnLoss } from "../shared/losses.ts";
import { writeCitation } from "./citations.ts";
import { isRedacted, ownExtra } from "./extra.ts";
import { writeStop } from "./stop.ts";
import { UNSIGNED } from "./unsigned.ts";
import { writeUsage } from "./usage.ts";

/** Writes a whole answer as a message. */
export function writeAnswer(answer: Answer<ClientName>, turn: Turn, context: WriteContext): string {
  const lose = lossReporter("messages", context.report);
  const [choice = none] = answer.choices;
  const content = choice.items.flatMap((item) => writeItem(item, lose));
  const isRefused = choice.stop === "end" && choice.items.some(hasRefusal);
  return JSON.stringify({
    ...answerHead(answer, turn, context),
    content,
    ...writeStop(isRefused ? "filter" : choice.stop, choice.ending),
    usage: writeUsage(answer.usage),
  });
}

const none: AnswerChoice<ClientName> = { index: 0, items: [], stop: "end" };

/** What every answer says of itself. Ids of another dialect are not shown. */
export function answerHead(
  start: Pick<Answer<ClientName>, "dialect" | "id" | "model" | "extra">,
  turn: Turn,
  context: WriteContext,
): Fields {
  const own = start.dialect === "messages" ? start : undefined;
  return {
    ...own?.extra,
    id: own?.id ?? context.id,
    type: "message",
    role: "assistant",
    model: start.model ?? turn.model,
  };
}

function writeItem(item: Item, lose: OnLoss): readonly Fields[] {
  switch (item.type) {
    case "message":
      return writeMessage(item, lose);
    case "reasoning":
      return writeThought(item);
    case "call":
      // What was cut off in the middle must not be run.
      if (item.status === "incomplete") {
        lose("a call that was cut off", 0);
        return [];
      }
      return [callBlock(item, valueOf(item.input))];
    case "opaque":
      if (item.dialect === "messages") return [item.raw];
      lose(`${String(item.raw.type)} items`, 0);
      return [];
    case "result":
      return [];
    default:
      return item satisfies never;
  }
}

function writeMessage({ parts }: Message, lose: OnLoss): readonly Fields[] {
  return parts.flatMap((part) => {
    if (part.type !== "text" && part.type !== "refusal") return [];
    if (part.text === "") return [];
    if (part.type === "refusal") return [{ type: "text", text: part.text }];
    if (part.logprobs !== undefined) lose("log-probabilities", 0);
    const citations = (part.annotations ?? []).map(writeCitation);
    const kept = citations.filter((one) => one !== undefined);
    if (kept.length < citations.length) lose("a citation", 0);
    return [{ type: "text", text: part.text, ...(kept.length > 0 && { citations: kept }) }];
  });
}

function writeThought({ content, summary, encrypted, extra }: Reasoning): readonly Fields[] {
  const thinking = [...content, ...summary].filter((one) => one !== "").join("\n\n");
  if (thinking === "" && encrypted === undefined) return [];
  if (thinking === "" && isRedacted(extra) !== false)
    return [{ type: "redacted_thinking", data: encrypted }];
  return [{ type: "thinking", thinking, signature: encrypted ?? UNSIGNED }];
}

const hasRefusal = (item: Item): boolean =>
  item.type === "message" && item.parts.some(({ type }) => type === "refusal");

type Called<Name extends AnyName> = Pick<Call<Name>, "id" | "name" | "namespace" | "extra">;

export const callBlock = <Name extends AnyName>(call: Called<Name>, input: unknown): Fields => ({
  type: "tool_use",
  id: call.id,
  name: call.name,
  input,
  ...ownExtra(call.extra),
});

/** Arguments that are no JSON stay what the model wrote, for the client to tell it so. */
function valueOf(input: string): unknown {
  const value = exactJsonOf(input === "" ? "{}" : input);
  return isFields(value) ? value : input;
}

/** The start of a block that a provider wrote for itself: its input follows in deltas. */
export const itemBlock = (raw: Fields): Fields =>
  isFields(raw.input) ? { ...raw, input: {} } : raw;

/** The input of such a block as text; none where it has none. */
export const inputOf = ({ input }: Fields): string | undefined =>
  isFields(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : undefined;
