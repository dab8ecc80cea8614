import { isOfType, isSchema, typeOfWord } from "../../schema/parts.ts";
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
  const both: Record<string, unknown> = { ...one };
  for (const [word, value] of Object.entries(other)) {
    const mine = both[word];
    const joined = mine === undefined ? value : joinedWord(word, mine, value);
    if (joined === undefined) return undefined;
    both[word] = joined;
  }
  return both;
}

function joinedWord(word: string, mine: unknown, value: unknown): unknown {
  if (JSON.stringify(mine) === JSON.stringify(value)) return mine;
  switch (word) {
    case "description":
    case "title":
    case "$schema":
      return mine;
    case "required":
      return [...new Set([...(mine as string[]), ...(value as string[])])];
    case "properties":
      return mergedProperties(mine as Fields, value as Fields);
    case "additionalProperties":
      return isSchema(mine) && isSchema(value) ? merged(mine, value) : undefined;
    case "type":
      return [mine, value].every((type) => type === "number" || type === "integer")
        ? "integer"
        : undefined;
    case "enum":
      return (mine as unknown[]).filter((held) => (value as unknown[]).includes(held));
    default:
      return undefined;
  }
}

function mergedProperties(mine: Fields, value: Fields): Fields | undefined {
  const both: Record<string, unknown> = { ...mine };
  for (const [key, schema] of Object.entries(value)) {
    const own = both[key];
    const joined = isSchema(own) && isSchema(schema) ? merged(own, schema) : schema;
    if (joined === undefined) return undefined;
    both[key] = joined;
  }
  return both;
}
