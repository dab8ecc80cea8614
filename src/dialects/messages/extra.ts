import { isFields } from "../../json/json.ts";
import type { Extra, Fields } from "../../turn/turn.ts";

/** What bears on cost and speed only. */
const hintKeys: ReadonlySet<string> = new Set(["cache_control", "eager_input_streaming"]);

/** What we do not know, kept for this dialect; null is how clients say "not set". */
export function extraOf(rest: Fields, more: Fields = {}): { readonly extra?: Extra } {
  let fields: Record<string, unknown> | undefined;
  let hints: Record<string, unknown> | undefined;
  for (const [key, value] of [...Object.entries(rest), ...Object.entries(more)]) {
    if (value === null || value === undefined) continue;
    if (key in more || hintKeys.has(key)) (hints ??= {})[key] = value;
    else (fields ??= {})[key] = value;
  }
  if (fields === undefined && hints === undefined) return nothing;
  return {
    extra: { dialect: "messages", fields: fields ?? {}, ...(hints !== undefined && { hints }) },
  };
}
const nothing = {};

/** All of it, to be given back to this dialect. */
export const ownExtra = (extra: Extra | undefined): Fields =>
  extra?.dialect === "messages" ? { ...extra.fields, ...extra.hints } : none;
const none: Fields = {};

/**
 * A block that others are told in words: the words are a text part, and the block
 * itself stands beside them for upstreams that know it.
 */
export const besideWords = (block: Fields): Extra => ({
  dialect: "messages",
  // The words do not say that answers are to cite them.
  fields: isFields(block.citations) && block.citations.enabled === true ? { citations } : {},
  hints: { block },
});
const citations: Fields = { enabled: true };

export const blockBeside = (extra: Extra | undefined): Fields | undefined =>
  extra?.dialect === "messages" ? (extra.hints?.block as Fields | undefined) : undefined;

/** Which of the two blocks for reasoning it is: both hold one opaque text. */
export const reasoningBlock = (type: "thinking" | "redacted_thinking"): Extra => ({
  dialect: "messages",
  fields: {},
  hints: { type },
});

export const isRedacted = (extra: Extra | undefined): boolean | undefined =>
  extra?.dialect === "messages" && extra.hints?.type !== undefined
    ? extra.hints.type === "redacted_thinking"
    : undefined;
