/** Fields of chat requests that are both read and written: the format, and unknown fields. */

import type { Extra, Fields, Format } from "../../turn/turn.ts";
import { fieldsOf } from "../shared/loose.ts";
import {
  fieldsAt,
  filledTextAt,
  jsonSchema,
  optionalFlagAt,
  optionalTextAt,
  shaped,
} from "../shared/shape.ts";

const PATH = "response_format";

/** Reads `response_format`. */
export function readFormat(raw: unknown): Format {
  const format = fieldsAt(raw, PATH, 'an object such as {"type":"json_object"}');
  switch (filledTextAt(format.type, `${PATH}.type`)) {
    case "text":
      return { type: "text" };
    case "json_object": {
      // Some servers took a schema here before there was a format for it.
      const schema = fieldsOf(format.schema);
      return schema === undefined ? { type: "json" } : { type: "schema", name: "answer", schema };
    }
    case "json_schema": {
      const path = `${PATH}.json_schema`;
      const read = fieldsAt(format.json_schema, path, "an object with `name` and `schema`");
      return {
        type: "schema",
        name: filledTextAt(read.name, `${path}.name`),
        schema: shaped(jsonSchema.nullish(), read.schema, `${path}.schema`) ?? {},
        strict: optionalFlagAt(read.strict, `${path}.strict`),
        description: optionalTextAt(read.description, `${path}.description`),
      };
    }
    default:
      return { type: "opaque", dialect: "chat", raw };
  }
}

/** Undefined if this dialect has no form for it. */
export function writeFormat(format: Format): unknown {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "schema": {
      const { name, schema, strict, description } = format;
      return { type: "json_schema", json_schema: { name, description, schema, strict } };
    }
    case "opaque":
      return format.dialect === "chat" ? format.raw : undefined;
    default:
      return format satisfies never;
  }
}

type WithExtra = { readonly extra?: Extra };

const noExtra: WithExtra = {};

/**
 * The unknown fields of an object, and those of one object in it. Null is how clients say "not set".
 */
export function chatExtra(
  fields: Fields,
  known: readonly string[],
  inner?: string,
  innerKnown: readonly string[] = [],
): WithExtra {
  let found = unknownFields(fields, known);
  const more = inner === undefined ? undefined : fieldsOf(fields[inner]);
  if (inner !== undefined && more !== undefined) {
    const unknown = unknownFields(more, innerKnown);
    if (unknown !== undefined) found = { ...found, [inner]: unknown };
  }
  return found === undefined ? noExtra : { extra: { dialect: "chat", fields: found } };
}

function unknownFields(fields: Fields, known: readonly string[]): Fields | undefined {
  let found: [string, unknown][] | undefined;
  for (const key in fields)
    if (fields[key] != null && !known.includes(key)) (found ??= []).push([key, fields[key]]);
  return found && Object.fromEntries(found);
}

/** The fields to give back to chat, if they came from it. */
export const ownChatExtra = (extra: Extra | undefined): Fields =>
  extra?.dialect === "chat" ? extra.fields : {};

/** True if the client declares `functions` in place of tools, and so expects calls as `function_call`. */
export const declaresFunctions = ({ tools, functions }: Fields): boolean =>
  Array.isArray(functions) && functions.length > 0 && tools == null;
