import { z } from "zod";
import { hasShortKeys, isFields, isWithin } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Providers take a few tens. Whoever walks a schema does so on the stack, and that has an end. */
const DEEPEST = 512;

/** Nobody names a property at such length; an expression under `patternProperties` may be long. */
const LONGEST_KEY = 8192;

/** A JSON Schema as a client sends it. */
export const jsonSchema = z
  .custom<Fields | boolean>((value) => isFields(value) || typeof value === "boolean", {
    error: "must be a JSON Schema: an object",
  })
  .refine((value) => isWithin(value, DEEPEST), {
    error: `must not be nested deeper than ${DEEPEST} levels`,
    abort: true,
  })
  .refine((value) => hasShortKeys(value, LONGEST_KEY), {
    error: `must not have a key of more than ${LONGEST_KEY} characters`,
  });

/** Why the parameters of a function are not sent as they came. */
export const NO_OBJECT = "the parameters of a function are an object";

/** A schema as the parameters of a function: APIs take an object; one that is just `true` allows any. */
export function parametersOf(schema: JsonSchema | undefined): Fields | undefined {
  if (typeof schema !== "boolean") return schema;
  return schema ? { type: "object", properties: {}, additionalProperties: true } : { not: {} };
}
