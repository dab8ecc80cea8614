import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { referred, type Looks } from "./schema.ts";

/** A schema without references and alternatives, and the alternatives that are still to be taken. */
export type Gathered = { readonly flat: Fields; readonly choices: readonly (readonly unknown[])[] };

const DEEPEST = 32;

/** Adds all that a schema says to what is gathered; undefined if nothing can satisfy it, or it has no end. */
export function gather(
  schema: unknown,
  into: Gathered,
  from: { readonly root: JsonSchema; readonly looks: Looks },
  depth = 0,
): Gathered | undefined {
  if (schema === false || --from.looks.left <= 0) return undefined;
  if (!isFields(schema) || depth > DEEPEST) return into;
  const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...rest } = schema;
  const choices = [...into.choices];
  if (Array.isArray(anyOf)) choices.push(anyOf);
  if (Array.isArray(oneOf)) choices.push(oneOf);
  if (condition !== undefined)
    choices.push([{ allOf: [condition, then ?? true] }, otherwise ?? true]);
  let gathered: Gathered | undefined = { flat: merge(into.flat, rest), choices };
  const parts: unknown[] = Array.isArray(allOf) ? [...allOf] : [];
  if (typeof $ref === "string") parts.unshift(referred($ref, from.root));
  for (const part of parts) gathered = gathered && gather(part, gathered, from, depth + 1);
  return gathered;
}

/**
 * One schema that asks for what both ask for, as far as keywords can say it.
 * Where they cannot, the first is kept: whatever is made from the result is
 * still held against the schema it came from.
 */
function merge(a: Fields, b: Fields): Fields {
  const merged: Record<string, unknown> = { ...a };
  for (const [key, value] of Object.entries(b))
    merged[key] = Object.hasOwn(a, key) ? join(key, a[key], value) : value;
  return merged;
}

function join(key: string, a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") {
    if (/^(exclusiveM|m)in/.test(key)) return Math.max(a, b);
    if (/^(exclusiveM|m)ax/.test(key)) return Math.min(a, b);
  }
  switch (key) {
    case "type":
      return commonTypes([a].flat(), [b].flat());
    case "enum":
      return Array.isArray(a) && Array.isArray(b) ? a.filter((one) => b.includes(one)) : a;
    case "required":
      return [...new Set([a, b].flat())];
    case "properties":
    case "patternProperties":
      return isFields(a) && isFields(b) ? both(a, b) : a;
    case "items":
    case "additionalProperties":
    case "contains":
    case "propertyNames":
      return { allOf: [a, b] };
    default:
      return a;
  }
}

function both(a: Fields, b: Fields): Fields {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(
    names.map((name) => {
      if (!Object.hasOwn(a, name)) return [name, b[name]];
      return [name, Object.hasOwn(b, name) ? { allOf: [a[name], b[name]] } : a[name]];
    }),
  );
}

function commonTypes(a: readonly unknown[], b: readonly unknown[]): unknown[] {
  const integer = (types: readonly unknown[]): boolean => types.includes("integer");
  const common = a.filter((type) => b.includes(type));
  const narrowed = (integer(a) && b.includes("number")) || (integer(b) && a.includes("number"));
  return narrowed && !common.includes("number") && !integer(common)
    ? [...common, "integer"]
    : common;
}
