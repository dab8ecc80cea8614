import { isFields } from "../json/json.ts";
import type { Fields } from "../turn/turn.ts";
import { isSchema, rebuilt } from "./keywords.ts";

/** A schema by draft 2020-12, and the keywords that were rewritten or left out. */
type WellFormed<S> = { readonly schema: S; readonly mended: readonly string[] };

const TYPES: ReadonlySet<unknown> = new Set(
  "array boolean integer null number object string".split(" "),
);

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isNumber = (value: unknown): boolean => typeof value === "number";
const isText = (value: unknown): boolean => typeof value === "string";
const isTruth = (value: unknown): boolean => typeof value === "boolean";
const isList = (value: unknown): boolean => Array.isArray(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isNames = (value: unknown): boolean =>
  isTexts(value) && new Set(value as unknown[]).size === (value as unknown[]).length;
const isSchemas = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isTypes = (value: unknown): boolean =>
  isNames(value) &&
  (value as unknown[]).length > 0 &&
  (value as unknown[]).every((one) => TYPES.has(one));
const isMapOf =
  (isFit: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    isFields(value) && Object.values(value).every(isFit);
const isMap = isMapOf(isSchema);

const check = (words: string, isFit: (value: unknown) => boolean) =>
  words.split(" ").map((word) => [word, isFit] as const);

/** Checks of the values of keywords. Other keywords are not limited. */
const forms: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ...check(
    "not if then else items contains additionalProperties propertyNames unevaluatedItems " +
      "unevaluatedProperties contentSchema",
    isSchema,
  ),
  ...check("anyOf oneOf allOf prefixItems", isSchemas),
  ...check("properties patternProperties $defs definitions dependentSchemas", isMap),
  ...check("minimum maximum exclusiveMinimum exclusiveMaximum", isNumber),
  ...check(
    "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
    isCount,
  ),
  ...check("uniqueItems deprecated readOnly writeOnly", isTruth),
  ...check(
    "pattern format title description $ref $dynamicRef $schema $comment contentEncoding " +
      "contentMediaType",
    isText,
  ),
  ...check("enum examples", isList),
  ...check("$vocabulary", isFields),
  ...check("required", isNames),
  ...check("dependentRequired", isMapOf(isNames)),
  ...check(
    "dependencies",
    isMapOf((one) => isSchema(one) || isNames(one)),
  ),
  ...check("multipleOf", (value) => isNumber(value) && Number(value) > 0),
  ...check("$id", (value) => isText(value) && !/#./.test(String(value))),
  ...check("$anchor", (value) => isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(String(value))),
  ...check("type", (value) => TYPES.has(value) || isTypes(value)),
]);

/**
 * Rewrites a schema of an older draft, or with mistakes, so that it is valid by draft 2020-12:
 * providers that read schemas by that draft refuse the whole request otherwise. Parts without a
 * form in that draft are left out. A valid schema keeps its identity.
 */
export function wellFormed<S>(schema: S): WellFormed<S> {
  const mended = new Set<string>();
  const mend = (part: Fields): Fields => mendPart(part, mended);
  const made = rebuilt(rebuilt(schema, liftRequired), mend);
  return mended.size === 0 ? { schema, mended: [] } : { schema: made, mended: [...mended] };
}

function mendPart(part: Fields, mended: Set<string>): Fields {
  let made: Record<string, unknown> | undefined;
  const write = (): Record<string, unknown> => (made ??= { ...part });
  for (const word in part) {
    const value = part[word];
    if (forms.get(word)?.(value) !== false) continue;
    mended.add(word);
    const fields = write();
    delete fields[word];
    Object.assign(fields, inNewForm(word, value, part));
  }
  return made ?? part;
}

/** The new form of a keyword of an older draft; may be empty. */
function inNewForm(word: string, value: unknown, part: Fields): Fields {
  switch (word) {
    case "items": {
      if (!isSchemas(value)) return {};
      const { additionalItems: more } = part;
      return { prefixItems: value, ...(isSchema(more) && { items: more }) };
    }
    case "exclusiveMinimum":
      return value === true && isNumber(part.minimum) ? { exclusiveMinimum: part.minimum } : {};
    case "exclusiveMaximum":
      return value === true && isNumber(part.maximum) ? { exclusiveMaximum: part.maximum } : {};
    case "type": {
      const known = Array.isArray(value) ? [...new Set(value)].filter((one) => TYPES.has(one)) : [];
      return known.length === 0 ? {} : { type: known };
    }
    case "required":
      return Array.isArray(value) ? { required: [...new Set(value.filter(isText))] } : {};
    case "properties":
    case "patternProperties":
    case "$defs":
    case "definitions":
      return isFields(value)
        ? { [word]: Object.fromEntries(Object.entries(value).filter(([, one]) => isSchema(one))) }
        : {};
    case "anyOf":
    case "oneOf":
    case "allOf": {
      const some = Array.isArray(value) ? value.filter(isSchema) : [];
      return some.length === 0 ? {} : { [word]: some };
    }
    default:
      return {};
  }
}

/** Adds the properties with `required: true`, the form of the first drafts, to the list of the object. */
function liftRequired(part: Fields): Fields {
  const { properties, required } = part;
  if (!isFields(properties)) return part;
  const lifted: string[] = [];
  for (const key in properties) {
    const one = properties[key];
    if (isFields(one) && one.required === true) lifted.push(key);
  }
  if (lifted.length === 0) return part;
  const known = isTexts(required) ? (required as readonly string[]) : [];
  return { ...part, required: [...new Set([...known, ...lifted])] };
}
