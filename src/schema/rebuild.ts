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

/**
 * A schema in which every part was given to `change`, the inner ones first. What
 * does not change is not copied, the whole schema neither.
 */
export function rebuilt<S>(schema: S, change: (part: Fields) => Fields): S;
export function rebuilt(schema: unknown, change: (part: Fields) => Fields): unknown {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return listed(value, inner);
    return isFields(value) ? change(mapped(value, member)) : value;
  };
  const member = (value: unknown, key: string): unknown => {
    if (typeof value !== "object" || DATA.has(key)) return value;
    return NAMED.has(key) && isFields(value) ? mapped(value, inner) : inner(value);
  };
  return inner(schema);
}

function listed(list: readonly unknown[], each: (value: unknown) => unknown): readonly unknown[] {
  let made: unknown[] | undefined;
  for (const [at, value] of list.entries()) {
    const changed = each(value);
    if (changed !== value) (made ??= [...list])[at] = changed;
  }
  return made ?? list;
}

function mapped(fields: Fields, each: (value: unknown, key: string) => unknown): Fields {
  let made: Map<string, unknown> | undefined;
  for (const key in fields) {
    const value = fields[key];
    const changed = each(value, key);
    if (changed !== value) (made ??= new Map(Object.entries(fields))).set(key, changed);
  }
  return made === undefined ? fields : Object.fromEntries(made);
}
