import { isFields } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";

/** A number kept as it is written. */
type Written = { readonly rawJSON: string };

/** What JSON can do, and its types do not say yet. */
const json = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, at: Source) => unknown): unknown;
  rawJSON(text: string): Written;
  isRawJSON(value: unknown): value is Written;
};
type Source = { readonly source?: string | undefined };

/**
 * The value of JSON text; undefined if it is not JSON. Numbers may be longer
 * than ours, or written otherwise than we would: they are kept as written.
 */
export function exactly(text: string): unknown {
  try {
    return json.parse(text, keep);
  } catch {
    return undefined; // As with any JSON of others: the caller says what that means.
  }
}

const keep = (_: string, value: unknown, { source }: Source): unknown =>
  typeof value === "number" && source !== undefined && JSON.stringify(value) !== source
    ? json.rawJSON(source)
    : value;

export const isObject = (value: unknown): value is Fields =>
  isFields(value) && !json.isRawJSON(value);

/** The number that is meant, where one is kept as it is written. */
export const meant = (value: unknown): unknown =>
  json.isRawJSON(value) ? Number(value.rawJSON) : value;
