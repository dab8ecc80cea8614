/**
 * Plain shape first: the rule by which the reader of every upstream dialect is built.
 *
 * A reader has two ways to read a frame or a whole answer, and one state for both.
 * - The plain way has two steps. `fits(raw)` says whether `raw` is exactly as its API writes it,
 *   given what came before; fields that the API does not have are allowed. It changes nothing and
 *   emits nothing. `take(raw)` then emits the events without looking for anything to repair.
 * - The tolerant way reads everything else, and repairs it.
 * Both leave the same state, so a stream may change from one to the other at any frame and back.
 *
 * A frame may be forwarded to a client of the same dialect if the plain way took it. The tolerant way
 * keeps no account of repairs.
 *
 * `ReadContext.plain: false` turns the plain way off. A property test of each dialect compares the
 * events of both settings; only `forwardable` may differ.
 */

import type { Fields } from "../../turn/turn.ts";

/** `filled` is a text that is not empty, `count` a number that is not negative. */
type Form = "text" | "filled" | "number" | "count" | "list" | "fields";

/** The fields that an API always writes, and their types. */
export type Shape = Readonly<Record<string, Form>>;

/** Whether a value is an object that has every field of a shape. It may have others. */
export function hasShape(value: unknown, shape: Shape): value is Fields {
  if (typeof value !== "object" || value === null) return false;
  for (const key in shape) {
    const field = (value as Fields)[key];
    switch (shape[key]) {
      case "text":
        if (typeof field !== "string") return false;
        break;
      case "filled":
        if (typeof field !== "string" || field === "") return false;
        break;
      case "number":
        if (typeof field !== "number") return false;
        break;
      case "count":
        if (typeof field !== "number" || !(field >= 0)) return false;
        break;
      case "list":
        if (!Array.isArray(field)) return false;
        break;
      default:
        if (typeof field !== "object" || field === null || Array.isArray(field)) return false;
    }
  }
  return true;
}

/** Whether a value says nothing: most providers write some of their fields empty. */
export function isNothing(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value === undefined || value === null || value === "";
  for (const _ in value) return false;
  return true;
}
