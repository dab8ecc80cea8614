import { fieldsOf, listOf, textOf } from "../loose.ts";
import { detailsText } from "./details.ts";

/** What a part of an answer's content says, and as what. */
export type SaidPart = {
  readonly type: "text" | "reasoning" | "refusal";
  readonly text: string;
};

/** Chat answers in plain text; who answers in parts has words of its own for them. */
export function readSaidPart(raw: unknown): SaidPart {
  const part = fieldsOf(raw);
  if (part === undefined) return { type: "text", text: textOf(raw) ?? "" };
  if (part.type === "refusal") return { type: "refusal", text: textOf(part.refusal) ?? "" };
  const { thinking, reasoning, summary } = part;
  const isThought = thinking != null || /^(?:reasoning|thinking)/.test(String(part.type));
  const text = textOf(part.text);
  if (!isThought) return { type: "text", text: text ?? "" };
  const thought = thinking ?? reasoning ?? summary;
  return { type: "reasoning", text: textOf(thought) ?? text ?? detailsText(listOf(thought) ?? []) };
}
