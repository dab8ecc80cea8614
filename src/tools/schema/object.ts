import { isFields } from "../../json/json.ts";
import { acceptsNull, isSchema, schemasIn } from "../../schema/keywords.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { allocateNames, fitsNameRule } from "../names/allocate.ts";
import { entries, fieldwise, list, tuple, type Field, type RestCodec } from "./codec.ts";
import { describe, type SchemaWriter, type Within, type WrittenSchema } from "./compile.ts";

/** The key under which properties without a name in the schema are sent. */
const OTHERS = "other_properties";

type WrittenField = Field & { readonly schema: JsonSchema };
type Others = { readonly schema: JsonSchema; readonly rest: RestCodec | undefined };

export function writeObject(schema: Fields, writer: SchemaWriter, within: Within): WrittenSchema {
  const { rule } = writer;
  const named = isFields(schema.properties) ? schema.properties : undefined;
  const properties = Object.entries(named ?? {});
  const rest = schema.additionalProperties;
  if (rule.empty === false && properties.length === 0 && schema !== writer.top && !isFields(rest))
    return writer.asText(schema, "objects of any keys");
  const isMap = properties.length === 0 && rest !== false;
  if (rule.maps === false && isMap && (named === undefined || rest !== undefined))
    return writeMap(schema, rest, writer, within);

  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const renamed = renamedKeys(Object.keys(named ?? {}), writer);
  const fields = properties.map(([client, property]): WrittenField => {
    const original = isSchema(property) ? property : true;
    const node = writer.write(original, within);
    const isFilled = rule.optional === false && !required.has(client);
    const filled = isFilled ? whenAbsent(node.schema, original, writer) : undefined;
    return {
      client,
      upstream: renamed?.get(client) ?? client,
      codec: node.codec,
      absent: filled?.absent,
      schema: (filled ?? node).schema,
    };
  });
  const others = writeOthers(rest, fields, writer, within);
  const hasSameValues = others?.rest === undefined && fields.every(isSameField);
  return {
    schema: objectSchema(schema, { named, required, fields, others, writer }),
    codec: hasSameValues ? undefined : fieldwise(fields, others?.rest),
  };
}

const isSameField = ({ client, upstream, codec, absent }: Field): boolean =>
  client === upstream && codec === undefined && absent === undefined;

type ObjectParts = {
  readonly named: Fields | undefined;
  readonly required: ReadonlySet<unknown>;
  readonly fields: readonly WrittenField[];
  readonly others: Others | undefined;
  readonly writer: SchemaWriter;
};

function objectSchema(schema: Fields, parts: ObjectParts): Fields {
  const { named, required, fields, others, writer } = parts;
  const { maps, optional } = writer.rule;
  const { properties: _, required: __, additionalProperties: rest, ...own } = schema;
  const written: Record<string, unknown> = { ...own };
  const properties = fields.map(({ upstream, schema: one }) => [upstream, one] as const);
  const needed: unknown[] = fields
    .filter(({ client, absent }) => absent !== undefined || required.has(client))
    .map(({ upstream }) => upstream);
  for (const key of required)
    if (!Object.hasOwn(named ?? {}, String(key))) {
      if (writer.rule.empty !== false) needed.push(key);
      else writer.describeOnly("`required` without a property of that name");
    }
  if (others?.rest?.key !== undefined) {
    properties.push([others.rest.key, others.schema]);
    needed.push(others.rest.key);
  }
  if (named !== undefined || properties.length > 0)
    written.properties = Object.fromEntries(properties);
  if (needed.length > 0 || "required" in schema) written.required = needed;
  if (maps !== false) {
    if (rest !== undefined) written.additionalProperties = others?.schema ?? rest;
  } else {
    if (rest === false || optional === false) written.additionalProperties = false;
    if (rest === true) writer.describeOnly("additionalProperties");
    if (optional === false && rest !== false) writer.changed = true;
  }
  return writer.limit(written);
}

/** Writes an object that only maps keys to values. */
function writeMap(
  schema: Fields,
  rest: unknown,
  writer: SchemaWriter,
  within: Within,
): WrittenSchema {
  if (!isFields(rest) || Object.keys(rest).length === 0)
    return writer.asText(schema, "objects of any keys");
  const value = writer.write(rest, within);
  writer.reshape("objects of any keys as lists of pairs");
  return { schema: pairs(schema.description, value.schema, writer), codec: entries(value.codec) };
}

function pairs(description: unknown, value: JsonSchema, writer: SchemaWriter): Fields {
  const pair = {
    type: "object",
    properties: { key: { type: "string" }, value },
    required: ["key", "value"],
    additionalProperties: false,
  };
  return {
    type: "array",
    description: describe(description, ["a list of keys with their values"]),
    items: writer.limit(pair),
  };
}

/** Writes the schema of properties without a name. */
function writeOthers(
  rest: unknown,
  fields: readonly Field[],
  writer: SchemaWriter,
  within: Within,
): Others | undefined {
  if (!isFields(rest)) return undefined;
  const { schema, codec } = writer.write(rest, within);
  if (writer.rule.maps !== false)
    return { schema, rest: codec === undefined ? undefined : { codec } };
  const taken = new Set(fields.map(({ upstream }) => upstream));
  let key = OTHERS;
  while (taken.has(key)) key += "_";
  writer.reshape(`properties without a name as \`${key}\``);
  return { schema: pairs(undefined, schema, writer), rest: { key, codec: entries(codec) } };
}

/** A schema that can express a property's absence, for upstreams that require every property. */
function whenAbsent(
  schema: JsonSchema,
  original: JsonSchema,
  writer: SchemaWriter,
): { readonly schema: JsonSchema; readonly absent: "null" | "list" } {
  const nullable = acceptsNull(original, writer.root) ? undefined : orNull(schema, writer);
  if (nullable !== undefined) {
    writer.reshape("optional properties as null");
    return { schema: nullable, absent: "null" };
  }
  writer.reshape("optional properties that may be null as a list of at most one value");
  const described = isFields(schema) ? schema.description : undefined;
  const description = describe(described, ["an empty list omits it"]);
  return { schema: { type: "array", description, items: schema }, absent: "list" };
}

function orNull(schema: JsonSchema, writer: SchemaWriter): JsonSchema | undefined {
  if (!isFields(schema)) return undefined;
  const { type, description } = schema;
  const listsValues = "enum" in schema || "const" in schema;
  if (typeof type === "string" && !listsValues && writer.rule.typeLists !== false)
    return { ...schema, type: [type, "null"] };
  if (writer.takes("anyOf"))
    return {
      ...(description !== undefined && { description }),
      anyOf: [schema, { type: "null" }],
    };
  return writer.rule.keywords?.includes("nullable") === true
    ? { ...schema, nullable: true }
    : undefined;
}

/** The upstream's names of properties; undefined if it takes all of them as they are. */
function renamedKeys(
  keys: readonly string[],
  writer: SchemaWriter,
): ReadonlyMap<string, string> | undefined {
  const { keys: rule } = writer.rule;
  if (rule === undefined) return undefined;
  if (rule.reserved === undefined && keys.every((key) => fitsNameRule(key, rule))) return undefined;
  const requests = keys.map((name) => ({ name, rank: 0 }));
  const names = allocateNames(requests, rule);
  if (keys.some((key, at) => names[at] !== (key as unknown)))
    writer.reshape("property names that the upstream does not accept under other names");
  return new Map(keys.map((key, at) => [key, names[at] ?? key]));
}

export function writeArray(schema: Fields, writer: SchemaWriter, within: Within): WrittenSchema {
  const places = schemasIn(Array.isArray(schema.items) ? schema.items : schema.prefixItems);
  if (places.length > 0) return writeTuple(schema, places, writer, within);
  const { items } = schema;
  if (!isSchema(items)) {
    if (writer.rule.untyped !== false) return { schema: writer.limit(schema) };
    writer.changed = true;
  }
  const node = writer.write(isSchema(items) ? items : true, within);
  return {
    schema: writer.limit({ ...schema, items: node.schema }),
    codec: node.codec && list(node.codec),
  };
}

/** Writes an array whose items differ by position. */
function writeTuple(
  schema: Fields,
  places: readonly JsonSchema[],
  writer: SchemaWriter,
  within: Within,
): WrittenSchema {
  const { items, prefixItems, additionalItems, ...own } = schema;
  const isOlder = prefixItems === undefined;
  const rest = isOlder ? additionalItems : items;
  const nodes = places.map((place) => writer.write(place, within));
  const more = isSchema(rest) && rest !== false ? writer.write(rest, within) : undefined;
  const codecs = nodes.map(({ codec }) => codec);
  const isPlain = [...codecs, more?.codec].every((codec) => codec === undefined);
  if (writer.rule.tuples !== false) {
    const inner = nodes.map((node) => node.schema);
    const outer = more?.schema ?? rest;
    const written = isOlder
      ? { items: inner, ...(outer !== undefined && { additionalItems: outer }) }
      : { prefixItems: inner, ...(outer !== undefined && { items: outer }) };
    return {
      schema: writer.limit({ ...own, ...written }),
      codec: isPlain ? undefined : tuple(codecs, more?.codec),
    };
  }
  const all = more === undefined ? nodes : [...nodes, more];
  const distinct = new Map(all.map((node) => [JSON.stringify(node.schema), node.schema]));
  const [first, ...others] = distinct.values();
  if (!isPlain || (others.length > 0 && !writer.takes("anyOf")))
    return writer.asText(schema, "lists whose items differ by position");
  writer.describeOnly("prefixItems");
  const any = others.length === 0 ? first : { anyOf: [first, ...others] };
  return { schema: writer.limit({ ...own, items: any }) };
}
