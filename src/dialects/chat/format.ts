import type { Decision } from "../../turn/decision.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Format } from "../../turn/turn.ts";
import { shaped } from "../shape.ts";
import { formatSchema, jsonSchemaSchema } from "./schema.ts";

const PATH = "response_format";

/** Null is "not set". */
export function readFormat(raw: unknown): Format | undefined {
  if (raw === undefined || raw === null) return undefined;
  const format = shaped(formatSchema, raw, PATH);
  switch (format.type) {
    case "text":
      return { type: "text" };
    case "json_object":
      return { type: "json" };
    case "json_schema": {
      const said = shaped(jsonSchemaSchema, format.json_schema, `${PATH}.json_schema`);
      const { name, description, schema = {}, strict } = said;
      return { type: "schema", name, schema, strict, description };
    }
    default:
      return { type: "opaque", dialect: "chat", raw };
  }
}

type WrittenFormat = { readonly field?: unknown; readonly decision?: Decision };

/** An upstream that cannot keep to a schema is at least asked for JSON. `path` is the client's word. */
export function writeFormat(
  format: Format,
  { formats, name: profile }: Profile,
  path: string,
): WrittenFormat {
  switch (format.type) {
    case "text":
      return {};
    case "schema": {
      const { name, schema, strict, description } = format;
      if (formats.includes("schema"))
        return {
          field: { type: "json_schema", json_schema: { name, description, schema, strict } },
        };
      const reason = `the ${profile} profile cannot keep to a schema; it is asked for JSON`;
      return formats.includes("json")
        ? { field: { type: "json_object" }, decision: { path, action: "changed", reason } }
        : dropped(path, `the ${profile} profile cannot keep to a schema`);
    }
    case "json":
      return formats.includes("json")
        ? { field: { type: "json_object" } }
        : dropped(path, `the ${profile} profile has no JSON mode`);
    case "opaque":
      return format.dialect === "chat"
        ? { field: format.raw }
        : dropped(path, `chat has no such format as this one of the ${format.dialect} dialect`);
    default:
      return format satisfies never;
  }
}

const dropped = (path: string, reason: string): WrittenFormat => ({
  decision: { path, action: "dropped", reason },
});
