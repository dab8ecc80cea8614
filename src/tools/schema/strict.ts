import { isSchema, typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Keywords that a strict schema may have and that are not looked into here. */
const harmless: ReadonlySet<string> = new Set(
  `$ref $schema additionalProperties const description enum exclusiveMaximum exclusiveMinimum format
  maxItems maximum minItems minimum multipleOf pattern required title type`.split(/\s+/),
);

/**
 * Whether models can be held to a schema strictly, as the API means it: objects
 * are closed and have all of their properties, and every part has a type. What
 * it may not know is not.
 */
export function isStrict(schema: JsonSchema): boolean {
  return typeof schema === "object" && typesIn(schema).join() === "object" && isKept(schema);
}

function isKept(schema: unknown): boolean {
  if (!isSchema(schema) || typeof schema === "boolean" || !hasForm(schema)) return false;
  if (typesIn(schema).includes("object") && !isClosed(schema)) return false;
  return Object.entries(schema).every(([word, value]) => {
    if (word === "properties" || word === "$defs" || word === "definitions")
      return isFields(value) && Object.values(value).every(isKept);
    if (word === "anyOf") return Array.isArray(value) && value.every(isKept);
    if (word === "items") return isKept(value);
    return harmless.has(word);
  });
}

/** Whether it says what it is of: by a type, as one of several, or elsewhere and then there alone. */
const hasForm = (schema: Fields): boolean =>
  schema.$ref === undefined
    ? schema.type !== undefined || schema.anyOf !== undefined
    : Object.keys(schema).length === 1;

function isClosed({ properties = {}, required = [], additionalProperties }: Fields): boolean {
  if (!isFields(properties) || !Array.isArray(required) || additionalProperties !== false)
    return false;
  const named = new Set<unknown>(required);
  return Object.keys(properties).every((key) => named.has(key));
}
