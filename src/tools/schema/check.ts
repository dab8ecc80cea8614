import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { isFields } from "../../turn/json.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import { withoutWild } from "../wild.ts";

/** References can ask for more comparisons than anybody can wait for; beyond so many one gives up. */
const MOST_STEPS = 50_000;
/** Whether items are all different is told by comparing each with each; of longer texts it is not. */
const LONG = 4_000;

/**
 * What of a value is not as its schema asks. Nothing at all where that cannot
 * be told: nobody can read the schema, or nobody can wait for it. `size` is
 * the length of the value as text.
 */
export function errorsIn(
  value: unknown,
  schema: JsonSchema,
  size: number,
): readonly OutputUnit[] | undefined {
  try {
    steps = 0;
    return validatorOf(schema, size > LONG).validate(value).errors;
  } catch {
    return undefined; // What it threw is about the schema, which is not ours.
  }
}

const validators = new WeakMap<object, Validator>();

/** Agents send the same schemas for hours. */
function validatorOf(schema: JsonSchema, isLong: boolean): Validator {
  const known = isFields(schema) && !isLong ? validators.get(schema) : undefined;
  if (known !== undefined) return known;
  const own = withoutWild(schema);
  count(own, isLong);
  const validator = new Validator(own, "2020-12");
  if (isFields(schema) && !isLong) validators.set(schema, validator);
  return validator;
}

let steps = 0;

/**
 * Has every part of a schema count how often it is looked at. The validator
 * takes no limit, but it reads this keyword, which the dialect does not have,
 * each time it holds a part against a value.
 */
function count(part: unknown, isLong: boolean): void {
  if (Array.isArray(part)) return part.forEach((one) => count(one, isLong));
  if (!isFields(part)) return;
  const own = part as Record<string, unknown>;
  let weight = 1;
  for (const [key, value] of Object.entries(own)) {
    if (Array.isArray(value)) weight += value.length;
    if (isLong && key === "uniqueItems" && value === true) delete own[key];
    else count(value, isLong);
  }
  const step = (): undefined => {
    steps += weight;
    if (steps > MOST_STEPS) throw new RangeError("too many steps");
  };
  if (!isFields(own["$recursiveRef"]))
    Object.defineProperty(own, "$recursiveRef", { get: step, enumerable: false });
}
