import { isFields } from "../turn/json.ts";
import { isTame } from "../turn/tame.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";

/** A schema without the patterns that might never be done with a text. The rest of it still holds. */
export const withoutWild = (schema: JsonSchema): JsonSchema =>
  isFields(schema) ? tamed(schema) : schema;

const tamed = (schema: Fields): Fields =>
  Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => key !== "pattern" || typeof value !== "string" || isTame(value))
      .map(([key, value]) => [key, inner(key === "patternProperties" ? tameNames(value) : value)]),
  );

const inner = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(inner) : isFields(value) ? tamed(value) : value;

const tameNames = (value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).filter(([pattern]) => isTame(pattern)))
    : value;
