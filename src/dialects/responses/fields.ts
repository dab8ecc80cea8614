/** Fields of items and parts: texts, the status, and those that a turn has no word for. */

import { z } from "zod";
import type { Extra, Fields, Status } from "../../turn/turn.ts";
import { reportForeign } from "../shared/content.ts";
import { shaped } from "../shared/shape.ts";

/** Called with the reason why part of a request has no form in this dialect, or was repaired. */
export type Report = (reason: string, action?: "repaired") => void;

/** For answers: their content was read in this dialect or made for it. */
export const silently: Report = () => {};

const text = z.string();

/** The text at a path of a request. */
export const textAt = (value: unknown, path: string): string =>
  typeof value === "string" ? value : shaped(text, value, path);

/** The same of a field that may be left out; null is how clients say "not set". */
export const optionalTextAt = (value: unknown, path: string): string | undefined =>
  value === undefined || value === null ? undefined : textAt(value, path);

/** The unknown fields of a part or item. */
export function extraOf(raw: Fields, known: readonly string[]): Extra | undefined {
  let fields: Record<string, unknown> | undefined;
  for (const key in raw)
    if (!known.includes(key) && raw[key] !== undefined) (fields ??= {})[key] = raw[key];
  return fields && { dialect: "responses", fields };
}

const none: Fields = {};

/** The extra fields of this dialect; those of another are reported. */
export function ownExtra(extra: Extra | undefined, report: Report): Fields {
  if (extra === undefined) return none;
  if (extra.dialect === "responses") return extra.fields;
  reportForeign(extra, "responses", report);
  return none;
}

/** A status that a turn has no word for, such as `failed`, stays among the extra fields. */
export const isStatus = (value: unknown): value is Status =>
  value === "in_progress" || value === "completed" || value === "incomplete";
