import { isOfType, requiredIn, resolve, typesIn } from "../../schema/keywords.ts";
import { patternSteps } from "../../schema/pattern-steps.ts";
import { isFields, ordered } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Deep enough for any schema that a person wrote; a loop of references ends here. */
const DEEPEST = 64;

/** How many parts of schemas may still be looked at: references can ask for more than anybody can wait for. */
export type Looks = { left: number };

export const allLooks = (): Looks => ({ left: 100_000 });

/**
 * Whether a value is seen to satisfy a schema. Keywords it does not know never
 * stand in the way; that there were not enough looks does.
 */
export const fits = (
  schema: unknown,
  value: unknown,
  root: JsonSchema,
  looks: Looks = allLooks(),
): boolean => holds(schema, value, { root, looks, depth: 0 }) && looks.left > 0;

type Within = { readonly root: JsonSchema; readonly looks: Looks; readonly depth: number };

function holds(schema: unknown, value: unknown, within: Within): boolean {
  const { root, looks, depth } = within;
  if (schema === false) return false;
  if (!isFields(schema) || depth > DEEPEST || --looks.left <= 0) return true;
  if (Array.isArray(schema.enum)) looks.left -= schema.enum.length;
  const deeper = { root, looks, depth: depth + 1 };
  const inner = (part: unknown, at: unknown = value): boolean => holds(part, at, deeper);
  if (typeof schema.$ref === "string" && !inner(referred(schema.$ref, root))) return false;
  return (
    fitsType(schema, value) &&
    fitsLiteral(schema, value) &&
    fitsNumber(schema, value) &&
    fitsString(schema, value) &&
    (!Array.isArray(value) || fitsArray(schema, value, inner)) &&
    (!isFields(value) || fitsObject(schema, value, inner)) &&
    fitsCombined(schema, inner)
  );
}

type Inner = (part: unknown, at?: unknown) => boolean;

/** The types that a schema names, with the older word for null; undefined if it names none. */
export function typesOf(schema: Fields): readonly string[] | undefined {
  const types = typesIn(schema);
  if (types.length === 0 && !Array.isArray(schema.type)) return undefined;
  return schema.nullable === true ? [...types, "null"] : types;
}

function fitsType(schema: Fields, value: unknown): boolean {
  const types = typesOf(schema);
  return types === undefined || types.some((type) => isOfType(value, type));
}

function fitsLiteral(schema: Fields, value: unknown): boolean {
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(one, value))) return false;
  return !Object.hasOwn(schema, "const") || same(schema.const, value);
}

function fitsNumber(schema: Fields, value: unknown): boolean {
  if (typeof value !== "number") return true;
  const { low, high } = range(schema);
  if (value < low.at || (low.open && value === low.at)) return false;
  if (value > high.at || (high.open && value === high.at)) return false;
  const step = schema.multipleOf;
  return typeof step !== "number" || step <= 0 || Number.isInteger(value / step);
}

type Bound = { readonly at: number; readonly open: boolean };

/** The bounds of a number, in the newer words and the older, where an exclusive bound is a flag. */
export function range(schema: Fields): { low: Bound; high: Bound } {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const bound = (closed: unknown, open: unknown, none: number): Bound => {
    const inner = typeof closed === "number" ? closed : none;
    if (typeof open !== "number") return { at: inner, open: open === true };
    const tighter = none < 0 ? open >= inner : open <= inner;
    return tighter ? { at: open, open: true } : { at: inner, open: false };
  };
  return {
    low: bound(minimum, exclusiveMinimum, -Infinity),
    high: bound(maximum, exclusiveMaximum, Infinity),
  };
}

function fitsString(schema: Fields, value: unknown): boolean {
  if (typeof value !== "string") return true;
  const length = Array.from(value).length;
  if (length < count(schema.minLength, 0) || length > count(schema.maxLength, Infinity))
    return false;
  if (typeof schema.pattern === "string" && matches(schema.pattern, value) === false) return false;
  const format = typeof schema.format === "string" ? formats[schema.format] : undefined;
  return format === undefined || format.shape.test(value);
}

/** The formats we know: how to tell one, and one to give. */
export const formats: Readonly<Record<string, { shape: RegExp; sample: string }>> = {
  date: { shape: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, sample: "2026-01-15" },
  time: { shape: /^\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i, sample: "09:00:00Z" },
  "date-time": {
    shape: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
    sample: "2026-01-15T09:00:00Z",
  },
  duration: { shape: /^P(?=.)(\d+[YMWD])*(T(\d+[HMS])+)?$/, sample: "PT1H" },
  email: { shape: /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/, sample: "someone@example.com" },
  hostname: { shape: /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i, sample: "example.com" },
  ipv4: { shape: /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/, sample: "192.0.2.1" },
  ipv6: { shape: /^[0-9a-f:]*:[0-9a-f:.]*$/i, sample: "2001:db8::1" },
  uri: { shape: /^[a-z][a-z0-9+.-]*:[^\s]+$/i, sample: "https://example.com" },
  url: { shape: /^https?:\/\/[^\s]+$/i, sample: "https://example.com" },
  uuid: {
    shape: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    sample: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  },
};

function fitsArray(schema: Fields, value: readonly unknown[], inner: Inner): boolean {
  if (value.length < count(schema.minItems, 0)) return false;
  if (value.length > count(schema.maxItems, Infinity)) return false;
  if (schema.uniqueItems === true && new Set(value.map(canonical)).size < value.length)
    return false;
  if (!value.every((item, at) => inner(itemSchema(schema, at), item))) return false;
  if (!Object.hasOwn(schema, "contains")) return true;
  const found = value.filter((item) => inner(schema.contains, item)).length;
  return found >= count(schema.minContains, 1) && found <= count(schema.maxContains, Infinity);
}

/** What the item at a place must be; tuples have two spellings. */
export function itemSchema(schema: Fields, at: number): unknown {
  const { prefixItems, items, additionalItems } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  if (at < tuple.length) return tuple[at];
  return Array.isArray(items) ? (additionalItems ?? true) : (items ?? true);
}

function fitsObject(schema: Fields, value: Fields, inner: Inner): boolean {
  const names = Object.keys(value);
  if (names.length < count(schema.minProperties, 0)) return false;
  if (names.length > count(schema.maxProperties, Infinity)) return false;
  if (!requiredIn(schema).every((name) => Object.hasOwn(value, name))) return false;
  for (const name of names) {
    if (Object.hasOwn(schema, "propertyNames") && !inner(schema.propertyNames, name)) return false;
    if (!propertySchemas(schema, name).every((part) => inner(part, value[name]))) return false;
    const needs = isFields(schema.dependentRequired) ? own(schema.dependentRequired, name) : [];
    if (Array.isArray(needs) && !needs.every((need) => Object.hasOwn(value, String(need))))
      return false;
    const whole = isFields(schema.dependentSchemas) ? own(schema.dependentSchemas, name) : true;
    if (!inner(whole ?? true)) return false;
  }
  return true;
}

/** All that a schema says of one property. */
export function propertySchemas(schema: Fields, name: string): unknown[] {
  const { properties, patternProperties, additionalProperties } = schema;
  const found: unknown[] = [];
  if (isFields(properties) && Object.hasOwn(properties, name)) found.push(properties[name]);
  if (isFields(patternProperties))
    for (const [pattern, part] of Object.entries(patternProperties))
      if (matches(pattern, name) === true) found.push(part);
  return found.length > 0 ? found : [additionalProperties ?? true];
}

function fitsCombined(schema: Fields, inner: Inner): boolean {
  const { allOf, anyOf, oneOf } = schema;
  if (Array.isArray(allOf) && !allOf.every((part) => inner(part))) return false;
  if (Array.isArray(anyOf) && !anyOf.some((part) => inner(part))) return false;
  if (Array.isArray(oneOf) && oneOf.filter((part) => inner(part)).length !== 1) return false;
  if (Object.hasOwn(schema, "not") && inner(schema.not)) return false;
  if (!Object.hasOwn(schema, "if")) return true;
  return inner(schema.if) ? inner(schema.then ?? true) : inner(schema.else ?? true);
}

/** What a reference points at; one that points nowhere asks for nothing. */
export const referred = (reference: string, root: JsonSchema): JsonSchema =>
  resolve(root, reference) ?? true;

/** A text is held against no pattern that takes more steps. */
const MOST_STEPS = 10_000;

/** Whether a text is as a pattern asks; undefined for what is no pattern, or might not be done soon. */
export function matches(pattern: string, text: string): boolean | undefined {
  if (!(patternSteps(pattern)(text.length) <= MOST_STEPS)) return undefined;
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags).test(text);
    } catch {
      continue; // Some patterns are lawful only without the flag, some not at all.
    }
  }
  return undefined;
}

export const own = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

export const count = (value: unknown, otherwise: number): number =>
  typeof value === "number" ? value : otherwise;

const same = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === "object" && typeof b === "object" && canonical(a) === canonical(b));

/** JSON text that is the same for equal values. */
export const canonical = (value: unknown): string => JSON.stringify(ordered(value));
