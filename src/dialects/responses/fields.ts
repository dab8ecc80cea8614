/** Fields of items and parts: texts, the status, and those that a turn has no word for. */

import type { Extra, Fields, Status } from "../../turn/turn.ts";
import { type OnReason, ownExtra, reportForeign } from "../shared/content.ts";

/** For answers: their content was read in this dialect or made for it. */
export const silently: OnReason = () => {};

/** The unknown fields of a part or item. */
export function responsesExtra(raw: Fields, known: readonly string[]): Extra | undefined {
  let fields: Record<string, unknown> | undefined;
  for (const key in raw)
    if (!known.includes(key) && raw[key] !== undefined) (fields ??= {})[key] = raw[key];
  return fields && { dialect: "responses", fields };
}

/** The extra fields of this dialect; those of another are reported. */
export function ownResponsesExtra(extra: Extra | undefined, report: OnReason): Fields {
  reportForeign(extra, "responses", report);
  return ownExtra(extra, "responses");
}

/** A status that a turn has no word for, such as `failed`, stays among the extra fields. */
export const isStatus = (value: unknown): value is Status =>
  value === "in_progress" || value === "completed" || value === "incomplete";
