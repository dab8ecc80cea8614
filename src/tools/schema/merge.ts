import { isOfType, isSchema, typeOfWord } from "../../schema/keywords.ts";
import { isFields } from "../../turn/json.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";

/** A schema of several types as one of a single type: without what speaks of the others. */
export function narrowed(schema: Fields, type: string): Fields {
  const kept = Object.entries(schema).filter(([word]) => {
    const of = typeOfWord.get(word);
    return of === undefined || of === type || (of === "number" && type === "integer");
  });
  const narrow: Record<string, unknown> = { ...Object.fromEntries(kept), type };
  if (Array.isArray(schema.enum))
    narrow.enum = schema.enum.filter((value) => isOfType(value, type));
  return narrow;
}

/**
 * Schemas that must all hold, as one; nothing if no single schema means the same. All
 * at once and not one after the other: each step would copy what the steps
 * before it have gathered.
 */
export function mergeAll(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  if (schemas.includes(false)) return false;
  const objects = schemas.filter((schema) => typeof schema !== "boolean");
  const [only, second] = objects;
  if (second === undefined) return only ?? true;
  return joinAll(objects, joinWord);
}

/** The entries of all, those of one name made one. */
function joinAll(
  objects: readonly Fields[],
  join: (name: string, values: readonly unknown[]) => unknown,
): Fields | undefined {
  const byName = new Map<string, unknown[]>();
  for (const object of objects)
    for (const [name, value] of Object.entries(object)) {
      const values = byName.get(name);
      if (values === undefined) byName.set(name, [value]);
      else values.push(value);
    }
  const joined: [string, unknown][] = [];
  for (const [name, values] of byName) {
    const value = values.length === 1 ? values[0] : join(name, values);
    if (value === undefined) return undefined;
    joined.push([name, value]);
  }
  return Object.fromEntries(joined);
}

function joinWord(word: string, all: readonly unknown[]): unknown {
  const values = [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
  const [first, second] = values;
  if (second === undefined) return first;
  switch (word) {
    case "description":
    case "title":
    case "$schema":
      return first;
    case "required":
      return values.every(Array.isArray) ? [...new Set<unknown>(values.flat())] : undefined;
    case "properties":
      return values.every(isFields) ? joinAll(values, joinSchemas) : undefined;
    case "additionalProperties":
      return joinSchemas(word, values);
    case "type":
      return values.every((type) => type === "number" || type === "integer")
        ? "integer"
        : undefined;
    case "enum":
      return values.every(Array.isArray) ? sharedBy(values) : undefined;
    default:
      return undefined;
  }
}

const joinSchemas = (_: string, values: readonly unknown[]): JsonSchema | undefined =>
  values.every(isSchema) ? mergeAll(values) : undefined;

function sharedBy([first = [], ...others]: readonly (readonly unknown[])[]): readonly unknown[] {
  const sets = others.map((values) => new Set(values));
  return first.filter((value) => sets.every((values) => values.has(value)));
}
