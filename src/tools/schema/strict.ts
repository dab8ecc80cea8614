import { isSchema, rebuilt, resolve, typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import type { StrictRule } from "../../turn/profile.ts";

/** A schema that an upstream can hold its answers to. */
type StrictForm = {
  readonly schema: JsonSchema;
  /** The keywords that were left out: answers have to be checked against them. */
  readonly loosened: readonly string[];
};

/**
 * A schema within the part that an upstream enforces. Values keep their form:
 * objects are closed and limits left out, nothing is renamed. The very same
 * schema where it fits; undefined where closing an object would lose what it is
 * for, or where it refers to itself.
 */
export function strictForm(schema: JsonSchema, rule: StrictRule): StrictForm | undefined {
  if (typeof schema === "boolean" || isRecursive(schema)) return undefined;
  const loosened = new Set<string>();
  const keywords = new Set(rule.keywords);
  let isOpen = false;
  let isSame = true;
  const made = rebuilt(schema, (part) => {
    isOpen ||= hasOwnKeys(part);
    const fitted = fit(part, { ...rule, keywords }, loosened);
    isSame &&= fitted === part;
    return fitted;
  });
  if (isOpen) return undefined;
  return { schema: isSame ? schema : made, loosened: [...loosened] };
}

type Fitting = { readonly keywords: ReadonlySet<string>; readonly formats: readonly string[] };

function fit(part: Fields, { keywords, formats }: Fitting, loosened: Set<string>): Fields {
  const made: Record<string, unknown> = {};
  let isSame = true;
  for (const [word, value] of Object.entries(part)) {
    if (word === "oneOf" && !keywords.has(word)) {
      made.anyOf = value;
      loosened.add(word);
    } else if (!keywords.has(word) || (word === "format" && !formats.includes(String(value))))
      loosened.add(word);
    else if (word === "minItems" && Number(value) > 1) {
      made.minItems = 1;
      loosened.add(word);
    } else {
      made[word] = value;
      continue;
    }
    isSame = false;
  }
  if (isObject(part) && part.additionalProperties !== false) {
    made.additionalProperties = false;
    isSame = false;
  }
  return isSame ? part : made;
}

const isObject = (part: Fields): boolean =>
  typesIn(part).includes("object") || isFields(part.properties);

/** Whether values may have keys of their own choosing, and that is all there is to them. */
function hasOwnKeys(part: Fields): boolean {
  const { properties, additionalProperties: rest, patternProperties } = part;
  if (!isObject(part)) return false;
  const named = isFields(properties) ? Object.keys(properties).length : 0;
  const isMap = rest !== false && (named === 0 || (isFields(rest) && Object.keys(rest).length > 0));
  return isMap || patternProperties !== undefined;
}

/** Whether it refers to itself, or to what cannot be found in it. */
function isRecursive(root: Fields): boolean {
  const done = new Set<unknown>();
  const above = new Set<unknown>();
  const visit = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null || done.has(value)) return false;
    if (above.has(value)) return true;
    above.add(value);
    const { $ref: ref, $defs: _, definitions: __, ...rest } = value as Record<string, unknown>;
    if (typeof ref === "string") {
      const target = resolve(root, ref);
      if (target === undefined || visit(target)) return true;
    }
    if (Object.values(rest).some(visit)) return true;
    above.delete(value);
    done.add(value);
    return false;
  };
  return visit(root);
}

/** Keywords that a strict schema may have and that are not looked into here. */
const harmless: ReadonlySet<string> = new Set(
  `$ref $schema additionalProperties const description enum exclusiveMaximum exclusiveMinimum format
  maxItems maximum minItems minimum multipleOf pattern required title type`.split(/\s+/),
);

/**
 * Whether models can be held to a schema strictly, as the API means it: objects
 * are closed and have all of their properties, and every part has a type. What
 * it may not know is not.
 */
export function isStrict(schema: JsonSchema): boolean {
  return typeof schema === "object" && typesIn(schema).join() === "object" && isKept(schema);
}

function isKept(schema: unknown): boolean {
  if (!isSchema(schema) || typeof schema === "boolean" || !hasForm(schema)) return false;
  if (typesIn(schema).includes("object") && !isClosed(schema)) return false;
  return Object.entries(schema).every(([word, value]) => {
    if (word === "properties" || word === "$defs" || word === "definitions")
      return isFields(value) && Object.values(value).every(isKept);
    if (word === "anyOf") return Array.isArray(value) && value.every(isKept);
    if (word === "items") return isKept(value);
    return harmless.has(word);
  });
}

/** Whether it says what it is of: by a type, as one of several, or elsewhere and then there alone. */
const hasForm = (schema: Fields): boolean =>
  schema.$ref === undefined
    ? schema.type !== undefined || schema.anyOf !== undefined
    : Object.keys(schema).length === 1;

function isClosed({ properties = {}, required = [], additionalProperties }: Fields): boolean {
  if (!isFields(properties) || !Array.isArray(required) || additionalProperties !== false)
    return false;
  const named = new Set<unknown>(required);
  return Object.keys(properties).every((key) => named.has(key));
}
