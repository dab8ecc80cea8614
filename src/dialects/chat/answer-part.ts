import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, filledText } from "../shared/loose.ts";
import { detailsText } from "./details.ts";

/** One part of an answer's content, as what it counts. */
export type AnswerPart = {
  readonly type: "text" | "reasoning" | "refusal";
  readonly text: string;
  /** The part itself, where it is signed and has to be sent back unchanged. */
  readonly signed?: Fields | undefined;
};

/** Chat answers in plain text; providers that answer in parts each have their own types for them. */
export function readAnswerPart(raw: unknown): AnswerPart {
  const part = fieldsOf(raw);
  if (part === undefined) return { type: "text", text: filledText(raw) ?? "" };
  if (part.type === "refusal") return { type: "refusal", text: filledText(part.refusal) ?? "" };
  const { thinking, reasoning, summary } = part;
  const isThought =
    thinking != null || /^(?:reasoning|(?:redacted_)?thinking)/.test(String(part.type));
  const text = filledText(part.text);
  if (!isThought) return { type: "text", text: text ?? "" };
  const thought = thinking ?? reasoning ?? summary;
  const words = filledText(thought) ?? text ?? detailsText(listOf(thought) ?? []);
  const isSigned = filledText(part.signature) !== undefined || filledText(part.data) !== undefined;
  return { type: "reasoning", text: words, ...(isSigned && { signed: part }) };
}
