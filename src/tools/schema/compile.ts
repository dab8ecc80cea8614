import { resolve, typesIn } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { SchemaRule } from "../../turn/profile.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { wrapped, type Codec } from "./codec.ts";
import { writeSchema } from "./write.ts";
import { describe, type RewrittenSchema, type Rewrite } from "./rewrite.ts";

/** A client's schema as one upstream can take it. */
export type Compiled = {
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
