/** Reads `response_format`, and writes it as the profile takes it. */

import type { Format } from "../../turn/turn.ts";
import { fieldsOf } from "../shared/loose.ts";
import { shaped } from "../shared/shape.ts";
import { formatSchema, jsonSchemaSchema } from "./schema.ts";

const PATH = "response_format";

/** Null is "not set". */
export function readFormat(raw: unknown): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const format = shaped(formatSchema, raw, PATH);
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object": {
      // Some servers were asked for a schema so before there was a format for it.
      const schema = fieldsOf(format.schema);
      return schema === undefined ? { type: "json" } : { type: "schema", name: "answer", schema };
    }
    case "json_schema": {
      const read = shaped(jsonSchemaSchema, format.json_schema, `${PATH}.json_schema`);
      const { name, description, schema = {}, strict } = read;
      return { type: "schema", name, schema, strict, description };
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
