import {
  impliedTypes,
  isOfType,
  isSchema,
  resolve,
  schemasIn,
  typeOfValue,
  typesIn,
  valuesIn,
} from "../../schema/parts.ts";
import { isFields, jsonOf } from "../../turn/json.ts";
import { kept } from "../../turn/kept.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
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
  shape(key: string): Shape;
  /** The shape of one element where there are several of a key. */
  element(key: string): Shape;
};

export const argumentsOf = (schema: JsonSchema | undefined): Arguments =>
  isFields(schema) ? readSchema(schema) : unknownArguments;

/** Why both sides agree: the shape alone says how a text is read, and the writer asks the reader. */
export function readValue(text: string, shape: Shape): string {
  const { types, values } = shape;
  const plain = JSON.stringify(text);
  if (values?.includes(text) === true) return plain;
  if (types?.size === 1 && types.has("string")) return plain;
  const value = jsonOf(text);
  if (value === undefined) return plain;
  if (types?.has("string") !== true) return compact(text);
  // Beside other types a string is in quotes only where it would be taken for one of them.
  const isJson =
    typeof value === "string"
      ? readValue(value, shape) !== JSON.stringify(value)
      : [...types].some((type) => isOfType(value, type));
  return isJson ? compact(text) : plain;
}

const WHOLE = "args";
const anything: Shape = {};

const unknownArguments: Arguments = {
  whole: WHOLE,
  declares: () => false,
  some: false,
  shape: () => anything,
  element: () => anything,
};

const readSchema = kept((root: Fields): Arguments => {
  const properties = new Map<string, JsonSchema[]>();
  const others: JsonSchema[] = [];
  gather(root, { root, properties, others, seen: new Set() });
  const shapes = new Map<string, Shape>();
  const shapesIn = (schemas: readonly JsonSchema[]): Shape => {
    const refs = new Map<string, Shape | undefined>();
    return either(schemas.map((one) => shapeOf(one, root, refs)));
  };
  const shape = (key: string): Shape => {
    const declared = properties.get(key);
    if (declared === undefined) return others.length === 0 ? anything : shapesIn(others);
    let found = shapes.get(key);
    if (found === undefined) shapes.set(key, (found = shapesIn(declared)));
    return found;
  };
  return {
    whole: wholeTag((key) => properties.has(key)),
    declares: (key) => properties.has(key),
    some: properties.size > 0,
    shape,
    element(key) {
      const of = shape(key);
      if (of.types?.has("array") !== true) return of;
      return of.items === undefined ? anything : shapesIn(of.items);
    },
  };
});

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
