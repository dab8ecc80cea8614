import { isFields } from "../turn/json.ts";
import type { Fields } from "../turn/turn.ts";

/** What is no schema, whatever it looks like. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "default"]);
/** What has schemas by names of anybody's choosing. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);

/** A copy of a schema in which every part was given to `change`, the inner ones first. */
export function rebuilt<S>(schema: S, change: (part: Fields) => Fields): S;
export function rebuilt(schema: unknown, change: (part: Fields) => Fields): unknown {
  const inner = (value: unknown): unknown => rebuilt(value, change);
  if (Array.isArray(schema)) return schema.map(inner);
  if (!isFields(schema)) return schema;
  return change(
    mapped(schema, (value, key) => {
      if (DATA.has(key)) return value;
      return NAMED.has(key) && isFields(value) ? mapped(value, inner) : inner(value);
    }),
  );
}

const mapped = (fields: Fields, each: (value: unknown, key: string) => unknown): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, each(value, key)]));
