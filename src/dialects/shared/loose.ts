/** Reads wire values whose type is not certain: objects, texts, numbers, or undefined. */

import { jsonOf } from "../../json/json.ts";
import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";

export const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;

/** The object that a text holds as JSON. */
export const fieldsIn = (text: string): Fields | undefined => unwrapped(jsonOf(text));

/** The object of a frame or a body. Some upstreams wrap an error in a list. */
export const unwrapped = (value: unknown): Fields | undefined =>
  fieldsOf(value) ?? fieldsOf(listOf(value)?.[0]);

export const listOf = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? (value as readonly unknown[]) : undefined;

/** A type of field: `filled` is a text that is not empty, `count` a number that is not negative. */
type Form = "text" | "filled" | "number" | "count" | "list" | "fields";

/** The fields that an API always writes, and their types. */
export type Shape = Readonly<Record<string, Form>>;

/** True if a value is an object that has every field of a shape. It may have others. */
export function hasShape(value: unknown, shape: Shape): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  for (const key in shape) {
    const field = (value as Fields)[key];
    const form = shape[key];
    if (form === "text" || form === "filled") {
      if (typeof field !== "string" || (form === "filled" && field === "")) return false;
    } else if (form === "number" || form === "count") {
      if (typeof field !== "number" || (form === "count" && !(field >= 0))) return false;
    } else if (typeof field !== "object" || field === null) return false;
    else if (Array.isArray(field) !== (form === "list")) return false;
  }
  return true;
}

/** True if a value has no content: most providers write some of their fields empty. */
export function isNothing(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value === undefined || value === null || value === "";
  for (const _ in value) return false;
  return true;
}

/** Finds a meaning by one of the words for it, from lists of words by meaning. */
export const meaningsOf = <Meaning extends string>(
  words: Readonly<Partial<Record<Meaning, string>>>,
): ReadonlyMap<string, Meaning> =>
  new Map(
    (Object.entries(words) as [Meaning, string][]).flatMap(([meaning, list]) =>
      list.split(" ").map((word) => [word, meaning] as const),
    ),
  );

/** The text, unless it is empty: many upstreams write `""` for an absent value. */
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

/** A count of tokens, in the words of either dialect: upstreams do not keep to their own. */
export function counted(value: unknown): Usage | undefined {
  const usage = fieldsOf(value);
  if (usage === undefined) return undefined;
  const input = countOf(usage.prompt_tokens ?? usage.input_tokens);
  const output = countOf(usage.completion_tokens ?? usage.output_tokens);
  const total = countOf(usage.total_tokens);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const inputDetails = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outputDetails = fieldsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  return {
    input: input ?? rest(total, output),
    output: output ?? rest(total, input),
    total: total ?? (input ?? 0) + (output ?? 0),
    cached: countOf(
      inputDetails?.cached_tokens ??
        usage.prompt_cache_hit_tokens ??
        usage.cache_read_input_tokens ??
        usage.cached_tokens,
    ),
    cacheWrite: countOf(
      inputDetails?.cache_write_tokens ??
        inputDetails?.cache_creation_tokens ??
        usage.cache_creation_input_tokens,
    ),
    reasoning: countOf(outputDetails?.reasoning_tokens ?? usage.reasoning_tokens),
  };
}

/** The rest of a total, for the side that was not counted. */
const rest = (total: number | undefined, other: number | undefined): number =>
  total === undefined || other === undefined ? 0 : Math.max(0, total - other);

/** No answer has more tokens: a larger count is an error, and would spoil every sum of counts. */
const MAX_TOKENS = 1e12;

/** A count; negative ones are how some upstreams write "not counted". */
export function countOf(value: unknown): number | undefined {
  const count = typeof value === "string" && /^\d{1,15}$/.test(value) ? +value : value;
  return typeof count === "number" && count >= 0 && count <= MAX_TOKENS ? count : undefined;
}
