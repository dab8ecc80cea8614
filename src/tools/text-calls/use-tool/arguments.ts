/** Reads the elements of a call in text as arguments by the tool's schema. */

import {
  impliedTypes,
  isOfType,
  isSchema,
  resolve,
  schemasIn,
  typeOfValue,
  typesIn,
  valuesIn,
} from "../../../schema/keywords.ts";
import { isFields, jsonOf } from "../../../turn/json.ts";
import { memoizeByIdentity } from "../../../turn/memoize.ts";
import type { Fields, JsonSchema } from "../../../turn/turn.ts";
import { compact } from "./json-text.ts";

/** The types a value may have; none: any. */
export type Types = ReadonlySet<string> | undefined;

/** What a schema says of a value, as far as text has to be told from JSON, and elements from text. */
export type Shape = {
  readonly types: Types;
  /** The tag that holds all properties at once. */
  readonly whole: string;
  /** Whether a tag is around all properties: the one we write, or one that models write and none is named. */
  wraps(tag: string): boolean;
  property(key: string): Shape;
  items(): Shape;
};

/** What models put around the arguments of a call. */
export const wrappers: ReadonlySet<string> = new Set(["arguments", "parameters", "input", "args"]);

export const shapeOf = (schema: JsonSchema | undefined): Shape =>
  isFields(schema) ? shapeOfRoot(schema) : unknown;

/** The types alone say how a text is read, and the writer asks this reader: so both agree. */
export function readValue(text: string, types: Types): string {
  const plain = JSON.stringify(text);
  if (types?.size === 1 && types.has("string")) return plain;
  const value = jsonOf(text);
  if (value === undefined) return pythonWord(text, types) ?? plain;
  if (types?.has("string") !== true) return compact(text);
  // Beside other types a string is in quotes only where it would be taken for one of them.
  const isJson =
    typeof value === "string"
      ? readValue(value, types) !== JSON.stringify(value)
      : [...types].some((type) => isOfType(value, type));
  return isJson ? compact(text) : plain;
}

/** `True`, `False` and `None` where there can be no text. */
function pythonWord(text: string, types: Types): string | undefined {
  if (types === undefined || types.has("string")) return undefined;
  const word = text.toLowerCase().replace("none", "null");
  return isOfType(jsonOf(word), types.has("boolean") ? "boolean" : "null") ? word : undefined;
}

const WHOLE = "args";

const unknown: Shape = {
  types: undefined,
  whole: WHOLE,
  wraps: (tag) => tag === WHOLE,
  property: () => unknown,
  items: () => unknown,
};

const shapeOfRoot = memoizeByIdentity((root: Fields): Shape => shapeIn([root], root, new Map()));

/** `refs`: the types of references, undefined while one is being found. */
function shapeIn(schemas: readonly JsonSchema[], root: Fields, refs: Map<string, Types>): Shape {
  const properties = new Map<string, JsonSchema[]>();
  const items: JsonSchema[] = [];
  const seen = new Set<JsonSchema>();
  for (const schema of schemas) gather(schema, { root, properties, items, seen });
  const whole = wholeTag(properties);
  const known = new Map<string, Shape>();
  return {
    types: typesOfAny(schemas, root, refs),
    whole,
    wraps: (tag) =>
      tag === whole || (properties.size > 0 && wrappers.has(tag) && !properties.has(tag)),
    property(key) {
      const declared = properties.get(key);
      if (declared === undefined) return unknown;
      const shape = known.get(key) ?? shapeIn(declared, root, refs);
      known.set(key, shape);
      return shape;
    },
    items: () => (items.length === 0 ? unknown : shapeIn(items, root, refs)),
  };
}

function wholeTag(properties: ReadonlyMap<string, unknown>): string {
  if (!properties.has(WHOLE)) return WHOLE;
  let tag = "arguments";
  for (let marks = "_"; properties.has(tag); marks += "_") tag = marks + WHOLE;
  return tag;
}

/** What a schema is combined of. */
const combined = (schema: Fields, root: Fields): readonly JsonSchema[] => [
  ...(typeof schema.$ref === "string" ? [resolve(root, schema.$ref) ?? true] : []),
  ...schemasIn(schema.allOf),
  ...schemasIn(schema.anyOf),
  ...schemasIn(schema.oneOf),
];

type Gathered = {
  readonly root: Fields;
  readonly properties: Map<string, JsonSchema[]>;
  readonly items: JsonSchema[];
  readonly seen: Set<JsonSchema>;
};

/** Finds the properties and items that a schema declares, in all the places where it can. */
function gather(schema: JsonSchema, into: Gathered): void {
  if (typeof schema === "boolean" || into.seen.has(schema)) return;
  into.seen.add(schema);
  const { properties, items } = schema;
  for (const [key, value] of Object.entries(isFields(properties) ? properties : {})) {
    if (!isSchema(value)) continue;
    const known = into.properties.get(key);
    if (known === undefined) into.properties.set(key, [value]);
    else known.push(value);
  }
  if (isSchema(items)) into.items.push(items);
  for (const one of combined(schema, into.root)) gather(one, into);
}

function typesOf(schema: JsonSchema, root: Fields, refs: Map<string, Types>): Types {
  if (typeof schema === "boolean") return undefined;
  const values = valuesIn(schema);
  const own = values === undefined ? typesIn(schema) : values.map(typeOfValue);
  if (own.length > 0) return new Set(schema.nullable === true ? [...own, "null"] : own);
  const { $ref: ref } = schema;
  if (typeof ref === "string") {
    if (!refs.has(ref)) {
      refs.set(ref, undefined);
      refs.set(ref, typesOf(resolve(root, ref) ?? true, root, refs));
    }
    return refs.get(ref);
  }
  const parts = combined(schema, root);
  if (parts.length > 0) return typesOfAny(parts, root, refs);
  const implied = impliedTypes(schema);
  return implied.length === 0 ? undefined : new Set(implied);
}

function typesOfAny(schemas: readonly JsonSchema[], root: Fields, refs: Map<string, Types>): Types {
  const all = schemas.map((one) => typesOf(one, root, refs));
  return all.length === 0 || all.includes(undefined)
    ? undefined
    : new Set(all.flatMap((types) => Array.from(types ?? [])));
}
