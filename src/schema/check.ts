import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { isFields } from "../json/json.ts";
import { roundedNumber } from "../json/exact.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";
import { patternWork } from "./pattern-work.ts";
import { rebuilt } from "./keywords.ts";

/** The most work of one check: comparing one part of a schema with one part of a value is 1. */
const MAX_WORK = 50_000;
/** Steps of a pattern that take as long as one part of a schema. */
const STEPS_PER_WORK = 4;
/** If a whole schema takes too much work, patterns with more steps are left out. */
const FEW_STEPS = 4_000;
/** The most characters of all patterns that are kept: bounding their work takes time. */
const MAX_PATTERNS = 20_000;
/** The longest value that `uniqueItems` checks, because it compares all items in pairs. */
const MAX_UNIQUE = 4_000;

/** The length of a value as text, and of the longest text in it. */
type Measure = { readonly size: number; readonly longest: number };

/** The current check, and its work so far. */
let current: (Measure & { work: number }) | undefined;

/**
 * The violations of a schema in a value. If the check takes too much work, a looser schema is
 * checked instead; undefined if that takes too much work too, or if the schema cannot be read.
 * `size` is the length of the value as text.
 */
export function errorsIn(
  value: unknown,
  schema: JsonSchema,
  size: number,
): readonly OutputUnit[] | undefined {
  const measure = { size, longest: longestIn(value) };
  for (const validatorFor of [strictValidator, looseValidator]) {
    try {
      const validator = validatorFor(schema, measure);
      current = { ...measure, work: 0 };
      return validator.validate(value).errors;
    } catch {
      continue; // The client's schema is at fault.
    } finally {
      current = undefined;
    }
  }
  return undefined;
}

/** The length of the longest text in a value. The names of an object count as one text, since a pattern is tried on each. */
function longestIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let names = 0;
  let longest = 0;
  for (const [name, inner] of Object.entries(value)) {
    names += name.length + 1;
    longest = Math.max(longest, longestIn(inner));
  }
  return Array.isArray(value) ? longest : Math.max(longest, names);
}

const newValidator = (schema: JsonSchema): Validator =>
  new Validator(rebuilt(schema, counted), "2020-12");
const memoizedValidator = memoizeByIdentity<Fields, Validator>(newValidator);

const strictValidator = (schema: JsonSchema): Validator =>
  isFields(schema) ? memoizedValidator(schema) : newValidator(schema);

function looseValidator(schema: JsonSchema, measure: Measure): Validator {
  let characters = 0;
  const isQuick = (pattern: string): boolean =>
    (characters += pattern.length) <= MAX_PATTERNS &&
    patternWork(pattern)(measure.longest) <= FEW_STEPS;
  return newValidator(rebuilt(schema, (part) => loosened(part, measure.size, isQuick)));
}

/** Keywords that accept fewer values if a schema inside them accepts more. */
const INVERTING: ReadonlySet<string> = new Set(
  "not oneOf if then else maxContains unevaluatedItems unevaluatedProperties".split(" "),
);

/** A part without the keywords that take too much work. It accepts every value that the part accepts. */
function loosened(part: Fields, size: number, isQuick: (pattern: string) => boolean): Fields {
  const { pattern, patternProperties, additionalProperties, uniqueItems, ...rest } = part;
  const names = isFields(patternProperties) ? Object.entries(patternProperties) : [];
  const quick = names.filter(([name]) => isQuick(name));
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !INVERTING.has(key))),
    ...(typeof pattern === "string" && isQuick(pattern) && { pattern }),
    ...(quick.length > 0 && { patternProperties: Object.fromEntries(quick) }),
    // Without a pattern, the properties that match it would count as additional.
    ...(quick.length === names.length &&
      additionalProperties !== undefined && { additionalProperties }),
    ...(size <= MAX_UNIQUE && uniqueItems !== undefined && { uniqueItems }),
  };
}

/**
 * Counts the work of a part of a schema. The validator has no limit, and references multiply its
 * work, but each time it compares the part with a value it reads the keyword `$recursiveRef`, which
 * draft 2020-12 does not have.
 */
function counted({ format, ...written }: Fields): Fields {
  const part = rounded(written);
  // No draft has the format `url`, and the validator's pattern for it takes exponential time.
  const own = format === undefined || format === "url" ? part : { ...part, format };
  const patterns = patternsOf(part);
  let weight = 1 + patterns.join("").length;
  for (const value of Object.values(part)) if (Array.isArray(value)) weight += value.length;
  let steps: ((length: number) => number)[] | undefined;
  const count = (): undefined => {
    if (current === undefined) return;
    current.work += weight;
    if (part["uniqueItems"] === true && current.size > MAX_UNIQUE) current.work = Infinity;
    if (current.work <= MAX_WORK)
      for (const one of (steps ??= patterns.map(patternWork)))
        current.work += one(current.longest) / STEPS_PER_WORK;
    if (!(current.work <= MAX_WORK)) throw new RangeError("too much work");
  };
  return Object.defineProperty(own, "$recursiveRef", { get: count, enumerable: false });
}

/** The validator needs plain numbers; a raw number is an object. */
const rounded = (part: Fields): Fields =>
  Object.fromEntries(
    Object.entries(part).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map(roundedNumber) : roundedNumber(value),
    ]),
  );

const patternsOf = ({ pattern, patternProperties }: Fields): readonly string[] => [
  ...(typeof pattern === "string" ? [pattern] : []),
  ...(isFields(patternProperties) ? Object.keys(patternProperties) : []),
];
