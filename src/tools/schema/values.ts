import { typeOfValue } from "../../schema/keywords.ts";
import type { Fields } from "../../turn/turn.ts";
import { texts } from "./codec.ts";
import { asText, limit, type RewrittenSchema, type Rewrite } from "./rewrite.ts";

/** A schema that lists its values: an `enum`, or a `const`, which is an `enum` of one. */
export function writeValues(schema: Fields, writing: Rewrite): RewrittenSchema {
  const { rule } = writing;
  const isConst = "const" in schema;
  const values = isConst ? [schema.const] : (schema.enum as readonly unknown[]);
  const { const: _, enum: __, type, ...rest } = schema as Record<string, unknown>;
  const allTexts = values.every((value) => typeof value === "string");
  if (rule.mixedEnums === false && !allTexts) return writeTexts(rest, schema, values, writing);

  const written: Record<string, unknown> =
    isConst && rule.consts !== false ? { const: values[0], ...rest } : { enum: values, ...rest };
  if (isConst && rule.consts === false) writing.changed = true;
  const types = [...new Set(values.map(typeOfValue))];
  const oneType = types.length === 1 ? types[0] : undefined;
  if (rule.typeLists === false && Array.isArray(type)) {
    writing.changed = true;
    if (oneType !== undefined) written.type = oneType;
  } else if (type !== undefined) written.type = type;
  else if (rule.untyped === false && oneType !== undefined) {
    writing.changed = true;
    written.type = oneType;
  }
  if (written.type === undefined && rule.untyped === false)
    return asText(schema, writing, "values of several types");
  return { schema: limit(written, writing), codec: undefined };
}

/** Every value as a text of its own. */
function writeTexts(
  rest: Fields,
  schema: Fields,
  values: readonly unknown[],
  writing: Rewrite,
): RewrittenSchema {
  const words = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  if (new Set(words).size < words.length) return asText(schema, writing, "values of several types");
  writing.changed = writing.values = true;
  writing.reshaped.add("values that are no text as text");
  return {
    schema: limit({ type: "string", enum: words, ...rest }, writing),
    codec: texts(values, words),
  };
}
