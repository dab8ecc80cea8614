/** Types and small functions for JSON values. */

import { isRawNumber } from "./exact.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What has names, in JSON that a client sent; a number kept as it was written is an object, and has none. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);

/** What a group has under a name that somebody chose: `constructor` finds nothing that every object has. */
export const ownOf = <Value>(
  group: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined => (Object.hasOwn(group, name) ? group[name] : undefined);

/** The value of JSON text; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // Others write what they like; the caller says what that means.
  }
}

/** Whether nothing in a value is nested deeper than so many levels. */
export function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((inner) => isWithin(inner, levels - 1));
  for (const key in value) if (!isWithin((value as Fields)[key], levels - 1)) return false;
  return true;
}

/** Whether no key of an object in a value is longer than so many characters. */
export function hasShortKeys(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((inner) => hasShortKeys(inner, most));
  for (const key in value)
    if (key.length > most || !hasShortKeys((value as Fields)[key], most)) return false;
  return true;
}

/** The same value with the keys of its objects in order: equal values have one text then. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isFields(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key])]));
}
