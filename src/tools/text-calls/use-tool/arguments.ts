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

/** What an argument may be, as far as text has to be told from JSON. */
export type Shape = {
  /** None: anything. */
  readonly types?: ReadonlySet<string> | undefined;
  /** The only values it has, where they are listed. */
  readonly values?: readonly unknown[] | undefined;
  /** What its elements may be, if it is a list. */
  readonly items?: readonly JsonSchema[] | undefined;
};

/** What a schema says of a tool's arguments. */
export type Arguments = {
  /** The tag that holds all of them at once. */
  readonly whole: string;
  declares(key: string): boolean;
  /** Whether it names any at all. */
  readonly some: boolean;
  /** Whether a tag is around all of them: the one we write, or one that models write and no argument is named. */
  wraps(tag: string): boolean;
  value(key: string): Value;
};

/** What a schema says of one value. */
export type Value = {
  readonly shape: Shape;
  /** What is in it, if it is an object. */
  fields(): Arguments;
  /** What it has several of, if it is a list; else itself. */
  element(): Value;
};

/** What models put around the arguments of a call. */
export const wrappers: ReadonlySet<string> = new Set(["arguments", "parameters", "input", "args"]);

export const argumentsOf = (schema: JsonSchema | undefined): Arguments =>
  isFields(schema) ? readSchema(schema) : unknownArguments;

/** Why both sides agree: the shape alone says how a text is read, and the writer asks the reader. */
export function readValue(text: string, shape: Shape): string {
  const { types, values } = shape;
  const plain = JSON.stringify(text);
  if (values?.includes(text) === true) return plain;
  if (types?.size === 1 && types.has("string")) return plain;
  const value = jsonOf(text);
  if (value === undefined) return spokenWord(text, types) ?? plain;
  if (types?.has("string") !== true) return compact(text);
  // Beside other types a string is in quotes only where it would be taken for one of them.
  const isJson =
    typeof value === "string"
      ? readValue(value, shape) !== JSON.stringify(value)
      : [...types].some((type) => isOfType(value, type));
  return isJson ? compact(text) : plain;
}

/** What is no text and is said as other languages do: `True`, `None`. */
function spokenWord(text: string, types: Types): string | undefined {
  if (types === undefined || types.has("string")) return undefined;
  const word = text.toLowerCase();
  if (types.has("boolean") && (word === "true" || word === "false")) return word;
  return types.has("null") && (word === "none" || word === "null") ? "null" : undefined;
}

const WHOLE = "args";
const anything: Shape = {};

const unknownArguments: Arguments = {
  whole: WHOLE,
  declares: () => false,
  some: false,
  wraps: (tag) => tag === WHOLE,
  value: () => anyValue,
};
const anyValue: Value = {
  shape: anything,
  fields: () => unknownArguments,
  element: () => anyValue,
};

const readSchema = memoizeByIdentity((root: Fields): Arguments => argumentsIn([root], root));

function argumentsIn(schemas: readonly JsonSchema[], root: Fields): Arguments {
  const properties = new Map<string, JsonSchema[]>();
  const others: JsonSchema[] = [];
  const seen = new Set<string>();
  for (const schema of schemas) gather(schema, { root, properties, others, seen });
  const values = new Map<string, Value>();
  const declares = (key: string): boolean => properties.has(key);
  const whole = wholeTag(declares);
  const some = properties.size > 0;
  return {
    whole,
    declares,
    some,
    wraps: (tag) => tag === whole || (some && wrappers.has(tag) && !declares(tag)),
    value(key) {
      const declared = properties.get(key);
      if (declared === undefined) return others.length === 0 ? anyValue : valueIn(others, root);
      let found = values.get(key);
      if (found === undefined) values.set(key, (found = valueIn(declared, root)));
      return found;
    },
  };
}

function valueIn(schemas: readonly JsonSchema[], root: Fields): Value {
  const refs = new Map<string, Shape | undefined>();
  const shape = either(schemas.map((one) => shapeOf(one, root, refs)));
  const value: Value = {
    shape,
    fields: () => argumentsIn(schemas, root),
    element() {
      if (shape.types?.has("array") !== true) return value;
      return shape.items === undefined ? anyValue : valueIn(shape.items, root);
    },
  };
  return value;
}

function wholeTag(declares: (key: string) => boolean): string {
  if (!declares(WHOLE)) return WHOLE;
  let tag = "arguments";
  for (let marks = "_"; declares(tag); marks += "_") tag = marks + WHOLE;
  return tag;
}

type Gathering = {
  readonly root: JsonSchema;
  readonly properties: Map<string, JsonSchema[]>;
  /** What is said of arguments that are not named. */
  readonly others: JsonSchema[];
  readonly seen: Set<string>;
};

/** Finds the arguments that a schema names, in all the places where it can. */
function gather(schema: JsonSchema, into: Gathering): void {
  if (typeof schema === "boolean") return;
  const { $ref: ref, properties, additionalProperties: rest } = schema;
  if (isFields(properties))
    for (const [key, value] of Object.entries(properties)) {
      if (!isSchema(value)) continue;
      const found = into.properties.get(key);
      if (found === undefined) into.properties.set(key, [value]);
      else found.push(value);
    }
  if (isFields(rest)) into.others.push(isFields(schema.patternProperties) ? true : rest);
  if (typeof ref === "string" && !into.seen.has(ref)) {
    into.seen.add(ref);
    gather(resolve(into.root, ref) ?? true, into);
  }
  for (const word of ["allOf", "anyOf", "oneOf"])
    for (const one of schemasIn(schema[word])) gather(one, into);
}

/** `refs`: the shapes of references, undefined while one is being found. */
function shapeOf(
  schema: JsonSchema,
  root: JsonSchema,
  refs: Map<string, Shape | undefined>,
): Shape {
  if (typeof schema === "boolean") return anything;
  const { $ref: ref } = schema;
  const inner: Shape[] = [];
  if (typeof ref === "string") {
    if (!refs.has(ref)) {
      refs.set(ref, undefined);
      refs.set(ref, shapeOf(resolve(root, ref) ?? true, root, refs));
    }
    inner.push(refs.get(ref) ?? anything);
  }
  for (const one of schemasIn(schema.allOf)) inner.push(shapeOf(one, root, refs));
  for (const word of ["anyOf", "oneOf"]) {
    const branches = schemasIn(schema[word]);
    if (branches.length > 0) inner.push(either(branches.map((one) => shapeOf(one, root, refs))));
  }
  const shape = inner.reduce(both, ownShape(schema, inner.length > 0));
  if (schema.nullable !== true || shape.types === undefined) return shape;
  return { ...shape, types: new Set([...shape.types, "null"]) };
}

/** What a schema says by itself. Its keywords tell the type only where nothing else does. */
function ownShape(schema: Fields, isCombined: boolean): Shape {
  const { items } = schema;
  const values = valuesIn(schema);
  let types = typesIn(schema);
  if (values !== undefined) types = [...new Set(values.map(typeOfValue))];
  else if (types.length === 0 && !isCombined) types = impliedTypes(schema);
  return {
    types: types.length === 0 ? undefined : new Set(types),
    values,
    items: isSchema(items) ? [items] : undefined,
  };
}

function either(shapes: readonly Shape[]): Shape {
  const isOpen = shapes.some(({ types }) => types === undefined);
  const isListed = shapes.every(({ values }) => values !== undefined);
  const items = shapes.flatMap((one) => one.items ?? []);
  return {
    types: isOpen ? undefined : new Set(shapes.flatMap(({ types }) => [...(types ?? [])])),
    values: isListed ? shapes.flatMap(({ values }) => values ?? []) : undefined,
    items: items.length === 0 ? undefined : items,
  };
}

function both(one: Shape, other: Shape): Shape {
  return {
    types: shared(one.types, other.types),
    values: one.values ?? other.values,
    items: one.items ?? other.items,
  };
}

type Types = ReadonlySet<string> | undefined;

function shared(one: Types, other: Types): Types {
  if (one === undefined || other === undefined) return one ?? other;
  const has = (types: ReadonlySet<string>, type: string): boolean =>
    types.has(type) || (type === "integer" && types.has("number"));
  const types = [
    ...[...one].filter((type) => has(other, type)),
    ...[...other].filter((type) => has(one, type)),
  ];
  // A schema that nothing can meet says nothing of use.
  return types.length === 0 ? one : new Set(types);
}
