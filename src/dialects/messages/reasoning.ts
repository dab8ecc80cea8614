import type { Profile } from "../../turn/profile.ts";
import type { Fields, Reasoning } from "../../turn/turn.ts";
import { fieldsOf, filledText } from "../shared/loose.ts";
import { isRedacted } from "./extra.ts";

/** What can be read of it. */
const wordsOf = ({ content, summary }: Reasoning): string =>
  (content.length > 0 ? content : summary).join("\n\n");

/**
 * Past reasoning as blocks; none where the upstream takes nothing of it back. An
 * upstream of the form `signed_thinking` refuses what its own models have not
 * signed, and `details` do not say whose signature they hold.
 */
export function writeReasoning(item: Reasoning, form: Profile["reasoning"]): readonly Fields[] {
  if (form !== "thinking" && form !== "signed_thinking") return [];
  const { encrypted, extra } = item;
  if (encrypted !== undefined)
    return [
      isRedacted(extra) === true
        ? { type: "redacted_thinking", data: encrypted }
        : { type: "thinking", thinking: wordsOf(item), signature: encrypted },
    ];
  if (form === "signed_thinking") return [];
  const signed = (item.details ?? []).flatMap(fromDetail);
  if (signed.length > 0) return signed;
  const thinking = wordsOf(item);
  return thinking === "" ? [] : [{ type: "thinking", thinking }];
}

/** An entry of `reasoning_details` that a model of this dialect has signed. */
function fromDetail(raw: unknown): readonly Fields[] {
  const detail = fieldsOf(raw);
  if (filledText(detail?.format)?.startsWith(DETAIL_FORMAT) !== true) return [];
  const { type, text, signature, data } = detail ?? {};
  if (type === "reasoning.encrypted" && filledText(data) !== undefined)
    return [{ type: "redacted_thinking", data }];
  return filledText(signature) === undefined
    ? []
    : [{ type: "thinking", thinking: filledText(text) ?? "", signature }];
}

const DETAIL_FORMAT = "anthropic-claude";

/** Whether anything is lost if an upstream is not given it. */
export const isWorded = (item: Reasoning): boolean =>
  item.encrypted !== undefined || item.details !== undefined || wordsOf(item) !== "";
