import { isFields } from "../../json/json.ts";
import { isSchema, rebuilt, resolve, typesIn } from "../../schema/keywords.ts";
import type { StrictRule } from "../../turn/profile.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** Keywords that a strict schema may have and whose values are not checked here. */
const harmless: ReadonlySet<string> = new Set(
  `$ref $schema additionalProperties const description enum exclusiveMaximum exclusiveMinimum format
  maxItems maximum minItems minimum multipleOf pattern required title type`.split(/\s+/),
);

/**
 * True if an API can hold models to a schema strictly: objects are closed and
 * require all of their properties, and every part has a type. A schema with any
 * other keyword is not strict.
 */
export function isStrict(schema: JsonSchema): boolean {
  return typeof schema === "object" && typesIn(schema).join() === "object" && isStrictPart(schema);
}

function isStrictPart(schema: unknown): boolean {
  if (!isSchema(schema) || typeof schema === "boolean" || !hasForm(schema)) return false;
  if (typesIn(schema).includes("object") && !isClosed(schema)) return false;
  return Object.entries(schema).every(([word, value]) => {
    if (word === "properties" || word === "$defs" || word === "definitions")
      return isFields(value) && Object.values(value).every(isStrictPart);
    if (word === "anyOf") return Array.isArray(value) && value.every(isStrictPart);
    if (word === "items") return isStrictPart(value);
    return harmless.has(word);
  });
}

/** True if a part has a type or alternatives, or is a reference and nothing else. */
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

/** A schema that an upstream can hold its answers to. */
export type StrictForm = {
  readonly schema: JsonSchema;
  /** The keywords that were left out: answers have to be checked against them. */
  readonly loosened: readonly string[];
};

/**
 * Limits a schema to the part that an upstream enforces. Values keep their form:
 * objects are closed and limits left out, nothing is renamed. A schema that fits
 * is returned as the same object. Undefined if closing an object would change its
 * purpose, or if the schema refers to itself.
 */
export function strictForm(schema: JsonSchema, rule: StrictRule): StrictForm | undefined {
  if (typeof schema === "boolean" || isRecursive(schema)) return undefined;
  const loosened = new Set<string>();
  const keywords = new Set(rule.keywords);
  let isMap = false;
  let isSame = true;
  const made = rebuilt(schema, (part) => {
    isMap ||= hasFreeKeys(part);
    const fitted = fit(part, { ...rule, keywords }, loosened);
    isSame &&= fitted === part;
    return fitted;
  });
  if (isMap) return undefined;
  return { schema: isSame ? schema : made, loosened: [...loosened] };
}

type Enforced = { readonly keywords: ReadonlySet<string>; readonly formats: readonly string[] };

function fit(part: Fields, { keywords, formats }: Enforced, loosened: Set<string>): Fields {
  const made: Record<string, unknown> = {};
  let isSame = true;
  for (const [word, value] of Object.entries(part)) {
    if (word === "oneOf" && !keywords.has(word)) made.anyOf = value;
    else if (word === "minItems" && Number(value) > 1 && keywords.has(word)) made.minItems = 1;
    else if (keywords.has(word) && (word !== "format" || formats.includes(String(value)))) {
      made[word] = value;
      continue;
    }
    loosened.add(word);
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

/** True if the purpose of an object is to hold any keys. */
function hasFreeKeys(part: Fields): boolean {
  const { properties, additionalProperties: rest, patternProperties } = part;
  if (!isObject(part)) return false;
  const named = isFields(properties) ? Object.keys(properties).length : 0;
  const isMap = rest !== false && (named === 0 || (isFields(rest) && Object.keys(rest).length > 0));
  return isMap || patternProperties !== undefined;
}

/** True if a schema refers to itself, or to something outside. */
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
