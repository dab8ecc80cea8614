import { parseKeeping } from "../../turn/raw-number.ts";

/**
 * The value of JSON text; undefined if it is not JSON. Numbers may be longer
 * than ours, or written otherwise than we would: they are kept as written.
 */
export function exactly(text: string): unknown {
  try {
    return parseKeeping(text, (value, source) => JSON.stringify(value) !== source);
  } catch {
    return undefined; // As with any JSON of others: the caller says what that means.
  }
}
