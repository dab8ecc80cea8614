import {
  isOfType,
  isSchema,
  requiredIn,
  schemasIn,
  typesIn,
  valuesIn,
} from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import type { Codec } from "./codec.ts";
import { roundedNumber } from "../../turn/raw-number.ts";

/** One alternative of a union, as the client wrote it and as the upstream is given it. */
export type Branch = {
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
export function unionCodec(branches: readonly Branch[]): Codec | undefined {
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
