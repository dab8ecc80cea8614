import {
  isOfType,
  isSchema,
  requiredIn,
  resolve,
  schemasIn,
  typeOfWord,
  typesIn,
  valuesIn,
} from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { roundedNumber } from "../../json/exact.ts";
import {
  asText,
  limit,
  type Rewrite,
  type RewrittenSchema,
  takes,
  type Within,
} from "./compile.ts";
import type { Codec } from "./codec.ts";

/** One alternative of a union, as the client wrote it and as the upstream is given it. */
type Branch = {
  readonly client: JsonSchema;
  readonly upstream: JsonSchema;
  readonly codec: Codec | undefined;
};

/** Alternatives are held against each other two by two: 256 of them 32,640 times. */
const MOST = 256;

/**
 * The codec of a union whose alternatives differ in form. Nothing, if a value
 * of one could be taken for a value of another: then it could not be undone.
 * The alternatives come with their references followed.
 */
function unionCodec(branches: readonly Branch[]): Codec | undefined {
  if (branches.length > MOST) return undefined;
  for (const [at, one] of branches.entries())
    for (const other of branches.slice(at + 1))
      if (!areApart(one.upstream, other.upstream)) return undefined;

  const taken = (value: unknown): Branch | undefined =>
    branches.find(({ upstream }) => looksLike(upstream, value));
  return {
    encode(value) {
      for (const branch of branches) {
        if (!looksLike(branch.client, value, true)) continue;
        const encoded = branch.codec === undefined ? value : branch.codec.encode(value);
        if (taken(encoded) === branch) return encoded;
      }
      return value;
    },
    decode(value) {
      const codec = taken(value)?.codec;
      return codec === undefined ? value : codec.decode(value);
    },
  };
}

/** Whether no value looks like both, as far as can be seen from outside. */
function areApart(one: JsonSchema, other: JsonSchema): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  const [types, others] = [typesIn(one), typesIn(other)];
  if (types.length === 0 || others.length === 0) return false;
  const shared = types.filter((type) => others.some((o) => overlap(type, o)));
  if (shared.length === 0) return true;
  if (shared.length > 1 || shared[0] !== "object") return valuesApart(one, other);
  return lacks(one, other) || lacks(other, one) || discriminated(one, other);
}

const overlap = (one: string, other: string): boolean =>
  one === other || (isNumeric(one) && isNumeric(other));
const isNumeric = (type: string): boolean => type === "number" || type === "integer";

const valuesOf = (schema: unknown): readonly unknown[] | undefined =>
  isFields(schema) ? valuesIn(schema) : undefined;

function valuesApart(one: unknown, other: unknown): boolean {
  const [mine, theirs] = [valuesOf(one), valuesOf(other)];
  return mine !== undefined && theirs !== undefined && mine.every((v) => !theirs.includes(v));
}

/** Whether `one` has no place for something that `other` requires. */
function lacks(one: Fields, other: Fields): boolean {
  if (one.additionalProperties !== false) return false;
  const properties = isFields(one.properties) ? one.properties : {};
  return requiredIn(other).some((key) => !Object.hasOwn(properties, key));
}

function discriminated(one: Fields, other: Fields): boolean {
  const [mine, theirs] = [one.properties, other.properties];
  if (!isFields(mine) || !isFields(theirs)) return false;
  const both = requiredIn(one).filter((key) => requiredIn(other).includes(key));
  return both.some((key) => valuesApart(mine[key], theirs[key]));
}

/**
 * Whether a value has the outline that a schema asks for. Not validation: it
 * only tells alternatives apart. Not deep, it forgives a model what is wrong inside.
 */
function looksLike(schema: JsonSchema, given: unknown, deep = false): boolean {
  if (typeof schema === "boolean") return schema;
  const value = roundedNumber(given);
  const types = typesIn(schema);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false;
  const values = valuesOf(schema);
  if (values !== undefined && !values.some((one) => sameJson(one, given) || sameJson(one, value)))
    return false;
  if (deep && !fitsCombinations(schema, value)) return false;
  if (deep && Array.isArray(value)) return fitsItems(schema, value);
  return !isFields(value) || hasOutline(schema, value, deep);
}

const sameJson = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function hasOutline(schema: Fields, value: Fields, deep: boolean): boolean {
  const properties = isFields(schema.properties) ? schema.properties : {};
  const rest = schema.additionalProperties;
  if (!requiredIn(schema).every((key) => Object.hasOwn(value, key))) return false;
  return Object.entries(value).every(([key, held]) => {
    const named = Object.hasOwn(properties, key);
    const property = named ? properties[key] : rest;
    if (!isSchema(property)) return true;
    if (!named && !deep) return property !== false;
    return (!deep && valuesOf(property) === undefined) || looksLike(property, held, deep);
  });
}

function fitsCombinations(schema: Fields, value: unknown): boolean {
  const fits = (one: JsonSchema): boolean => looksLike(one, value, true);
  return (
    schemasIn(schema.allOf).every(fits) &&
    ["anyOf", "oneOf"].every(
      (word) => !Array.isArray(schema[word]) || schemasIn(schema[word]).some(fits),
    )
  );
}

function fitsItems(schema: Fields, value: readonly unknown[]): boolean {
  const { items, prefixItems } = schema;
  const places = schemasIn(prefixItems ?? items);
  return value.every((one, at) => {
    const place = places[at] ?? items;
    return !isSchema(place) || looksLike(place, one, true);
  });
}

/** A schema of several types as one of a single type: without what speaks of the others. */
function narrowed(schema: Fields, type: string): Fields {
  const kept = Object.entries(schema).filter(([word]) => {
    const of = typeOfWord.get(word);
    return of === undefined || of === type || (of === "number" && type === "integer");
  });
  const narrow: Record<string, unknown> = { ...Object.fromEntries(kept), type };
  if (Array.isArray(schema.enum))
    narrow.enum = schema.enum.filter((value) => isOfType(value, type));
  return narrow;
}

/**
 * Schemas that must all hold, as one; nothing if no single schema means the same. All
 * at once and not one after the other: each step would copy what the steps
 * before it have gathered.
 */
function mergeAll(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  if (schemas.includes(false)) return false;
  const objects = schemas.filter((schema) => typeof schema !== "boolean");
  const [only, second] = objects;
  if (second === undefined) return only ?? true;
  return joinAll(objects, joinWord);
}

/** The entries of all, those of one name made one. */
function joinAll(
  objects: readonly Fields[],
  join: (name: string, values: readonly unknown[]) => unknown,
): Fields | undefined {
  const byName = new Map<string, unknown[]>();
  for (const object of objects)
    for (const [name, value] of Object.entries(object)) {
      const values = byName.get(name);
      if (values === undefined) byName.set(name, [value]);
      else values.push(value);
    }
  const joined: [string, unknown][] = [];
  for (const [name, values] of byName) {
    const value = values.length === 1 ? values[0] : join(name, values);
    if (value === undefined) return undefined;
    joined.push([name, value]);
  }
  return Object.fromEntries(joined);
}

function joinWord(word: string, all: readonly unknown[]): unknown {
  const values = [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
  const [first, second] = values;
  if (second === undefined) return first;
  switch (word) {
    case "description":
    case "title":
    case "$schema":
      return first;
    case "required":
      return values.every(Array.isArray) ? [...new Set<unknown>(values.flat())] : undefined;
    case "properties":
      return values.every(isFields) ? joinAll(values, joinSchemas) : undefined;
    case "additionalProperties":
      return joinSchemas(word, values);
    case "type":
      return values.every((type) => type === "number" || type === "integer")
        ? "integer"
        : undefined;
    case "enum":
      return values.every(Array.isArray) ? sharedBy(values) : undefined;
    default:
      return undefined;
  }
}

const joinSchemas = (_: string, values: readonly unknown[]): JsonSchema | undefined =>
  values.every(isSchema) ? mergeAll(values) : undefined;

function sharedBy([first = [], ...others]: readonly (readonly unknown[])[]): readonly unknown[] {
  const sets = others.map((values) => new Set(values));
  return first.filter((value) => sets.every((values) => values.has(value)));
}

/** Schemas that must all hold: kept if the upstream takes that, else made one. */
export function writeAll(schema: Fields, writing: Rewrite, within: Within): RewrittenSchema {
  const { allOf, ...own } = schema as Record<string, unknown>;
  const branches = schemasIn(allOf);
  if (takes(writing, "allOf") && !reshapesObjects(writing)) {
    const nodes = branches.map((branch) => writing.write(branch, within));
    if (nodes.every(({ codec }) => codec === undefined))
      return {
        schema: { ...limit(own, writing), allOf: nodes.map((node) => node.schema) },
        codec: undefined,
      };
  }
  const through = new Set(within);
  const all: (JsonSchema | undefined)[] = [
    own,
    ...branches.map((branch) => follow(branch, writing.root, through)),
  ];
  const whole = all.every((one) => one !== undefined) ? mergeAll(all) : undefined;
  if (whole === undefined) return asText(schema, writing, "schemas that must all hold");
  writing.changed = true;
  return writing.write(whole, through);
}

/** What a schema refers to; nothing if that leads back to where it came from. */
function follow(
  schema: JsonSchema,
  root: JsonSchema,
  through: Set<string>,
): JsonSchema | undefined {
  let target: JsonSchema | undefined = schema;
  while (isFields(target) && typeof target.$ref === "string") {
    if (through.has(target.$ref)) return undefined;
    through.add(target.$ref);
    target = resolve(root, target.$ref);
  }
  return target;
}

/** Whether an object of the client's may look different to the upstream. */
const reshapesObjects = ({ rule }: Rewrite): boolean =>
  rule.maps === false || rule.optional === false || rule.keys !== undefined;

const remarks = new Set(
  "description title default examples $comment deprecated $defs definitions".split(" "),
);

/** Alternatives. Keywords next to them hold for each of them. */
export function writeUnion(
  schema: Fields,
  word: "anyOf" | "oneOf",
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const { [word]: alternatives, ...own } = schema as Record<string, unknown>;
  const { rule } = writing;
  const bare = Object.keys(own).every((key) => remarks.has(key));
  const apart = bare || (rule.untyped !== false && !reshapesObjects(writing));
  const branches = schemasIn(alternatives).map((branch) =>
    apart ? { schema: branch, within } : mergedInto(own, branch, writing, within),
  );
  if (!branches.every((branch) => branch !== undefined))
    return asText(schema, writing, "alternatives");
  if (!apart) writing.changed = true;

  const keyword = takes(writing, word) ? word : "anyOf";
  if (!takes(writing, keyword)) return writeWithout(schema, branches, writing);
  if (keyword !== word) writing.changed = true;
  const nodes = branches.map((branch) => writing.write(branch.schema, branch.within));
  const outer = limit(apart ? own : only(own, remarks), writing);
  const written = { ...outer, [keyword]: nodes.map((node) => node.schema) };
  if (nodes.every(({ codec }) => codec === undefined)) return { schema: written, codec: undefined };
  const codec = unionCodec(
    nodes.map((node, at) => ({
      client: follow(branches[at]?.schema ?? true, writing.root, new Set()) ?? true,
      upstream: followWritten(node.schema, writing),
      codec: node.codec,
    })),
  );
  if (codec === undefined) return asText(schema, writing, "alternatives that look alike");
  return { schema: written, codec };
}

/** What a written schema refers to, if that is written yet. */
function followWritten(schema: JsonSchema, { definitions }: Rewrite): JsonSchema {
  if (!isFields(schema) || typeof schema.$ref !== "string") return schema;
  return definitions.byName.get(schema.$ref.slice("#/$defs/".length))?.node?.schema ?? true;
}

/** An alternative of a union, and the references it was reached through. */
type Alternative = { readonly schema: JsonSchema; readonly within: Within };

/** An alternative with what holds for all of them; nothing if that leads back to where it came from. */
function mergedInto(
  own: Fields,
  branch: JsonSchema,
  { root }: Rewrite,
  within: Within,
): Alternative | undefined {
  const common = Object.fromEntries(Object.entries(own).filter(([key]) => !remarks.has(key)));
  const through = new Set(within);
  const target = follow(branch, root, through);
  const schema = target === undefined ? undefined : mergeAll([target, common]);
  return schema === undefined ? undefined : { schema, within: through };
}

const only = (schema: Fields, words: ReadonlySet<string>): Fields =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => words.has(key)));

/** Alternatives for an upstream that takes none. */
function writeWithout(
  schema: Fields,
  branches: readonly Alternative[],
  writing: Rewrite,
): RewrittenSchema {
  const some = branches.filter((branch) => !isNull(branch.schema));
  const [first] = some;
  if (some.length !== 1 || !isFields(first?.schema)) return asText(schema, writing, "alternatives");
  writing.changed = true;
  const outer = only(schema, remarks);
  const node = writing.write({ ...first.schema, ...outer }, first.within);
  return nullable(node, branches.length > 1, writing);
}

const isNull = (schema: JsonSchema): boolean =>
  isFields(schema) && (schema.type === "null" || schema.const === null);

/** A schema that may be null, as far as the upstream has a form for that. */
function nullable(node: RewrittenSchema, may: boolean, writing: Rewrite): RewrittenSchema {
  if (!may || !isFields(node.schema)) return node;
  if (writing.rule.keywords?.includes("nullable") === true)
    return { schema: { ...node.schema, nullable: true }, codec: node.codec };
  writing.describedOnly.add("null");
  return node;
}

/** Several types at once: alternatives of one type each, where a list of types is not taken. */
export function writeTypes(
  schema: Fields,
  types: readonly string[],
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const nested = types.some((type) => type === "object" || type === "array");
  if (writing.rule.typeLists !== false && !nested)
    return { schema: limit(schema, writing), codec: undefined };
  if (writing.rule.typeLists !== false && !reshapesObjects(writing) && writing.rule.refs !== false)
    return { schema: limit(schema, writing), codec: undefined };
  writing.changed = true;
  const outer = only(schema, remarks);
  const inner = Object.fromEntries(Object.entries(schema).filter(([key]) => !remarks.has(key)));
  return writing.write({ ...outer, anyOf: types.map((type) => narrowed(inner, type)) }, within);
}
