import { z } from "zod";
import { isFields, isWithin } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Providers take a few tens. Whoever walks a schema does so on the stack, and that has an end. */
const DEEPEST = 512;

/** A JSON Schema as a client sends it. */
export const jsonSchema = z
  .custom<Fields | boolean>((value) => isFields(value) || typeof value === "boolean", {
    error: "must be a JSON Schema: an object",
  })
  .refine((value) => isWithin(value, DEEPEST), {
    error: `must not be nested deeper than ${DEEPEST} levels`,
  });

/** Why the parameters of a function are not sent as they came. */
export const NO_OBJECT = "the parameters of a function are an object";

/** A schema as the parameters of a function: APIs take an object; one that is just `true` allows any. */
export function parametersOf(schema: JsonSchema | undefined): Fields | undefined {
  if (typeof schema !== "boolean") return schema;
  return schema ? { type: "object", properties: {}, additionalProperties: true } : { not: {} };
}
