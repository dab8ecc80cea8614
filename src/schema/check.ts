import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { isFields } from "../turn/json.ts";
import { memoizeByIdentity } from "../turn/memoize.ts";
import type { Fields, JsonSchema } from "../turn/turn.ts";
import { patternSteps } from "./pattern-steps.ts";
import { rebuilt } from "./rebuild.ts";

/** Patterns and references can ask for more than anybody can wait for; beyond so many looks one gives up. */
const MOST_LOOKS = 50_000;
/** A look at a part of a schema takes as long as so many steps of a pattern. */
const STEPS_A_LOOK = 4;
/** A pattern that takes more steps is left out where a schema cannot be held as a whole. */
const FEW_STEPS = 4_000;
/** Whether items are all different is told by comparing each with each; of longer texts it is not. */
const LONG = 4_000;

/** How long a value is as text, and the longest text in it. */
type Measure = { readonly size: number; readonly longest: number };

/** The check under way, and its looks so far. */
let now: (Measure & { looks: number }) | undefined;

/**
 * What of a value is not as its schema asks. Where nobody can wait for all of
 * that, the value is held against the rest. Nothing at all where nothing can be
 * told. `size` is the length of the value as text.
 */
export function errorsIn(
  value: unknown,
  schema: JsonSchema,
  size: number,
): readonly OutputUnit[] | undefined {
  for (const reading of [validatorOf, looseValidatorOf]) {
    try {
      const measure = { size, longest: longestIn(value) };
      const validator = reading(schema, measure);
      now = { ...measure, looks: 0 };
      return validator.validate(value).errors;
    } catch {
      continue; // What it threw is about the schema, which is not ours.
    } finally {
      now = undefined;
    }
  }
  return undefined;
}

/** The longest text of a value; the names of an object are as one. */
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
const keptValidator = memoizeByIdentity<Fields, Validator>(newValidator);

const validatorOf = (schema: JsonSchema): Validator =>
  isFields(schema) ? keptValidator(schema) : newValidator(schema);

const looseValidatorOf = (schema: JsonSchema, measure: Measure): Validator =>
  new Validator(
    rebuilt(schema, (part) => counted(loosened(part, measure))),
    "2020-12",
  );

/** What asks for more where an inner part asks for less. */
const TURNED: ReadonlySet<string> = new Set([
  "not",
  "oneOf",
  "if",
  "then",
  "else",
  "maxContains",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** A part without what takes too long for the value at hand. It asks for nothing that it did not ask for. */
function loosened(part: Fields, { size, longest }: Measure): Fields {
  const isSoon = (text: string): boolean => patternSteps(text)(longest) <= FEW_STEPS;
  const { pattern, patternProperties, additionalProperties, uniqueItems, ...rest } = part;
  const names = isFields(patternProperties) ? Object.entries(patternProperties) : [];
  const soon = names.filter(([name]) => isSoon(name));
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !TURNED.has(key))),
    ...(typeof pattern === "string" && isSoon(pattern) && { pattern }),
    ...(soon.length > 0 && { patternProperties: Object.fromEntries(soon) }),
    // What no pattern names would be additional.
    ...(soon.length === names.length &&
      additionalProperties !== undefined && { additionalProperties }),
    ...(size <= LONG && uniqueItems !== undefined && { uniqueItems }),
  };
}

/**
 * Has a part of a schema count how often it is looked at. The validator takes
 * no limit, but it reads this keyword, which the dialect does not have, each
 * time it holds a part against a value.
 */
function counted({ format, ...part }: Fields): Fields {
  // No dialect has this format, and the validator's pattern for it might never be done.
  const own = format === undefined || format === "url" ? part : { ...part, format };
  const patterns = patternsOf(part);
  let weight = 1 + patterns.join("").length;
  for (const value of Object.values(part)) if (Array.isArray(value)) weight += value.length;
  let steps: ReturnType<typeof patternSteps>[] | undefined;
  const look = (): undefined => {
    if (now === undefined) return;
    now.looks += weight;
    if (part["uniqueItems"] === true && now.size > LONG) now.looks = Infinity;
    steps ??= patterns.map(patternSteps);
    for (const one of steps) now.looks += one(now.longest) / STEPS_A_LOOK;
    if (!(now.looks <= MOST_LOOKS)) throw new RangeError("too many looks");
  };
  return Object.defineProperty(own, "$recursiveRef", { get: look, enumerable: false });
}

const patternsOf = ({ pattern, patternProperties }: Fields): readonly string[] => [
  ...(typeof pattern === "string" ? [pattern] : []),
  ...(isFields(patternProperties) ? Object.keys(patternProperties) : []),
];
