import { z } from "zod";
import type { Fields, Format } from "../../turn/turn.ts";
import { jsonSchema, shaped } from "../shared/shape.ts";
import { given } from "../shared/loose.ts";
import type { Repair } from "../shared/shape.ts";

const anyFormat = z.looseObject({ type: z.string() });
const schemaFormat = z.looseObject({
  name: z.string(),
  schema: jsonSchema,
  strict: z.boolean().nullish(),
  description: z.string().nullish(),
});

/** Reads `text.format`, also with the schema nested as Chat has it. */
export function readFormat(raw: unknown, repair: Repair): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const path = "text.format";
  const format = shaped(anyFormat, raw, path);
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object":
      return { type: "json" };
    case "json_schema": {
      const inner = format.json_schema;
      const isNested = typeof inner === "object" && inner !== null;
      if (isNested) repair(path, "the Responses API does not nest a format");
      const where = isNested ? `${path}.json_schema` : path;
      const read = shaped(schemaFormat, isNested ? inner : format, where);
      const { name, schema, strict, description } = read;
      return { type: "schema", name, schema, ...given({ strict, description }) };
    }
    default:
      return { type: "opaque", dialect: "responses", raw };
  }
}

/** Undefined if this dialect has no form for it. */
export function writeFormat(format: Format): Fields | undefined {
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "schema": {
      const { name, schema, strict, description } = format;
      return { type: "json_schema", name, schema, ...given({ strict, description }) };
    }
    case "opaque":
      return format.dialect === "responses" ? (format.raw as Fields) : undefined;
    default:
      return format satisfies never;
  }
}

/** The format as an answer repeats it: with what was left out. */
export function echoFormat(format: Format | undefined): Fields {
  if (format === undefined) return { type: "text" };
  const written = writeFormat(format) ?? { type: "text" };
  return format.type === "schema" ? { description: null, strict: false, ...written } : written;
}
