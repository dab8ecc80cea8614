/** Reads fields as loosely as the API does: names in two forms, one object for a list, any case of its words. */

import { isFields } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsAt, invalid, type Repair } from "../shared/shape.ts";
import { camelName } from "./wire.ts";

/** An object of the API at a path of a request; `what`: the form that it must have. */
export const camelFieldsAt = (value: unknown, path: string, what: string): Fields =>
  camelFields(fieldsAt(value, path, what));

/** The fields of an object of the API by their names in camel case, which wins if both forms are there. */
export function camelFields(fields: Fields): Fields {
  let isPlain = true;
  for (const key in fields) if (key.includes("_")) isPlain = false;
  if (isPlain) return fields;
  const entries = Object.entries(fields).toSorted(
    ([one], [other]) => Number(camelName(other) !== other) - Number(camelName(one) !== one),
  );
  return Object.fromEntries(entries.map(([key, value]) => [camelName(key), value]));
}

/** A list that may be left out. One entry stands for a list of it; `entry`: the type of an entry. */
export function optionalListOf(
  value: unknown,
  path: string,
  entry: "object" | "text" = "object",
): readonly unknown[] {
  if (value == null) return none;
  if (Array.isArray(value)) return value as readonly unknown[];
  if (entry === "object" ? isFields(value) : typeof value === "string") return [value];
  throw invalid(path, `must be an array of ${entry === "object" ? "objects" : "strings"}`);
}
const none: readonly unknown[] = [];

/** One of the words of the API, in any case. */
export function readWord<Word extends string>(
  value: unknown,
  words: readonly Word[],
  path: string,
): Word {
  const word = words.find((one) => typeof value === "string" && one === value.toUpperCase());
  if (word === undefined) throw invalid(path, `must be one of ${words.join(", ")}`);
  return word;
}

/** A number, which the API also takes as text. */
export const numberIn = (value: unknown): unknown =>
  typeof value === "string" && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;

/** Receives the forms that were mended, fields that are left out, and content in another form. */
export type Reports = { readonly [Key in "repair" | "drop" | "change"]: Repair };
