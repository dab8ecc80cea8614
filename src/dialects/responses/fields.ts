/** Fields of items and parts beside those that a turn has, and their status. */

import type { Extra, Fields, Status } from "../../turn/turn.ts";
import { reportForeign } from "../shared/content.ts";

/** Called with the reason why part of a request has no form in this dialect, or was repaired. */
export type Report = (reason: string, action?: "repaired") => void;

/** For answers: what they hold has been read in this dialect or made for it. */
export const silently: Report = () => {};

/** The unknown fields of a part or item. */
export function extraOf(raw: Fields, known: readonly string[]): { extra?: Extra } {
  let fields: Record<string, unknown> | undefined;
  for (const key of Object.keys(raw)) {
    if (known.includes(key) || raw[key] === undefined) continue;
    fields ??= {};
    fields[key] = raw[key];
  }
  return fields === undefined ? {} : { extra: { dialect: "responses", fields } };
}

/** What was kept for this dialect; what was kept for another is reported. */
export function ownExtra(extra: Extra | undefined, report: Report): Fields {
  if (extra === undefined) return {};
  if (extra.dialect === "responses") return extra.fields;
  reportForeign(extra, "responses", report);
  return {};
}

export const isStatus = (value: unknown): value is Status =>
  value === "in_progress" || value === "completed" || value === "incomplete";

export const readStatus = (raw: Fields): { status?: Status } =>
  isStatus(raw.status) ? { status: raw.status } : {};

/** A status we have no word for, such as `failed`, stays among the rest. */
export const statusKey = (raw: Fields): string[] =>
  raw.status === null || isStatus(raw.status) ? ["status"] : [];
