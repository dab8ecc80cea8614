/** Makes up a value that satisfies a schema. */

import { errorsIn } from "../../schema/check.ts";
import {
  impliedTypes,
  isOfType,
  requiredIn,
  resolve,
  schemasIn,
  typesIn,
} from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Where values come from before any are made up. */
export type ValueSource = {
  /** Candidates for a property, best first; undefined and NaN stand for none. */
  values(name: string, schema: Fields): Iterable<unknown>;
  /** Whether a property that may be left out is spoken of. */
  isMentioned(name: string, schema: Fields): boolean;
};

/** Parts of a schema that one value may take: references and arrays can ask for any number. */
const MAX_PARTS = 100_000;
/** From here on recursive schemas are left by the shortest way, and where there is none, cut off. */
const DEEP = 4;
const MAX_DEPTH = 32;
const MAX_LENGTH = 10_000;
const MAX_ITEMS = 100;

/** `limits`: equal limits are one object, so that their validator is built once. */
type Search = { parts: number; readonly limits: Map<string, Fields> };

type Place = {
  readonly name: string;
  readonly depth: number;
  /** Tells items of an array apart; only the first is drawn from the source. */
  readonly index: number;
  readonly root: JsonSchema;
  readonly source: ValueSource;
  readonly search: Search;
};

/** A value for a schema: drawn from the source where that fits, made up where it does not. */
export function exampleOf(root: JsonSchema, source: ValueSource): unknown {
  const search = { parts: MAX_PARTS, limits: new Map<string, Fields>() };
  return valueFor(root, { name: "", depth: 0, index: 0, root, source, search });
}

function valueFor(schema: unknown, place: Place): unknown {
  const { index, name, source, search } = place;
  if (place.depth > MAX_DEPTH || search.parts < 0) return null;
  const flat = flatten(schema, place);
  if ("const" in flat) return flat.const;
  if (index === 0)
    for (const value of source.values(name, flat)) if (fits(value, flat, search)) return value;
  if (Array.isArray(flat.enum)) return flat.enum[index % flat.enum.length] as unknown;
  if (index === 0 && fits(flat.default, flat, search)) return flat.default;
  const types = typesIn(flat).length > 0 ? typesIn(flat) : impliedTypes(flat);
  switch (types.find((type) => type !== "null") ?? types[0]) {
    case "object":
      return objectFor(flat, place);
    case "array":
      return arrayFor(flat, place);
    case "integer":
    case "number":
      return numberFor(flat, place);
    case "boolean":
      return index % 2 === 0;
    case "null":
      return null;
    default:
      return stringFor(flat, place);
  }
}

/** A schema as one: references followed, `allOf` merged, one alternative taken. */
function flatten(schema: unknown, { depth, root, search }: Place): Fields {
  // Without a prototype: a property may be called `__proto__`.
  const flat = Object.create(null) as Record<string, unknown>;
  const properties = Object.create(null) as Record<string, unknown>;
  const required: string[] = [];
  const gather = (part: unknown, hops: number): void => {
    if (!isFields(part) || hops > MAX_DEPTH || --search.parts < 0) return;
    Object.assign(flat, part);
    Object.assign(properties, part["properties"]);
    for (const name of requiredIn(part)) required.push(name);
    if (typeof part["$ref"] === "string") gather(resolve(root, part["$ref"]), hops + 1);
    for (const one of schemasIn(part["allOf"])) gather(one, hops + 1);
    for (const some of [schemasIn(part["anyOf"]), schemasIn(part["oneOf"])])
      gather(some.find((one) => isSimple(one, depth)) ?? some[0], hops + 1);
  };
  gather(schema, 0);
  return "properties" in flat ? { ...flat, properties, required } : { ...flat, required };
}

/** Null says little; and deep down a reference would only lead deeper. */
const isSimple = (schema: JsonSchema, depth: number): boolean =>
  isFields(schema) && (depth < DEEP ? schema.type !== "null" : !("$ref" in schema));

const LIMIT =
  /^(?:enum|pattern|format|multipleOf|uniqueItems|(?:min|max)(?:Length|Items|imum)|exclusive.*)$/;

/** Whether a value is as the schema's own keywords ask. */
function fits(value: unknown, flat: Fields, search: Search): boolean {
  if (value === undefined || Number.isNaN(value)) return false;
  const types = typesIn(flat);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false;
  const { items } = flat;
  if (Array.isArray(value) && isFields(items))
    if (value.length > MAX_ITEMS || !value.every((item) => fits(item, items, search))) return false;
  const limits = Object.entries(flat).filter(([key]) => LIMIT.test(key));
  if (limits.length === 0) return true;
  const key = JSON.stringify(limits);
  const schema = search.limits.get(key) ?? Object.fromEntries(limits);
  search.limits.set(key, schema);
  return errorsIn(value, schema, JSON.stringify(value).length)?.length === 0;
}

function objectFor(flat: Fields, place: Place): Fields {
  const properties = isFields(flat.properties) ? flat.properties : {};
  const required = new Set(requiredIn(flat));
  const given = Object.entries(properties).flatMap(([name, schema]) => {
    const isGiven =
      required.has(name) || (isFields(schema) && place.source.isMentioned(name, schema));
    return isGiven ? [name] : [];
  });
  const names = [...new Set([...given, ...required])];
  return Object.fromEntries(
    names.map((name) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : flat.additionalProperties;
      return [name, valueFor(schema, { ...place, name, depth: place.depth + 1, index: 0 })];
    }),
  );
}

function arrayFor(flat: Fields, place: Place): unknown[] {
  const { minItems, maxItems, prefixItems, items, uniqueItems } = flat;
  const prefix = Array.isArray(prefixItems) ? prefixItems : [];
  const least = Math.max(numberOr(minItems, 0), prefix.length, place.depth < DEEP ? 1 : 0);
  const length = Math.min(least, numberOr(maxItems, MAX_ITEMS), MAX_ITEMS);
  const first = uniqueItems === true ? 1 : 0;
  return Array.from({ length }, (_, at) =>
    valueFor(prefix[at] ?? items, { ...place, depth: place.depth + 1, index: first + at }),
  );
}

function numberFor(flat: Fields, { index, search }: Place): number {
  const step = numberOr(flat.multipleOf, 1);
  const low = Math.max(
    numberOr(flat.minimum, -Infinity),
    numberOr(flat.exclusiveMinimum, -Infinity),
  );
  const high = Math.min(
    numberOr(flat.maximum, Infinity),
    numberOr(flat.exclusiveMaximum, Infinity),
  );
  const least = Math.ceil(low / step) * step;
  const starts = [Math.max(step, least), least, 0, Math.floor(high / step) * step];
  const candidates = [index, 0, 1, -1].flatMap((by) => starts.map((start) => start + by * step));
  return (
    [...candidates, (low + high) / 2].find(
      (one) => Number.isFinite(one) && fits(one, flat, search),
    ) ?? 1
  );
}

/** Formats, and a few more texts to try where there is a pattern. */
const samples = new Map([
  ["date", "2026-01-01"],
  ["date-time", "2026-01-01T12:00:00Z"],
  ["time", "12:00:00Z"],
  ["email", "user@example.com"],
  ["uri", "https://example.com"],
  ["uuid", "123e4567-e89b-42d3-a456-426614174000"],
  ["ipv4", "192.0.2.1"],
  ["hostname", "example.com"],
  ["upper case", "ABC"],
  ["digits", "123"],
]);

/** A pattern that no sample satisfies is beyond the demo. */
function stringFor(flat: Fields, { index, search }: Place): string {
  const word = index === 0 ? "example" : `${index + 1} example`;
  const least = Math.min(numberOr(flat.minLength, 0), MAX_LENGTH);
  const most = Math.max(least, Math.min(word.length, numberOr(flat.maxLength, MAX_LENGTH)));
  const text = word.repeat(Math.ceil(Math.max(least, 1) / word.length)).slice(0, most);
  search.parts -= text.length / 100;
  const asked = samples.get(String(flat.format));
  return [asked, text, ...samples.values()].find((one) => fits(one, flat, search)) ?? text;
}

const numberOr = (value: unknown, none: number): number =>
  typeof value === "number" ? value : none;
