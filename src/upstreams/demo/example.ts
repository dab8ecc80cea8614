/** Makes up a value that satisfies a schema. */

import { isFields } from "../../json/json.ts";
import { errorsIn } from "../../schema/check.ts";
import {
  impliedTypes,
  isOfType,
  requiredIn,
  resolve,
  schemasIn,
  typesIn,
} from "../../schema/keywords.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** A source of values that are tried before any are made up. */
export type ValueSource = {
  /** Candidates for a property, best first; undefined and NaN stand for none. */
  values(name: string, schema: Fields): Iterable<unknown>;
  /** True if the text mentions a property that may be left out. */
  isMentioned(name: string, schema: Fields): boolean;
};

/** Parts of a schema that one value may take: references and arrays can ask for any number. */
const MAX_PARTS = 100_000;
/** Beyond this depth a schema takes its alternative without references, and no items that it need not have. */
const DEEP = 4;
const MAX_DEPTH = 32;
const MAX_LENGTH = 10_000;
const MAX_ITEMS = 100;

/** A value for a schema: drawn from the source where that fits, made up where it does not. */
export const exampleOf = (root: JsonSchema, source: ValueSource): unknown =>
  new Example(root, source).value(root, { name: "", depth: 0, index: 0 });

/** `index`: which item of an array it is; only the first is drawn from the source. */
type Place = { readonly name: string; readonly depth: number; readonly index: number };

const LIMIT =
  /^(?:enum|pattern|format|multipleOf|uniqueItems|(?:min|max)(?:Length|Items|imum)|exclusive.*)$/;

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

class Example {
  readonly #root: JsonSchema;
  readonly #source: ValueSource;
  #parts = MAX_PARTS;
  /** Equal limits are one object, so that their validator is built once. */
  readonly #limits = new Map<string, Fields>();

  constructor(root: JsonSchema, source: ValueSource) {
    this.#root = root;
    this.#source = source;
  }

  value(schema: unknown, { name, depth, index }: Place): unknown {
    if (depth > MAX_DEPTH || this.#parts < 0) return null;
    const flat = this.#flatten(schema, depth);
    const fits = (value: unknown): boolean => this.#fits(value, flat);
    if ("const" in flat) return flat.const;
    if (index === 0) for (const one of this.#source.values(name, flat)) if (fits(one)) return one;
    if (Array.isArray(flat.enum)) return flat.enum[index % flat.enum.length] as unknown;
    if (index === 0 && fits(flat.default)) return flat.default;
    const types = typesIn(flat).length > 0 ? typesIn(flat) : impliedTypes(flat);
    switch (types.find((type) => type !== "null") ?? types[0]) {
      case "object":
        return this.#object(flat, depth);
      case "array":
        return this.#array(flat, { name, depth });
      case "integer":
      case "number":
        return numbersFor(flat, index).find(fits) ?? 1;
      case "boolean":
        return index % 2 === 1;
      case "null":
        return null;
      default: {
        // A pattern that no sample satisfies is beyond the demo.
        const text = textFor(flat, index);
        this.#parts -= text.length / 100;
        const asked = samples.get(String(flat.format));
        return [asked, text, ...samples.values()].find(fits) ?? text;
      }
    }
  }

  /** A schema as one: references followed, `allOf` merged, one alternative taken. */
  #flatten(schema: unknown, depth: number): Fields {
    // Without a prototype: a property may be called `__proto__`.
    const flat = Object.create(null) as Record<string, unknown>;
    const properties = Object.create(null) as Record<string, unknown>;
    const required: string[] = [];
    // Null is a poor example; and at depth a reference would only nest deeper.
    const isSimple = (one: JsonSchema): boolean =>
      isFields(one) && (depth < DEEP ? one.type !== "null" : !("$ref" in one));
    const gather = (part: unknown, hops: number): void => {
      if (!isFields(part) || hops > MAX_DEPTH || --this.#parts < 0) return;
      Object.assign(flat, part);
      Object.assign(properties, part["properties"]);
      for (const name of requiredIn(part)) required.push(name);
      if (typeof part["$ref"] === "string") gather(resolve(this.#root, part["$ref"]), hops + 1);
      for (const one of schemasIn(part["allOf"])) gather(one, hops + 1);
      for (const some of [schemasIn(part["anyOf"]), schemasIn(part["oneOf"])])
        gather(some.find(isSimple) ?? some[0], hops + 1);
    };
    gather(schema, 0);
    return "properties" in flat ? { ...flat, properties, required } : { ...flat, required };
  }

  /** True if a value is as the schema's own keywords ask. */
  #fits(value: unknown, flat: Fields): boolean {
    if (value === undefined || Number.isNaN(value)) return false;
    const types = typesIn(flat);
    if (types.length > 0 && !types.some((type) => isOfType(value, type))) return false;
    const { items } = flat;
    if (Array.isArray(value) && isFields(items))
      if (value.length > MAX_ITEMS || !value.every((item) => this.#fits(item, items))) return false;
    const limits = Object.entries(flat).filter(([key]) => LIMIT.test(key));
    if (limits.length === 0) return true;
    const key = JSON.stringify(limits);
    const schema = this.#limits.get(key) ?? Object.fromEntries(limits);
    this.#limits.set(key, schema);
    return errorsIn(value, schema, JSON.stringify(value).length)?.length === 0;
  }

  #object(flat: Fields, depth: number): Fields {
    const properties = isFields(flat.properties) ? flat.properties : {};
    const required = requiredIn(flat);
    const isRequired = new Set(required);
    const mentioned = Object.keys(properties).filter((name) => {
      if (isRequired.has(name)) return true;
      const schema = properties[name];
      return isFields(schema) && this.#source.isMentioned(name, schema);
    });
    return Object.fromEntries(
      Array.from(new Set([...mentioned, ...required]), (name) => {
        const schema = Object.hasOwn(properties, name)
          ? properties[name]
          : flat.additionalProperties;
        return [name, this.value(schema, { name, depth: depth + 1, index: 0 })];
      }),
    );
  }

  #array(flat: Fields, { name, depth }: Omit<Place, "index">): unknown[] {
    const { minItems, maxItems, prefixItems, items, uniqueItems } = flat;
    const prefix = Array.isArray(prefixItems) ? prefixItems : [];
    const least = Math.max(numberOr(minItems, 0), prefix.length, depth < DEEP ? 1 : 0);
    const length = Math.min(least, numberOr(maxItems, MAX_ITEMS), MAX_ITEMS);
    const first = uniqueItems === true ? 1 : 0;
    return Array.from({ length }, (_, at) =>
      this.value(prefix[at] ?? items, { name, depth: depth + 1, index: first + at }),
    );
  }
}

function numbersFor(flat: Fields, index: number): readonly number[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = flat;
  const step = numberOr(multipleOf, 1);
  const low = Math.max(numberOr(minimum, -Infinity), numberOr(exclusiveMinimum, -Infinity));
  const high = Math.min(numberOr(maximum, Infinity), numberOr(exclusiveMaximum, Infinity));
  const least = Math.ceil(low / step) * step;
  const starts = [Math.max(step, least), least, 0, Math.floor(high / step) * step];
  const candidates = [index, 0, 1, -1].flatMap((by) => starts.map((start) => start + by * step));
  return [...candidates, (low + high) / 2].filter(Number.isFinite);
}

function textFor({ minLength, maxLength }: Fields, index: number): string {
  const word = index === 0 ? "example" : `${index + 1} example`;
  const least = Math.min(numberOr(minLength, 0), MAX_LENGTH);
  const most = Math.max(least, Math.min(word.length, numberOr(maxLength, MAX_LENGTH)));
  return word.repeat(Math.ceil(Math.max(least, 1) / word.length)).slice(0, most);
}

const numberOr = (value: unknown, none: number): number =>
  typeof value === "number" ? value : none;
