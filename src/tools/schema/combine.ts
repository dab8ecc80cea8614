import { roundedNumber } from "../../json/exact.ts";
import { isFields, ordered } from "../../json/json.ts";
import {
  isNumeric,
  isOfType,
  isSchema,
  resolve,
  schemasIn,
  typeOfWord,
  typesIn,
  allowedValues,
} from "../../schema/keywords.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { apply, type Codec } from "./codec.ts";
import { describe, type SchemaWriter, type Within, type WrittenSchema } from "./compile.ts";

/** Writes schemas that must all hold: kept if the upstream takes `allOf`, else merged. */
export function writeAll(schema: Fields, writer: SchemaWriter, within: Within): WrittenSchema {
  const { allOf, ...own } = schema as Record<string, unknown>;
  const branches = schemasIn(allOf);
  if (writer.takes("allOf") && !writer.reshapesObjects()) {
    const nodes = branches.map((branch) => writer.write(branch, within));
    if (nodes.every(({ codec }) => codec === undefined))
      return { schema: { ...writer.limit(own), allOf: nodes.map((node) => node.schema) } };
  }
  const through = new Set(within);
  const all: (JsonSchema | undefined)[] = [
    own,
    ...branches.map((branch) => follow(branch, writer.root, through)),
  ];
  const merged = all.every((one) => one !== undefined) ? mergeAll(all) : undefined;
  const { type } = own;
  if (merged === undefined && (type === "string" || isNumeric(String(type)))) {
    writer.changed = true;
    writer.describedOnly.add("allOf");
    const remarks = [`allOf: ${JSON.stringify(allOf)}`];
    return writer.write({ ...own, description: describe(own.description, remarks) }, within);
  }
  if (merged === undefined) return writer.asText(schema, "schemas that must all hold");
  writer.changed = true;
  return writer.write(merged, through);
}

/** Follows references; undefined if they lead back to one in `through`. */
export function follow(
  schema: JsonSchema,
  root: JsonSchema,
  through = new Set<string>(),
): JsonSchema | undefined {
  let target: JsonSchema | undefined = schema;
  while (isFields(target) && typeof target.$ref === "string") {
    if (through.has(target.$ref)) return undefined;
    through.add(target.$ref);
    target = resolve(root, target.$ref);
  }
  return target;
}

/** Keywords that constrain no value. */
const remarks = new Set(
  "description title default examples $comment deprecated $defs definitions".split(" "),
);

/** The remarks of a schema, or all its other keywords. */
const only = (schema: Fields, which: "remarks" | "constraints"): Fields =>
  Object.fromEntries(
    Object.entries(schema).filter(([key]) => remarks.has(key) === (which === "remarks")),
  );

/** An alternative of a union, and the references it was reached through. */
type Alternative = { readonly schema: JsonSchema; readonly within: Within };

/** Writes alternatives. Keywords beside them hold for each of them. */
export function writeUnion(
  schema: Fields,
  word: "anyOf" | "oneOf",
  writer: SchemaWriter,
  within: Within,
): WrittenSchema {
  const { [word]: alternatives, ...own } = schema as Record<string, unknown>;
  const { root, rule } = writer;
  const common = only(own, "constraints");
  const isApart =
    Object.keys(common).length === 0 || (rule.untyped !== false && !writer.reshapesObjects());
  const branches: Alternative[] = [];
  for (const branch of schemasIn(alternatives)) {
    const through = new Set(within);
    const target = isApart ? branch : follow(branch, root, through);
    const merged = isApart || target === undefined ? target : mergeAll([target, common]);
    if (merged === undefined) return writer.asText(schema, "alternatives");
    branches.push({ schema: merged, within: through });
  }
  if (!isApart) writer.changed = true;

  const keyword = writer.takes(word) ? word : "anyOf";
  if (!writer.takes(keyword)) return writeSingle(schema, branches, writer);
  if (keyword !== word) writer.changed = true;
  const nodes = branches.map((branch) => writer.write(branch.schema, branch.within));
  const outer = writer.limit(isApart ? own : only(own, "remarks"));
  const written = { ...outer, [keyword]: nodes.map((node) => node.schema) };
  if (nodes.every(({ codec }) => codec === undefined)) return { schema: written };
  const codec = unionCodec(
    nodes.map((node, at) => ({
      client: follow(branches[at]?.schema ?? true, root) ?? true,
      upstream: writer.followWritten(node.schema),
      codec: node.codec,
    })),
  );
  if (codec === undefined) return writer.asText(schema, "alternatives that look alike");
  return { schema: written, codec };
}

/** Writes alternatives for an upstream that takes none: one besides null, or JSON text. */
function writeSingle(
  schema: Fields,
  branches: readonly Alternative[],
  writer: SchemaWriter,
): WrittenSchema {
  const some = branches.filter(
    ({ schema: one }) => !isFields(one) || (one.type !== "null" && one.const !== null),
  );
  const [first] = some;
  if (some.length !== 1 || !isFields(first?.schema)) return writer.asText(schema, "alternatives");
  writer.changed = true;
  const node = writer.write({ ...first.schema, ...only(schema, "remarks") }, first.within);
  if (branches.length === 1 || !isFields(node.schema)) return node;
  if (writer.rule.keywords?.includes("nullable") === true)
    return { schema: { ...node.schema, nullable: true }, codec: node.codec };
  writer.describedOnly.add("null");
  return node;
}

/** Writes several types as alternatives of one type each, if the upstream takes no list of types. */
export function writeTypes(
  schema: Fields,
  types: readonly string[],
  writer: SchemaWriter,
  within: Within,
): WrittenSchema {
  const { typeLists, refs } = writer.rule;
  const isNested = types.some((type) => type === "object" || type === "array");
  if (typeLists !== false && (!isNested || (!writer.reshapesObjects() && refs !== false)))
    return { schema: writer.limit(schema) };
  writer.changed = true;
  const inner = only(schema, "constraints");
  const anyOf = types.map((type) => narrowed(inner, type));
  return writer.write({ ...only(schema, "remarks"), anyOf }, within);
}

/** A schema of several types with one of them, without the keywords of the others. */
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
 * Merges schemas that must all hold; undefined if no single schema means the
 * same. All are merged at once: pair by pair, each step would copy the result of
 * all steps before it.
 */
function mergeAll(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  if (schemas.includes(false)) return false;
  const objects = schemas.filter((schema) => typeof schema !== "boolean");
  const [first, second] = objects;
  if (second === undefined) return first ?? true;
  return mergeEntries(objects, mergeKeyword);
}

/** The entries of all objects; values of one key are merged. */
function mergeEntries(
  objects: readonly Fields[],
  merge: (key: string, values: readonly unknown[]) => unknown,
): Fields | undefined {
  const byKey = new Map<string, unknown[]>();
  for (const object of objects)
    for (const [key, value] of Object.entries(object)) {
      const values = byKey.get(key);
      if (values === undefined) byKey.set(key, [value]);
      else values.push(value);
    }
  const merged: [string, unknown][] = [];
  for (const [key, values] of byKey) {
    const value = values.length === 1 ? values[0] : merge(key, values);
    if (value === undefined) return undefined;
    merged.push([key, value]);
  }
  return Object.fromEntries(merged);
}

function mergeKeyword(word: string, all: readonly unknown[]): unknown {
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
      return values.every(isFields) ? mergeEntries(values, mergeSchemas) : undefined;
    case "type":
      return values.every((type) => type === "number" || type === "integer")
        ? "integer"
        : undefined;
    default:
      return undefined;
  }
}

const mergeSchemas = (_: string, values: readonly unknown[]): JsonSchema | undefined =>
  values.every(isSchema) ? mergeAll(values) : undefined;

/** One alternative of a union, as the client wrote it and as the upstream got it, with references followed. */
type Branch = {
  readonly client: JsonSchema;
  readonly upstream: JsonSchema;
  readonly codec: Codec | undefined;
};

/** Alternatives are compared in pairs: 256 of them make 32,640. */
const MAX_BRANCHES = 256;

/**
 * The codec of a union whose alternatives differ in form; undefined if a value
 * of one could be taken for a value of another, so that it could not be reversed.
 */
function unionCodec(branches: readonly Branch[]): Codec | undefined {
  if (branches.length > MAX_BRANCHES) return undefined;
  for (const [at, one] of branches.entries())
    for (const other of branches.slice(at + 1))
      if (!areApart(one.upstream, other.upstream)) return undefined;

  const branchOf = (value: unknown): Branch | undefined =>
    branches.find(({ upstream }) => looksLike(upstream, value));
  return {
    encode(value) {
      for (const branch of branches) {
        if (!looksLike(branch.client, value)) continue;
        const encoded = apply(branch.codec, "encode", value);
        const isReversed = isSame(apply(branch.codec, "decode", encoded), value);
        if (isReversed && branchOf(encoded) === branch) return encoded;
      }
      return value;
    },
    decode: (value) => apply(branchOf(value)?.codec, "decode", value),
  };
}

/** True if the alternatives differ in their types or in the values they list: objects of one type do not. */
function areApart(one: JsonSchema, other: JsonSchema): boolean {
  if (!isFields(one) || !isFields(other)) return false;
  const [types, others] = [typesIn(one), typesIn(other)];
  if (types.length === 0 || others.length === 0) return false;
  return !types.some((type) => others.some((o) => overlap(type, o))) || haveOtherValues(one, other);
}

const overlap = (one: string, other: string): boolean =>
  one === other || (isNumeric(one) && isNumeric(other));

function haveOtherValues(one: Fields, other: Fields): boolean {
  const [mine, theirs] = [allowedValues(one), allowedValues(other)];
  return mine !== undefined && theirs !== undefined && mine.every((v) => !theirs.includes(v));
}

/**
 * True if a value has the type, and is one of the values, that a schema asks for. This is not
 * validation: it only tells alternatives apart, and forgives a model any errors inside.
 */
function looksLike(schema: JsonSchema, given: unknown): boolean {
  if (typeof schema === "boolean") return schema;
  const value = roundedNumber(given);
  const types = typesIn(schema);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false;
  const values = allowedValues(schema);
  return values === undefined || values.some((one) => isSame(one, given) || isSame(one, value));
}

/** True for equal values; the order of keys does not matter. */
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(ordered(one)) === JSON.stringify(ordered(other));
