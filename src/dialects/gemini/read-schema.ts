/**
 * Reads the schemas of Gemini's API as JSON Schema. It has two fields for them: one holds a message
 * of its own, the other JSON Schema, and clients write the words of the one into the other.
 */

import { isFields } from "../../json/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { listOf } from "../shared/loose.ts";
import { schemaAt } from "../shared/shape.ts";
import { camelName, schemaTypes } from "./wire.ts";

/** Reads the schema at a path of a request, in whichever form it is written. */
export const readSchema = (raw: unknown, path: string): JsonSchema => schemaOf(schemaAt(raw, path));

/** Whole numbers of 64 bits, which are written as text. */
const counts = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const groups = new Set(["properties", "patternProperties", "$defs", "definitions", "defs"]);
const inner = new Set([
  "items",
  "additionalProperties",
  "not",
  "contains",
  "propertyNames",
  "if",
  "then",
  "else",
]);

/** Fields of the API's own schemas for which JSON Schema has other names. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["ref", "$ref"],
  ["defs", "$defs"],
]);

/** Keywords that may also be written in snake case. */
const twofold = new Set([...counts, ...lists, ...groups, ...inner, "propertyOrdering"]);

function keywordOf(name: string): string {
  if (!name.includes("_")) return renamed.get(name) ?? name;
  const camel = camelName(name);
  return twofold.has(camel) ? camel : name;
}

function schemaOf(value: unknown): JsonSchema {
  if (!isFields(value)) return typeof value === "boolean" ? value : {};
  const schema: Record<string, unknown> = Object.fromEntries(
    Object.keys(value).flatMap((name) => {
      const key = keywordOf(name);
      const read = readKeyword(key, value[name]);
      return read === undefined ? [] : [[key, read]];
    }),
  );
  const { nullable, propertyOrdering, example, ...rest } = schema;
  if (isFields(rest.properties)) rest.properties = inOrder(rest.properties, propertyOrdering);
  if (example !== undefined) rest.examples ??= [example];
  return nullable === true ? orNull(rest) : rest;
}

/** Undefined for a keyword that says nothing. */
function readKeyword(key: string, value: unknown): unknown {
  if (value === null && key !== "default" && key !== "const" && key !== "example") return undefined;
  if (key === "type") return readType(value);
  // The one format that the API's own schemas require for a list of values.
  if (key === "format" && value === "enum") return undefined;
  if (counts.has(key)) return countIn(value);
  if (lists.has(key)) return listOf(value)?.map(schemaOf) ?? value;
  if (groups.has(key) && isFields(value)) return mapped(value);
  if (key === "items" && Array.isArray(value)) return value.map(schemaOf);
  return inner.has(key) && isFields(value) ? schemaOf(value) : value;
}

function readType(type: unknown): unknown {
  if (Array.isArray(type)) return type.map(readType);
  if (type === "TYPE_UNSPECIFIED") return undefined;
  return typeof type === "string" ? (schemaTypes.get(type.toUpperCase()) ?? type) : type;
}

const countIn = (value: unknown): unknown =>
  typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;

/** Names of properties come from outside: `__proto__` is one like any other. */
const mapped = (group: Fields): Fields =>
  Object.fromEntries(Object.entries(group).map(([name, schema]) => [name, schemaOf(schema)]));

/** The order in which the model writes properties is that of their declaration. */
function inOrder(properties: Fields, ordering: unknown): Fields {
  const first = (listOf(ordering) ?? []).filter(
    (name): name is string => typeof name === "string" && Object.hasOwn(properties, name),
  );
  if (first.length === 0) return properties;
  const names = new Set([...first, ...Object.keys(properties)]);
  return Object.fromEntries([...names].map((name) => [name, properties[name]]));
}

/** A schema that also allows null. */
function orNull(schema: Record<string, unknown>): JsonSchema {
  const { type, enum: values } = schema;
  if (typeof type !== "string" && !Array.isArray(type))
    return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
  const types = [...new Set([...(typeof type === "string" ? [type] : type), "null"])] as unknown[];
  const all = listOf(values);
  return {
    ...schema,
    type: types,
    ...(all !== undefined && !all.includes(null) && { enum: [...all, null] }),
  };
}
