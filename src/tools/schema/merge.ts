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

/** Two schemas that must both hold, as one; nothing if that cannot be said in one. */
export function merged(one: JsonSchema, other: JsonSchema): JsonSchema | undefined {
  if (typeof one === "boolean") return one ? other : false;
  if (typeof other === "boolean") return other ? one : false;
  return joined(one, other, joinedWord);
}

/** The entries of both, those of one name made one. */
function joined(
  one: Fields,
  other: Fields,
  join: (name: string, mine: unknown, value: unknown) => unknown,
): Fields | undefined {
  const both = new Map(Object.entries(one));
  for (const [name, value] of Object.entries(other)) {
    const held = both.has(name) ? join(name, both.get(name), value) : value;
    if (held === undefined) return undefined;
    both.set(name, held);
  }
  return Object.fromEntries(both);
}

function joinedWord(word: string, mine: unknown, value: unknown): unknown {
  if (JSON.stringify(mine) === JSON.stringify(value)) return mine;
  switch (word) {
    case "description":
    case "title":
    case "$schema":
      return mine;
    case "required":
      return Array.isArray(mine) && Array.isArray(value)
        ? [...new Set<unknown>([...mine, ...value])]
        : undefined;
    case "properties":
      return isFields(mine) && isFields(value) ? joined(mine, value, joinedProperty) : undefined;
    case "additionalProperties":
      return joinedProperty(word, mine, value);
    case "type":
      return [mine, value].every((type) => type === "number" || type === "integer")
        ? "integer"
        : undefined;
    case "enum":
      return Array.isArray(mine) && Array.isArray(value)
        ? mine.filter((held) => value.includes(held))
        : undefined;
    default:
      return undefined;
  }
}

const joinedProperty = (_: string, mine: unknown, value: unknown): JsonSchema | undefined =>
  isSchema(mine) && isSchema(value) ? merged(mine, value) : undefined;
