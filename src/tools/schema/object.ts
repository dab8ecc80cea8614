import { acceptsNull, isSchema, schemasIn } from "../../schema/keywords.ts";
import { isFields } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { createProviderNameAllocator, fitsNameRule } from "../names/allocate.ts";
import { entries, type Field, fieldwise, list, type Rest, tuple } from "./codec.ts";
import {
  asText,
  describe,
  limit,
  type Rewrite,
  type RewrittenSchema,
  takes,
  type Within,
} from "./compile.ts";

/** The key under which properties without a name of their own are sent. */
const OTHERS = "other_properties";

type WrittenField = Field & { readonly schema: JsonSchema };

/** Writes the schema of an object in the form that the upstream takes. */
export function writeObject(schema: Fields, writing: Rewrite, within: Within): RewrittenSchema {
  const named = isFields(schema.properties) ? schema.properties : undefined;
  const rest = schema.additionalProperties;
  const isMap = Object.keys(named ?? {}).length === 0 && rest !== false;
  if (writing.rule.maps === false && isMap && (named === undefined || rest !== undefined))
    return writeMap(schema, rest, writing, within);

  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const renamed = renamedKeys(Object.keys(named ?? {}), writing);
  const fields: WrittenField[] = [];
  let isSame = writing.rule.maps !== false;
  for (const [key, property] of Object.entries(named ?? {})) {
    const upstream = renamed?.get(key) ?? key;
    const original = isSchema(property) ? property : true;
    const node = writing.write(original, within);
    const optional = writing.rule.optional === false && !required.has(key);
    const filled = optional ? whenAbsent(node, original, writing) : undefined;
    const { schema: written } = filled ?? node;
    fields.push({
      client: key,
      upstream,
      codec: node.codec,
      absent: filled?.absent,
      schema: written,
    });
    isSame &&= filled === undefined && node.schema === property;
  }
  const others = writeOthers(rest, fields, writing, within);
  const hasSameValues = others?.rest === undefined && fields.every(isSameField);
  if (isSame && hasSameValues && (others === undefined || others.schema === rest))
    return { schema: limit(schema, writing), codec: undefined };
  const properties = fields.map(({ upstream, schema: written }) => [upstream, written] as const);
  if (others?.rest?.key !== undefined) properties.push([others.rest.key, others.schema]);
  const needed = fields.filter(
    ({ client, absent }) => absent !== undefined || required.has(client),
  );
  return {
    schema: objectSchema(schema, {
      properties: named === undefined && properties.length === 0 ? undefined : properties,
      required: [
        ...needed.map(({ upstream }) => upstream),
        ...[...required].filter((key) => !Object.hasOwn(named ?? {}, String(key))),
        ...(others?.rest?.key === undefined ? [] : [others.rest.key]),
      ],
      others: others?.schema,
      writing,
    }),
    codec: hasSameValues ? undefined : fieldwise(fields, others?.rest),
  };
}

const isSameField = ({ client, upstream, codec, absent }: Field): boolean =>
  client === upstream && codec === undefined && absent === undefined;

type Written = {
  readonly properties: readonly (readonly [string, JsonSchema])[] | undefined;
  readonly required: readonly unknown[];
  readonly others: JsonSchema | undefined;
  readonly writing: Rewrite;
};

function objectSchema(schema: Fields, { properties, required, others, writing }: Written): Fields {
  const { rule } = writing;
  const { properties: _, required: __, additionalProperties: rest, ...own } = schema;
  const written: Record<string, unknown> = { ...own };
  if (properties !== undefined) written.properties = Object.fromEntries(properties);
  if (required.length > 0 || "required" in schema) written.required = required;
  if (rule.maps !== false) {
    if (rest !== undefined) written.additionalProperties = others ?? rest;
  } else if (rest === false || rule.optional === false) written.additionalProperties = false;
  if (rule.maps === false && rest === true) {
    writing.changed = true;
    writing.describedOnly.add("additionalProperties");
  }
  if (rule.maps === false && rule.optional === false && rest !== false) writing.changed = true;
  return limit(written, writing);
}

/** An object that is nothing but keys and values. */
function writeMap(
  schema: Fields,
  rest: unknown,
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  if (!isFields(rest) || Object.keys(rest).length === 0)
    return asText(schema, writing, "objects of any keys");
  const value = writing.write(rest, within);
  writing.changed = writing.values = true;
  writing.reshaped.add("objects of any keys as lists of pairs");
  return {
    schema: pairs(schema.description, value.schema, writing),
    codec: entries(value.codec),
  };
}

function pairs(description: unknown, value: JsonSchema, writing: Rewrite): Fields {
  const pair = {
    type: "object",
    properties: { key: { type: "string" }, value },
    required: ["key", "value"],
  };
  return {
    type: "array",
    description: describe(description, ["a list of keys with their values"]),
    items: limit({ ...pair, additionalProperties: false }, writing),
  };
}

/** The schema of properties without a name, and what becomes of such properties. */
function writeOthers(
  rest: unknown,
  fields: readonly Field[],
  writing: Rewrite,
  within: Within,
): { readonly schema: JsonSchema; readonly rest: Rest | undefined } | undefined {
  if (!isFields(rest)) return undefined;
  const { schema, codec } = writing.write(rest, within);
  if (writing.rule.maps !== false)
    return { schema, rest: codec === undefined ? undefined : { codec } };
  const taken = new Set(fields.map(({ upstream }) => upstream));
  let key = OTHERS;
  while (taken.has(key)) key += "_";
  writing.changed = writing.values = true;
  writing.reshaped.add(`properties without a name as \`${key}\``);
  return { schema: pairs(undefined, schema, writing), rest: { key, codec: entries(codec) } };
}

/** What stands for a property's absence, for an upstream that wants every property. */
function whenAbsent(
  { schema }: RewrittenSchema,
  original: JsonSchema,
  writing: Rewrite,
): { readonly schema: JsonSchema; readonly absent: "null" | "list" } {
  writing.changed = writing.values = true;
  const nullable = acceptsNull(original, writing.root) ? undefined : orNull(schema, writing);
  if (nullable !== undefined) {
    writing.reshaped.add("what may be left out as null");
    return { schema: nullable, absent: "null" };
  }
  writing.reshaped.add("what may be left out or null as a list of at most one");
  const described = isFields(schema) ? schema.description : undefined;
  const description = describe(described, ["an empty list leaves it out"]);
  return { schema: { type: "array", description, items: schema }, absent: "list" };
}

function orNull(schema: JsonSchema, writing: Rewrite): JsonSchema | undefined {
  if (!isFields(schema)) return undefined;
  const { type, description } = schema;
  const listsValues = "enum" in schema || "const" in schema;
  if (typeof type === "string" && !listsValues && writing.rule.typeLists !== false)
    return { ...schema, type: [type, "null"] };
  if (takes(writing, "anyOf")) {
    const outer = description === undefined ? {} : { description };
    return { ...outer, anyOf: [schema, { type: "null" }] };
  }
  if (writing.rule.keywords?.includes("nullable") === true) return { ...schema, nullable: true };
  return undefined;
}

/** The names of properties at the upstream; none where it takes all of them as they are. */
function renamedKeys(
  keys: readonly string[],
  writing: Rewrite,
): ReadonlyMap<string, string> | undefined {
  const { keys: rule } = writing.rule;
  if (rule === undefined) return undefined;
  if (rule.reserved === undefined && keys.every((key) => fitsNameRule(key, rule))) return undefined;
  const names = createProviderNameAllocator(rule)(keys.map((name) => ({ name, rank: 0 })));
  const renamed = new Map(keys.map((key, at) => [key, names[at] ?? key]));
  if ([...renamed].some(([key, name]) => key !== name)) {
    writing.changed = writing.values = true;
    writing.reshaped.add("property names the upstream does not take under others");
  }
  return renamed;
}

/** Writes the schema of an array in the form that the upstream takes. */
export function writeArray(schema: Fields, writing: Rewrite, within: Within): RewrittenSchema {
  const older = Array.isArray(schema.items);
  const places = schemasIn(older ? schema.items : schema.prefixItems);
  if (places.length > 0) return writeTuple(schema, places, writing, within);
  const { items } = schema;
  if (!isSchema(items)) {
    if (writing.rule.untyped !== false) return { schema: limit(schema, writing), codec: undefined };
    writing.changed = true;
  }
  const node = writing.write(isSchema(items) ? items : true, within);
  return {
    schema: limit({ ...schema, items: node.schema }, writing),
    codec: node.codec === undefined ? undefined : list(node.codec),
  };
}

/** An array whose items differ by position. */
function writeTuple(
  schema: Fields,
  places: readonly JsonSchema[],
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const { items, prefixItems, additionalItems, ...own } = schema;
  const older = prefixItems === undefined;
  const rest = older ? additionalItems : items;
  const nodes = places.map((place) => writing.write(place, within));
  const more = isSchema(rest) && rest !== false ? writing.write(rest, within) : undefined;
  const plain = nodes.every(({ codec }) => codec === undefined) && more?.codec === undefined;
  if (writing.rule.tuples !== false) {
    const inner = nodes.map((node) => node.schema);
    const outer = more === undefined ? (rest === undefined ? {} : { rest }) : { rest: more.schema };
    const written = older
      ? { items: inner, ...("rest" in outer ? { additionalItems: outer.rest } : {}) }
      : { prefixItems: inner, ...("rest" in outer ? { items: outer.rest } : {}) };
    const codecs = nodes.map(({ codec }) => codec);
    return {
      schema: limit({ ...own, ...written }, writing),
      codec: plain ? undefined : tuple(codecs, more?.codec),
    };
  }
  const each = distinct([...nodes, ...(more === undefined ? [] : [more])]);
  const [first] = each;
  if (!plain || first === undefined || (each.length > 1 && !takes(writing, "anyOf")))
    return asText(schema, writing, "lists whose items differ by position");
  writing.changed = true;
  writing.describedOnly.add("prefixItems");
  return {
    schema: limit({ ...own, items: each.length === 1 ? first : { anyOf: each } }, writing),
    codec: undefined,
  };
}

function distinct(nodes: readonly RewrittenSchema[]): readonly JsonSchema[] {
  const bySource = new Map(nodes.map(({ schema }) => [JSON.stringify(schema), schema]));
  return [...bySource.values()];
}
