import type { Profile } from "../../turn/profile.ts";
import type { Fields, Reasoning } from "../../turn/turn.ts";
import { areSigned, detailsText } from "./details.ts";

type Form = Profile["reasoning"];

/** What can be read of reasoning; what is sealed can only be by the model that made it. */
export function readableText({ content, summary, details }: Reasoning): string {
  const words = content.length > 0 ? content : summary;
  return words.join("\n\n") || detailsText(details ?? []);
}

/** Whether an upstream that wants reasoning back in this form can be given it. */
export function isWritable(item: Reasoning, form: Form): boolean {
  switch (form) {
    case "none":
    case "items":
    case "thinking":
    case "signed_thinking":
      return false;
    case "reasoning_details":
      return item.details !== undefined || readableText(item) !== "";
    case "reasoning":
    case "reasoning_content":
      return hasText(item) || (areSigned(item.details) && keepsDetails(form));
    default:
      return form satisfies never;
  }
}

/** Empty reasoning counts where it was sent as such: some upstreams want the field. */
const hasText = (item: Reasoning): boolean => item.content.length > 0 || readableText(item) !== "";

/** Whether an upstream that takes reasoning in this form is given what signs it, too. */
export const keepsDetails = (form: Form): boolean =>
  form === "reasoning_details" || form === "reasoning_content";

/** The field of an assistant message for what was thought before it. */
export function writeReasoning(items: readonly Reasoning[], form: Form): Fields {
  if (items.length === 0) return {};
  if (form !== "reasoning_details") {
    const texts = items.filter(hasText).map(readableText);
    const text = texts.length === 0 ? {} : { [form]: joined(texts) };
    const signed = items.flatMap((item) => item.details ?? []);
    return areSigned(signed) && keepsDetails(form) ? { ...text, reasoning_details: signed } : text;
  }
  const details = items.flatMap(
    (item) => item.details ?? [{ type: "reasoning.text", text: readableText(item) }],
  );
  return { reasoning_details: details };
}

/** What was thought at several places; nothing, if it was nothing everywhere. */
const joined = (texts: readonly string[]): string =>
  texts.filter((text) => text.trim() !== "").join("\n\n") || (texts[0] ?? "");
