/** Reads single keywords of JSON Schemas. */
import { roundedNumber } from "../json/exact.ts";
import { isFields } from "../json/json.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";

/** Keywords whose values are data and never schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default"]);
/** Keywords that hold schemas by names of the author. */
const NAMED: ReadonlySet<string> = new Set(
  "properties patternProperties $defs definitions dependentSchemas dependencies".split(" "),
);

/** Applies `change` to every part of a schema, from the inside out. */
export function rebuilt<S>(schema: S, change: (part: Fields) => Fields): S;
export function rebuilt(schema: unknown, change: (part: Fields) => Fields): unknown {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return isFields(value) ? change(mapped(value, member)) : value;
  };
  const member = (value: unknown, key: string): unknown => {
    if (typeof value !== "object" || DATA.has(key)) return value;
    return NAMED.has(key) && isFields(value) ? mapped(value, inner) : inner(value);
  };
  return inner(schema);
}

const mapped = (fields: Fields, each: (value: unknown, key: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, each(value, key)]));

/** Keywords that limit only values of one type. */
const wordsByType = {
  object:
    "properties required additionalProperties patternProperties propertyNames minProperties " +
    "maxProperties",
  array: "items prefixItems minItems maxItems uniqueItems contains",
  string: "minLength maxLength pattern format",
  number: "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
};

/** The type of the values that a keyword limits, if it is one type. */
export const typeOfWord: ReadonlyMap<string, string> = new Map(
  Object.entries(wordsByType).flatMap(([type, words]) =>
    words.split(" ").map((word) => [word, type]),
  ),
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

export const isNumeric = (type: string | undefined): boolean =>
  type === "number" || type === "integer";

/** The values of an `enum` or `const`. */
export function allowedValues(schema: Fields): readonly unknown[] | undefined {
  if ("const" in schema) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

export const requiredIn = (schema: Fields): readonly string[] =>
  Array.isArray(schema.required) ? schema.required.map(String) : [];

/** The types of a schema without `type`, by its other keywords. */
export function impliedTypes(schema: Fields): readonly string[] {
  const values = allowedValues(schema);
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

/** The target of a reference within its root schema. */
export function resolve(root: JsonSchema, ref: string): JsonSchema | undefined {
  // Other references name another document or an anchor.
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

/** A step of a reference, decoded like a part of a URL. */
function unquoted(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // It is not encoded.
  }
}

/** Types of values; undefined: any. */
export type Types = ReadonlySet<string> | undefined;

/** The schemas that a schema combines. */
export const combined = (schema: Fields, root: JsonSchema): readonly JsonSchema[] => [
  ...(typeof schema.$ref === "string" ? [resolve(root, schema.$ref) ?? true] : []),
  ...schemasIn(schema.allOf),
  ...schemasIn(schema.anyOf),
  ...schemasIn(schema.oneOf),
];

/** Finds the types that values of the schemas below a root may have. */
export class TypeFinder {
  readonly #root: JsonSchema;
  /** True to take the type that other keywords imply for that of a schema without one. */
  readonly #implies: boolean;
  /** The types of references; undefined while they are being found. */
  readonly #refs = new Map<string, Types>();

  constructor(root: JsonSchema, implies: boolean) {
    this.#root = root;
    this.#implies = implies;
  }

  typesOf(schema: JsonSchema): Types {
    if (typeof schema === "boolean") return undefined;
    const values = allowedValues(schema);
    const own = values === undefined ? typesIn(schema) : values.map(typeOfValue);
    if (own.length > 0) return new Set(schema.nullable === true ? [...own, "null"] : own);
    const { $ref: ref } = schema;
    if (typeof ref === "string") {
      if (!this.#refs.has(ref)) {
        this.#refs.set(ref, undefined);
        this.#refs.set(ref, this.typesOf(resolve(this.#root, ref) ?? true));
      }
      return this.#refs.get(ref);
    }
    const parts = combined(schema, this.#root);
    if (parts.length > 0) return this.typesOfAny(parts);
    const implied = this.#implies ? impliedTypes(schema) : [];
    return implied.length === 0 ? undefined : new Set(implied);
  }

  /** The types of values that fit one of several schemas. */
  typesOfAny(schemas: readonly JsonSchema[]): Types {
    const all = schemas.map((one) => this.typesOf(one));
    return all.length === 0 || all.includes(undefined)
      ? undefined
      : new Set(all.flatMap((types) => Array.from(types ?? [])));
  }
}

/** True if null is a value of the schema, or may be. */
export function acceptsNull(schema: JsonSchema, root: JsonSchema): boolean {
  const types = new TypeFinder(root, false).typesOf(schema);
  return types === undefined || types.has("null");
}
