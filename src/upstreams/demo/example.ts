import { requiredIn, typeOfWord } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { gather, type Gathered } from "./merge.ts";
import { matching } from "./pattern.ts";
import {
  allLooks,
  canonical,
  count,
  fits,
  formats,
  itemSchema,
  own,
  propertySchemas,
  range,
  typesOf,
  type Looks,
} from "./schema.ts";

/** Where values come from before any are made up. */
export type Hints = {
  /** Values for a property, best first. `order`: which of its siblings of the same type it is. */
  values(name: string, schema: Fields, order: number): readonly unknown[];
  /** Whether a property that may be left out is spoken of. */
  wanted(name: string, schema: Fields): boolean;
};

/** A value that satisfies the schema, drawn from the hints where they fit; none if none is found. */
export function exampleOf(schema: JsonSchema, hints: Hints): { value: unknown } | undefined {
  const looks = allLooks();
  // Shallow first: a recursive schema has deep values, and nobody wants them.
  for (const deepest of [3, 6, 12, 24]) {
    const search: Search = { root: schema, hints, deepest, looks, left: 10_000 };
    const found = find(schema, { name: "", order: 0, depth: 0, search });
    if (found !== undefined) return found;
  }
  return undefined;
}

type Search = {
  readonly root: JsonSchema;
  readonly hints: Hints;
  readonly deepest: number;
  readonly looks: Looks;
  /** How many more values may be tried. */
  left: number;
};

/** Where in the value we are. */
type Place = {
  readonly name: string;
  readonly order: number;
  readonly depth: number;
  readonly search: Search;
};

type Values = Generator<unknown, void, undefined>;

function find(schema: unknown, place: Place): { value: unknown } | undefined {
  const { search } = place;
  for (const value of candidates(schema, place)) {
    if (fits(schema, value, search.root, search.looks)) return { value };
    if (--search.left <= 0) return undefined;
  }
  return undefined;
}

function* candidates(schema: unknown, place: Place): Values {
  const { search } = place;
  if (place.depth > search.deepest || --search.left <= 0) return;
  const gathered = gather(schema, { flat: {}, choices: [] }, search);
  if (gathered !== undefined) yield* chosen(gathered, place);
}

/** Takes one of each set of alternatives, in every way. */
function* chosen({ flat, choices }: Gathered, place: Place, taken = 0): Values {
  const [first, ...rest] = choices;
  if (first === undefined) {
    yield* plain(flat, place);
    return;
  }
  if (taken > 24) return;
  // Deep down, what refers elsewhere would only go deeper.
  const branches = place.depth < 2 ? first : first.toSorted((a, b) => refers(a) - refers(b));
  for (const branch of branches) {
    if (--place.search.left <= 0) return;
    const gathered = gather(branch, { flat, choices: rest }, place.search);
    if (gathered !== undefined) yield* chosen(gathered, place, taken + 1);
  }
}

const refers = (schema: unknown): number => (isFields(schema) && "$ref" in schema ? 1 : 0);

function* plain(flat: Fields, place: Place): Values {
  const { hints } = place.search;
  if (Object.hasOwn(flat, "const")) {
    yield flat.const;
    return;
  }
  yield* hints.values(place.name, flat, place.order);
  if (Array.isArray(flat.enum)) {
    yield* flat.enum;
    return;
  }
  if (Array.isArray(flat.examples)) yield* flat.examples;
  if (Object.hasOwn(flat, "default")) yield flat.default;
  for (const type of likelyTypes(flat)) yield* ofType(type, flat, place);
}

/** The types that are allowed; where none is said, the ones whose keywords are used come first. */
function likelyTypes(flat: Fields): readonly string[] {
  const types = typesOf(flat);
  if (types !== undefined)
    return types.toSorted((a, b) => Number(a === "null") - Number(b === "null"));
  const told = Object.keys(flat).flatMap((word) => typeOfWord.get(word) ?? []);
  const all = ["string", "number", "object", "array", "boolean", "null"];
  return [...new Set([...told, ...all])];
}

function ofType(type: string, flat: Fields, place: Place): Iterable<unknown> {
  switch (type) {
    case "string":
      return strings(flat);
    case "integer":
    case "number":
      return numbers(flat, type === "integer");
    case "boolean":
      return [true, false];
    case "array":
      return arrays(flat, place);
    case "object":
      return objects(flat, place);
    default:
      return [null];
  }
}

/** No longer text is made: a few thousand of them would take all memory there is. */
const LONGEST = 10_000;

function* strings(flat: Fields): Values {
  const { format, pattern } = flat;
  if (typeof format === "string" && formats[format]) yield formats[format].sample;
  if (typeof pattern === "string") yield* matching(pattern);
  const least = count(flat.minLength, 0);
  if (least > LONGEST) return;
  const most = Math.min(count(flat.maxLength, Infinity), LONGEST);
  const sized = (text: string): string =>
    Array.from(text.repeat(Math.ceil(Math.max(least, 1) / text.length)))
      .slice(0, Math.max(least, Math.min(text.length, most)))
      .join("");
  yield sized("example");
  yield sized("sample");
  for (let at = 1; at <= 40; at++) yield sized(`${at} item `);
  for (const letter of "abcdefghijklmnopqrstuvwxyz") yield sized(letter);
  yield "";
}

function* numbers(flat: Fields, whole: boolean): Values {
  const { low, high } = range(flat);
  const step = count(flat.multipleOf, 1);
  const inside = [1, 10, 0].filter((one) => one >= low.at && one <= high.at);
  yield* inside;
  const bottom = Number.isFinite(low.at) ? Math.ceil(low.at / step) : undefined;
  const top = Number.isFinite(high.at) ? Math.floor(high.at / step) : undefined;
  const from = bottom ?? (top === undefined ? 1 : top - 40);
  for (let at = 0; at <= 40; at++) yield (from + at) * step;
  if (top !== undefined) for (let at = 0; at <= 4; at++) yield (top - at) * step;
  if (whole) return;
  if (Number.isFinite(low.at) && Number.isFinite(high.at)) {
    for (const part of [0.5, 0.25, 0.75]) yield low.at + (high.at - low.at) * part;
    yield low.at;
    yield high.at;
  } else yield Number.isFinite(low.at) ? low.at + 0.5 : high.at - 0.5;
}

function* arrays(flat: Fields, place: Place): Values {
  const least = count(flat.minItems, 0);
  const most = count(flat.maxItems, Infinity);
  const sizes = [Math.min(Math.max(least, 1), most), least, least + 1].filter(
    (size) => size <= most,
  );
  for (const size of new Set(sizes)) {
    const made = items(flat, size, place);
    if (made !== undefined) yield made;
  }
  if (least === 0) yield [];
}

function items(flat: Fields, size: number, place: Place): unknown[] | undefined {
  const made: unknown[] = [];
  const seen = new Set<string>();
  const needed = Object.hasOwn(flat, "contains") ? count(flat.minContains, 1) : 0;
  for (let at = 0; at < size; at++) {
    const schema = itemSchema(flat, at);
    const wanted = at < needed ? { allOf: [flat.contains, schema] } : schema;
    const inner = { ...place, order: at, depth: place.depth + 1 };
    const found = flat.uniqueItems === true ? findNew(wanted, inner, seen) : find(wanted, inner);
    if (found === undefined) return undefined;
    made.push(found.value);
  }
  return made;
}

function findNew(schema: unknown, place: Place, seen: Set<string>): { value: unknown } | undefined {
  const { search } = place;
  for (const value of candidates(schema, place)) {
    const text = canonical(value);
    if (!seen.has(text) && fits(schema, value, search.root, search.looks)) {
      seen.add(text);
      return { value };
    }
    if (--search.left <= 0) return undefined;
  }
  return undefined;
}

function* objects(flat: Fields, place: Place): Values {
  const properties = isFields(flat.properties) ? flat.properties : {};
  const required = new Set(requiredIn(flat));
  const named = Object.keys(properties);
  const { hints } = place.search;
  const wanted = named.filter((name) => {
    const schema = properties[name];
    return required.has(name) || (isFields(schema) && hints.wanted(name, schema));
  });
  const least = count(flat.minProperties, 0);
  // In the order of the schema, as a reader of the call expects; then ever more, or less.
  const inOrder = (names: readonly string[]): string[] => [
    ...named.filter((name) => names.includes(name) || required.has(name)),
    ...[...required].filter((name) => !named.includes(name)),
  ];
  for (const names of [inOrder(wanted), inOrder([]), inOrder(named)]) {
    const made = object(flat, dependents(flat, names), place);
    if (made === undefined) continue;
    yield made;
    if (Object.keys(made).length < least) yield filled(flat, made, least, place);
  }
}

/** The names with those that must go with them. */
function dependents(flat: Fields, names: readonly string[]): string[] {
  const all = new Set(names);
  const rules = isFields(flat.dependentRequired) ? flat.dependentRequired : {};
  for (const name of all) {
    const more = own(rules, name);
    if (Array.isArray(more)) for (const one of more) all.add(String(one));
  }
  return [...all];
}

function object(flat: Fields, names: readonly string[], place: Place): Fields | undefined {
  const required = requiredIn(flat);
  const orders = new Map<string, number>();
  const entries: [string, unknown][] = [];
  for (const name of names) {
    const schemas = propertySchemas(flat, name);
    const type = isFields(schemas[0]) ? (typesOf(schemas[0])?.[0] ?? "") : "";
    const order = orders.get(type) ?? 0;
    orders.set(type, order + 1);
    const schema = schemas.length === 1 ? schemas[0] : { allOf: schemas };
    const found = find(schema, { ...place, name, order, depth: place.depth + 1 });
    if (found !== undefined) entries.push([name, found.value]);
    else if (required.includes(name)) return undefined;
  }
  return Object.fromEntries(entries);
}

/** The object with further properties, until there are enough. */
function filled(flat: Fields, made: Fields, least: number, place: Place): Fields {
  const entries = new Map(Object.entries(made));
  const names = { ...place, name: "", depth: place.depth + 1 };
  for (const name of furtherNames(flat, names)) {
    if (entries.size >= least || --place.search.left <= 0) break;
    if (typeof name !== "string" || name === "" || entries.has(name)) continue;
    const found = find({ allOf: propertySchemas(flat, name) }, { ...names, name });
    if (found !== undefined) entries.set(name, found.value);
  }
  return Object.fromEntries(entries);
}

function* furtherNames(flat: Fields, place: Place): Values {
  const { patternProperties } = flat;
  for (const pattern of Object.keys(isFields(patternProperties) ? patternProperties : {}))
    yield* matching(pattern);
  yield* candidates(flat.propertyNames ?? { type: "string" }, place);
}
