import { isRawNumber } from "./exact.ts";

type Fields = Readonly<Record<string, unknown>>;

/** True for a JSON object. A raw number is an object of the engine, but none of JSON. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);

/** The own value of a key from outside: `constructor` finds nothing that every object inherits. */
export const ownOf = <Value>(
  group: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined => (Object.hasOwn(group, name) ? group[name] : undefined);

/** The value of JSON text; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // The caller handles text that is not JSON.
  }
}

/** True if a value has at most `levels` nested levels. */
export function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((inner) => isWithin(inner, levels - 1));
  for (const key in value) if (!isWithin((value as Fields)[key], levels - 1)) return false;
  return true;
}

/** True if no key of an object in a value is longer than `most` characters. */
export function hasShortKeys(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((inner) => hasShortKeys(inner, most));
  for (const key in value)
    if (key.length > most || !hasShortKeys((value as Fields)[key], most)) return false;
  return true;
}

/** A value with sorted keys, so that equal values have the same text. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isFields(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, ordered(value[key])]));
}
