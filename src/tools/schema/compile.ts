import { impliedTypes, resolve, typeOfValue, typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { SchemaRule } from "../../turn/profile.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { apply, type Codec, jsonText, texts, wrapped } from "./codec.ts";
import { writeAll, writeTypes, writeUnion } from "./combine.ts";
import { writeArray, writeObject } from "./object.ts";

/** A schema as the upstream is given it, and how values cross over. */
export type RewrittenSchema = { readonly schema: JsonSchema; readonly codec: Codec | undefined };

/** The references a schema was reached through. */
export type Within = ReadonlySet<string>;

/** What a reference leads to; the node is there once it has been written. */
type Definition = { readonly name: string; node?: RewrittenSchema };

/** One client's schema on its way into another form. */
export type Rewrite = {
  readonly rule: SchemaRule;
  readonly root: JsonSchema;
  /** Whether references count as changing values. */
  readonly follow: boolean;
  readonly targets: Map<string, JsonSchema | undefined>;
  readonly definitions: {
    readonly byRef: Map<string, Definition>;
    readonly byName: Map<string, Definition>;
  };
  readonly reshaped: Set<string>;
  readonly describedOnly: Set<string>;
  /** Whether the schema differs from the client's. */
  changed: boolean;
  /** Whether values differ too. */
  values: boolean;
  /** How many schemas have been written, those behind references counted each time. */
  size: number;
  /** How many may be; known once it matters. */
  most?: number;
  write(schema: JsonSchema, within: Within): RewrittenSchema;
};

export const takes = (writing: Rewrite, word: "anyOf" | "oneOf" | "allOf"): boolean =>
  writing.rule.unions?.includes(word) ?? true;

/** What is the schema's own form; everything else is a constraint or a remark. */
const form = new Set(
  "type properties required items prefixItems enum const anyOf oneOf allOf $ref description nullable".split(
    " ",
  ),
);
/** What tells the model nothing. */
const silent = new Set(
  "$schema $id $comment $anchor $defs definitions title readOnly writeOnly".split(" "),
);

/** For what the upstream's schemas cannot describe: JSON text, with the schema in its description. */
export function asText(schema: Fields, writing: Rewrite, what: string): RewrittenSchema {
  writing.changed = writing.values = true;
  writing.reshaped.add(`${what} as JSON text`);
  const { description, ...rest } = schema as Record<string, unknown>;
  for (const word of silent) delete rest[word];
  const shape = Object.keys(rest).length === 0 ? "" : ` of this schema: ${JSON.stringify(rest)}`;
  return {
    schema: { type: "string", description: describe(description, [`JSON text${shape}`]) },
    codec: jsonText,
  };
}

/** A description with remarks behind it. */
export function describe(description: unknown, remarks: readonly string[]): string {
  const given = typeof description === "string" ? description : "";
  if (remarks.length === 0) return given;
  const remark = `(${remarks.join("; ")})`;
  return given === "" ? remark : `${given} ${remark}`;
}

/** The schema without what the upstream does not take, which its description tells instead. */
export function limit(schema: Fields, writing: Rewrite): Fields {
  let isWhole = true;
  for (const word in schema) if (isRefused(word, schema[word], writing.rule)) isWhole = false;
  if (isWhole) return schema;
  writing.changed = true;
  const kept: [string, unknown][] = [];
  const remarks: string[] = [];
  for (const [word, value] of Object.entries(schema)) {
    if (!isRefused(word, value, writing.rule)) {
      kept.push([word, value]);
      continue;
    }
    if (silent.has(word) || (word === "additionalProperties" && value === false)) continue;
    remarks.push(`${word}: ${JSON.stringify(value)}`);
    writing.describedOnly.add(word);
  }
  if (remarks.length === 0) return Object.fromEntries(kept);
  return { ...Object.fromEntries(kept), description: describe(schema.description, remarks) };
}

function isRefused(word: string, value: unknown, { keywords, formats }: SchemaRule): boolean {
  if (word === "format" && formats !== undefined) return !formats.includes(String(value));
  return keywords !== undefined && !form.has(word) && !keywords.includes(word);
}

/** A schema that lists its values: an `enum`, or a `const`, which is an `enum` of one. */
function writeValues(schema: Fields, writing: Rewrite): RewrittenSchema {
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

/**
 * A schema is written as so many parts, or as twice as many as it has itself.
 * Definitions that are written out where they are used, and alternatives that
 * are written for each of several types, can come to more than any model reads.
 */
const LARGEST = 2000;
const GROWTH = 2;

/** Writes one schema in the form the rule allows. */
function writeSchema(schema: JsonSchema, writing: Rewrite, within: Within): RewrittenSchema {
  if (typeof schema === "boolean") return writeOpen(schema, writing);
  if (++writing.size > LARGEST && writing.size > (writing.most ??= GROWTH * partsIn(writing.root)))
    return asText(schema, writing, "what is too large to write out");
  if (typeof schema.$ref === "string") return writeRef(schema, schema.$ref, writing, within);
  if (Array.isArray(schema.allOf)) return writeAll(schema, writing, within);
  if (Array.isArray(schema.anyOf)) return writeUnion(schema, "anyOf", writing, within);
  if (Array.isArray(schema.oneOf)) return writeUnion(schema, "oneOf", writing, within);
  if (Array.isArray(schema.enum) || "const" in schema) return writeValues(schema, writing);

  const types = typesIn(schema);
  if (types.length > 1) return writeTypes(schema, types, writing, within);
  if (types[0] !== undefined) return writeTyped(schema, types[0], writing, within);
  const [implied, ...more] = impliedTypes(schema);
  if (implied === undefined || more.length > 0) return writeOpen(schema, writing);
  if (writing.rule.untyped !== false) return writeTyped(schema, implied, writing, within);
  writing.changed = true;
  return writeTyped({ ...schema, type: implied }, implied, writing, within);
}

/** How many parts a schema has: itself and all objects in it. */
function partsIn(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return 0;
  let parts = Array.isArray(schema) ? 0 : 1;
  for (const inner of Object.values(schema)) parts += partsIn(inner);
  return parts;
}

function writeTyped(
  schema: Fields,
  type: string,
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  if (type === "object") return writeObject(schema, writing, within);
  if (type === "array") return writeArray(schema, writing, within);
  return { schema: limit(schema, writing), codec: undefined };
}

/** A schema that leaves the type open. */
function writeOpen(schema: JsonSchema, writing: Rewrite): RewrittenSchema {
  const fields = typeof schema === "boolean" ? {} : schema;
  if (writing.rule.untyped === false) return asText(fields, writing, "values of any type");
  return {
    schema: typeof schema === "boolean" ? schema : limit(schema, writing),
    codec: undefined,
  };
}

function writeRef(schema: Fields, ref: string, writing: Rewrite, within: Within): RewrittenSchema {
  const target = targetOf(ref, writing);
  const { $ref: _, ...siblings } = schema as Record<string, unknown>;
  if (writing.rule.refs !== false)
    return target === undefined
      ? { schema, codec: undefined }
      : writeDefinition(siblings, ref, target, writing);
  if (target === undefined || within.has(ref))
    return asText(siblings, writing, target === undefined ? `what ${ref} refers to` : "recursion");
  writing.changed = true;
  const isBare = typeof target === "boolean" || Object.keys(siblings).length === 0;
  return writing.write(isBare ? target : { ...target, ...siblings }, new Set(within).add(ref));
}

/** What a reference leads to; most schemas refer to a few things many times. */
function targetOf(ref: string, { root, targets }: Rewrite): JsonSchema | undefined {
  if (!targets.has(ref)) targets.set(ref, resolve(root, ref));
  return targets.get(ref);
}

/** Keeps a reference, and what it refers to among the definitions. */
function writeDefinition(
  siblings: Fields,
  ref: string,
  target: JsonSchema,
  writing: Rewrite,
): RewrittenSchema {
  const { byRef, byName } = writing.definitions;
  let found = byRef.get(ref);
  if (found === undefined) {
    let name = (ref.split("/").at(-1) ?? "").replaceAll(/\W/g, "_") || "root";
    while (byName.has(name)) name += "_";
    found = { name };
    byRef.set(ref, found);
    byName.set(name, found);
    found.node = writing.write(target, new Set());
  }
  const definition = found;
  const codec: Codec = {
    encode: (value) => apply(definition.node?.codec, "encode", value),
    decode: (value) => apply(definition.node?.codec, "decode", value),
  };
  const kept = `#/$defs/${definition.name}`;
  return { schema: { ...siblings, $ref: kept }, codec: writing.follow ? codec : undefined };
}

/** A client's schema as one upstream can take it. */
type Compiled = {
  readonly schema: JsonSchema;
  /** None: values are the same on both sides. */
  readonly codec: Codec | undefined;
  /** Rewrites that are undone on the way back; each a phrase. */
  readonly reshaped: readonly string[];
  /** Constraints that the upstream's schemas have no form for: its model reads them in a description. */
  readonly describedOnly: readonly string[];
};

/** Where the arguments stand when they are not an object themselves. */
const VALUE = "value";

/** Rewrites a schema into the part of JSON Schema that a rule allows. */
export function compileSchema(schema: JsonSchema, rule: SchemaRule): Compiled {
  // References are first taken to change nothing. If something does change
  // values, they may lead to it, and have to be followed.
  let writing = startWriting(schema, rule, false);
  let node = settleRoot(writing, schema);
  if (writing.values) {
    writing = startWriting(schema, rule, true);
    node = settleRoot(writing, schema);
  }
  return {
    schema: writing.changed ? withDefinitions(node.schema, writing) : schema,
    codec: writing.values ? node.codec : undefined,
    reshaped: [...writing.reshaped],
    describedOnly: [...writing.describedOnly],
  };
}

function startWriting(root: JsonSchema, rule: SchemaRule, follow: boolean): Rewrite {
  const writing: Rewrite = {
    rule,
    root,
    follow,
    targets: new Map(),
    definitions: { byRef: new Map(), byName: new Map() },
    reshaped: new Set(),
    describedOnly: new Set(),
    changed: false,
    values: false,
    size: 0,
    write: (schema, within) => writeSchema(schema, writing, within),
  };
  return writing;
}

function settleRoot(writing: Rewrite, schema: JsonSchema): RewrittenSchema {
  const { anyRoot = !isNeverObject(schema) } = writing.rule;
  if (anyRoot) return writing.write(schema, new Set(["#"]));
  const target = withProperties(withoutConditions(followed(schema, schema), writing));
  if (target !== schema) writing.changed = true;
  const node = writing.write(target, new Set(["#"]));
  if (isPlainObject(node.schema)) return node;
  writing.changed = writing.values = true;
  writing.reshaped.add(`arguments that are no plain object as \`${VALUE}\``);
  return {
    schema: { type: "object", properties: { [VALUE]: node.schema }, required: [VALUE] },
    codec: wrapped(VALUE, node.codec),
  };
}

/** Whether no object fits. Arguments are one in every API, so only who is known to take others is sent such a schema. */
export function isNeverObject(schema: JsonSchema): boolean {
  const types = isFields(schema) ? typesIn(schema) : [];
  return types.length > 0 && !types.includes("object");
}

/** Parameters that are just `{"type":"object"}` mean none, rather than any; those with properties are an object. */
function withProperties(schema: JsonSchema): JsonSchema {
  if (schema === true) return { type: "object", properties: {} };
  if (!isFields(schema)) return schema;
  if (schema.type === undefined && isFields(schema.properties))
    return { ...schema, type: "object" };
  const { type = "object" } = schema;
  if (type !== "object") return schema;
  for (const word in schema) if (!SAYS_NOTHING.has(word)) return schema;
  return { ...schema, type, properties: {} };
}
const SAYS_NOTHING: ReadonlySet<string> = new Set(["type", "description", "$schema"]);

/** A schema that is nothing but a reference, followed to what it refers to. */
function followed(schema: JsonSchema, root: JsonSchema, steps = 8): JsonSchema {
  if (!isFields(schema) || typeof schema.$ref !== "string" || steps === 0) return schema;
  const target = resolve(root, schema.$ref);
  return target === undefined ? schema : followed(target, root, steps - 1);
}

const UNIONS = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];

/** An object that only requires one or another of its own keys: the condition goes into its description. */
function withoutConditions(schema: JsonSchema, writing: Rewrite): JsonSchema {
  if (!isFields(schema) || !isFields(schema.properties)) return schema;
  const conditions = UNIONS.filter((word) => word in schema);
  const onlyAsk = (branch: unknown): boolean =>
    isFields(branch) && Object.keys(branch).every((word) => word === "required");
  const simple = conditions.every((word) => {
    const branches = schema[word];
    return Array.isArray(branches) ? branches.every(onlyAsk) : onlyAsk(branches);
  });
  if (conditions.length === 0 || !simple) return schema;
  const plain: Record<string, unknown> = { ...schema };
  const words: string[] = [];
  for (const word of conditions) {
    words.push(`${word}: ${JSON.stringify(plain[word])}`);
    delete plain[word];
    writing.describedOnly.add(`${word} at the top`);
  }
  writing.changed = true;
  return { ...plain, description: describe(schema.description, words) };
}

const isPlainObject = (schema: JsonSchema): boolean =>
  isFields(schema) &&
  schema.type === "object" &&
  !("enum" in schema) &&
  UNIONS.every((word) => !(word in schema));

function withDefinitions(schema: JsonSchema, { definitions }: Rewrite): JsonSchema {
  if (!isFields(schema)) return schema;
  const { $defs: _, definitions: __, ...rest } = schema as Record<string, unknown>;
  const written: Fields = Object.fromEntries(
    [...definitions.byRef.values()].map(({ name, node }) => [name, node?.schema ?? {}]),
  );
  return Object.keys(written).length === 0 ? rest : { ...rest, $defs: written };
}
