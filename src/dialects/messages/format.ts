import type { Fields, Format } from "../../turn/turn.ts";
import { isFields } from "../../json/json.ts";
import { filledText } from "../shared/loose.ts";
import { shaped } from "../shared/shape.ts";
import { formatSchema, jsonFormatSchema } from "./schema.ts";

/** Reads `output_config.format`. It is always strict and has no name, which others want. */
export function readFormat(raw: unknown, path: string): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const { type } = shaped(formatSchema, raw, path);
  if (type !== "json_schema") return { type: "opaque", dialect: "messages", raw };
  const { schema } = shaped(jsonFormatSchema, raw, path);
  const title = isFields(schema) ? filledText(schema.title) : undefined;
  const name = title?.replaceAll(/[^\w-]/g, "_").slice(0, 64) ?? "answer";
  return { type: "schema", name, schema, strict: true };
}

/** Undefined if this dialect cannot say it; text is what comes unasked. */
export function writeFormat(format: Format): Fields | undefined {
  if (format.type === "schema") return { type: "json_schema", schema: format.schema };
  return format.type === "opaque" && format.dialect === "messages"
    ? (format.raw as Fields)
    : undefined;
}
