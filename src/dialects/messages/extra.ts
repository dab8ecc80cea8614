import { isFields } from "../../json/json.ts";
import type { Extra, Fields } from "../../turn/turn.ts";

/** Fields that concern cost and speed only. */
const hintKeys: ReadonlySet<string> = new Set(["cache_control", "eager_input_streaming"]);

/** Unknown fields, kept for this dialect; null is how clients say "not set". `hints`: fields that are hints as well. */
export function messagesExtra(rest: Fields, hints?: Fields): { readonly extra?: Extra } {
  let fields: Record<string, unknown> | undefined;
  let aside: Record<string, unknown> | undefined;
  for (const key in rest) {
    const value = rest[key];
    if (value === null || value === undefined) continue;
    if (hintKeys.has(key)) (aside ??= {})[key] = value;
    else (fields ??= {})[key] = value;
  }
  for (const key in hints) if (hints[key] != null) (aside ??= {})[key] = hints[key];
  if (fields === undefined && aside === undefined) return nothing;
  return {
    extra: {
      dialect: "messages",
      fields: fields ?? {},
      ...(aside !== undefined && { hints: aside }),
    },
  };
}
const nothing = {};

/** Keeps the block of a text part that other dialects are sent instead of it. */
export const besideWords = (block: Fields): Extra => ({
  dialect: "messages",
  // The text does not request citations.
  fields: isFields(block.citations) && block.citations.enabled === true ? { citations } : {},
  hints: { block },
});
const citations: Fields = { enabled: true };

export const blockBeside = (extra: Extra | undefined): Fields | undefined =>
  extra?.dialect === "messages" ? (extra.hints?.block as Fields | undefined) : undefined;

/** Marks which of the two blocks for reasoning it was: both contain one opaque text. */
export const reasoningBlock = (type: "thinking" | "redacted_thinking"): Extra => ({
  dialect: "messages",
  fields: {},
  hints: { type },
});

export const isRedacted = (extra: Extra | undefined): boolean | undefined =>
  extra?.dialect === "messages" && extra.hints?.type !== undefined
    ? extra.hints.type === "redacted_thinking"
    : undefined;

/**
 * The signature of unsigned reasoning. Clients fail without a signature, and send back the one
 * they received; it is never sent to an upstream.
 */
export const UNSIGNED = "patchbay:unsigned";
