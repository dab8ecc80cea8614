/** Fields of items and parts: texts, the status, and those that a turn has no word for. */

import type { Extra, Fields, Status } from "../../turn/turn.ts";
import { reportForeign } from "../shared/content.ts";

/** Called with the reason why part of a request has no form in this dialect, or was repaired. */
export type OnReason = (reason: string, action?: "repaired") => void;

/** For answers: their content was read in this dialect or made for it. */
export const silently: OnReason = () => {};

/** The unknown fields of a part or item. */
export function responsesExtra(raw: Fields, known: readonly string[]): Extra | undefined {
  let fields: Record<string, unknown> | undefined;
  for (const key in raw)
    if (!known.includes(key) && raw[key] !== undefined) (fields ??= {})[key] = raw[key];
  return fields && { dialect: "responses", fields };
}

const none: Fields = {};

/** The extra fields of this dialect; those of another are reported. */
export function ownResponsesExtra(extra: Extra | undefined, report: OnReason): Fields {
  if (extra === undefined) return none;
  if (extra.dialect === "responses") return extra.fields;
  reportForeign(extra, "responses", report);
  return none;
}

/** A status that a turn has no word for, such as `failed`, stays among the extra fields. */
export const isStatus = (value: unknown): value is Status =>
  value === "in_progress" || value === "completed" || value === "incomplete";
