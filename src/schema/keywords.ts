/** Reads single keywords of JSON Schemas. */
import { roundedNumber } from "../json/exact.ts";
import { isFields } from "../json/json.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";

/** What is no schema, whatever it looks like. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default"]);
/** What has schemas by names of anybody's choosing. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/**
 * A schema in which every part was given to `change`, the inner ones first. What
 * does not change is not copied, the whole schema neither.
 */
export function rebuilt<S>(schema: S, change: (part: Fields) => Fields): S;
export function rebuilt(schema: unknown, change: (part: Fields) => Fields): unknown {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return listed(value, inner);
    return isFields(value) ? change(mapped(value, member)) : value;
  };
  const member = (value: unknown, key: string): unknown => {
    if (typeof value !== "object" || DATA.has(key)) return value;
    return NAMED.has(key) && isFields(value) ? mapped(value, inner) : inner(value);
  };
  return inner(schema);
}

function listed(list: readonly unknown[], each: (value: unknown) => unknown): readonly unknown[] {
  let made: unknown[] | undefined;
  for (const [at, value] of list.entries()) {
    const changed = each(value);
    if (changed !== value) (made ??= [...list])[at] = changed;
  }
  return made ?? list;
}

function mapped(fields: Fields, each: (value: unknown, key: string) => unknown): Fields {
  let made: Map<string, unknown> | undefined;
  for (const key in fields) {
    const value = fields[key];
    const changed = each(value, key);
    if (changed !== value) (made ??= new Map(Object.entries(fields))).set(key, changed);
  }
  return made === undefined ? fields : Object.fromEntries(made);
}

/** Which keywords speak only of values of one type. */
const spoken: Readonly<Record<string, readonly string[]>> = {
  object: [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
  ],
  array: ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
};

/** The type of value that a keyword speaks of, if it is one only. */
export const typeOfWord: ReadonlyMap<string, string> = new Map(
  Object.entries(spoken).flatMap(([type, keywords]) => keywords.map((word) => [word, type])),
);

export const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "boolean" || isFields(value);

export const schemasIn = (value: unknown): readonly JsonSchema[] =>
  Array.isArray(value) ? value.filter(isSchema) : [];

export const typesIn = (schema: Fields): readonly string[] => {
  const { type } = schema;
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((one) => typeof one === "string") : [];
};

/** The only values of a schema, where it lists them. */
export function valuesIn(schema: Fields): readonly unknown[] | undefined {
  if ("const" in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

export const requiredIn = (schema: Fields): readonly string[] =>
  Array.isArray(schema.required) ? schema.required.map(String) : [];

/** The types of a schema that names none, told from its keywords. */
export function impliedTypes(schema: Fields): readonly string[] {
  const values = valuesIn(schema);
  if (values !== undefined) return [...new Set(values.map(typeOfValue))];
  for (const word of Object.keys(schema)) {
    const type = typeOfWord.get(word);
    if (type !== undefined) return [type];
  }
  return [];
}

export function typeOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

export function isOfType(value: unknown, type: string): boolean {
  const meant = roundedNumber(value);
  return typeOfValue(meant) === type || (type === "number" && typeof meant === "number");
}

/** Where a reference points, within the schema it stands in. */
export function resolve(root: JsonSchema, ref: string): JsonSchema | undefined {
  // Anything but a path names what somebody else knows, or an anchor.
  if (!/^#(\/|$)/.test(ref)) return undefined;
  let at: unknown = root;
  for (const step of ref.slice(1).split("/").slice(1)) {
    const key = unquoted(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (isFields(at) && Object.hasOwn(at, key)) at = at[key];
    else if (Array.isArray(at)) at = at[Number(key)];
    else return undefined;
  }
  return isSchema(at) ? at : undefined;
}

/** A step of a reference, whose signs may be written as in a URL. */
function unquoted(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // What is no such sign stands for itself.
  }
}

/**
 * Whether null is a value of the schema; if it cannot be told, it is taken to
 * be. `refs` is what is known of references: each is followed once.
 */
export function acceptsNull(
  schema: JsonSchema,
  root: JsonSchema,
  refs = new Map<string, boolean>(),
): boolean {
  if (typeof schema === "boolean") return schema;
  const { $ref: ref } = schema;
  if (typeof ref === "string") {
    const known = refs.get(ref);
    if (known !== undefined) return known;
    refs.set(ref, true);
    const target = resolve(root, ref);
    const accepts = target === undefined || acceptsNull(target, root, refs);
    refs.set(ref, accepts);
    return accepts;
  }
  if (schema.nullable === true) return true;
  if ("const" in schema) return schema.const === null;
  if (Array.isArray(schema.enum)) return schema.enum.includes(null);
  const types = typesIn(schema);
  if (types.length > 0 && !types.includes("null")) return false;
  const some = (key: string): boolean =>
    !Array.isArray(schema[key]) ||
    schemasIn(schema[key]).some((one) => acceptsNull(one, root, refs));
  return (
    some("anyOf") &&
    some("oneOf") &&
    schemasIn(schema.allOf).every((one) => acceptsNull(one, root, refs))
  );
}
