/** Reads wire values whose type is not certain: objects, texts, numbers, or undefined. */

import { jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";

// What an upstream sends may be anything. Each of these takes a value for what it
// should be, or gives nothing.

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;

/** The object that a text holds as JSON. Some upstreams wrap an error in a list. */
export function fieldsIn(text: string, parse = jsonOf): Fields | undefined {
  const value = parse(text);
  return fieldsOf(value) ?? fieldsOf(listOf(value)?.[0]);
}

/** Whether such a text is a list: what it holds may not be forwarded so. */
export const isListed = (text: string): boolean => !text.startsWith("{") && /^\s*\[/.test(text);

export const listOf = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? (value as readonly unknown[]) : undefined;

/** Text that says something: `""` is how many upstreams write "none". */
export const filledText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** The text of a call's input, which may come as a value. */
export function inputText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

export const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

/** The fields that are set. `null` is how clients say "not set". */
export function given<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], null | undefined> } {
  const set: Record<string, unknown> = {};
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value !== undefined && value !== null) set[key] = value;
  }
  return set as { [K in keyof T]?: Exclude<T[K], null | undefined> };
}
