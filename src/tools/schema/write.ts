import { impliedTypes, resolve, typesIn } from "../../schema/keywords.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { apply, type Codec } from "./codec.ts";
import { writeAll, writeTypes, writeUnion } from "./combine.ts";
import { writeArray } from "./array.ts";
import { writeObject } from "./object.ts";
import { writeValues } from "./values.ts";
import { asText, limit, type RewrittenSchema, type Within, type Rewrite } from "./rewrite.ts";

/**
 * A schema is written as so many parts, or as twice as many as it has itself.
 * Definitions that are written out where they are used, and alternatives that
 * are written for each of several types, can come to more than any model reads.
 */
const LARGEST = 2000;
const GROWTH = 2;

/** Writes one schema in the form the rule allows. */
export function writeSchema(schema: JsonSchema, writing: Rewrite, within: Within): RewrittenSchema {
  if (typeof schema === "boolean") return writeOpen(schema, writing);
  if (++writing.size > LARGEST && writing.size > (writing.most ??= GROWTH * partsIn(writing.root)))
    return asText(schema, writing, "what is too large to write out");
  if (typeof schema.$ref === "string") return writeRef(schema, schema.$ref, writing, within);
  if (Array.isArray(schema.allOf)) return writeAll(schema, writing, within);
  if (Array.isArray(schema.anyOf)) return writeUnion(schema, "anyOf", writing, within);
  if (Array.isArray(schema.oneOf)) return writeUnion(schema, "oneOf", writing, within);
  if (Array.isArray(schema.enum) || "const" in schema) return writeValues(schema, writing);

  const types = typesIn(schema);
  if (types.length > 1) return writeTypes(schema, types, writing, within);
  if (types[0] !== undefined) return writeTyped(schema, types[0], writing, within);
  const [implied, ...more] = impliedTypes(schema);
  if (implied === undefined || more.length > 0) return writeOpen(schema, writing);
  if (writing.rule.untyped !== false) return writeTyped(schema, implied, writing, within);
  writing.changed = true;
  return writeTyped({ ...schema, type: implied }, implied, writing, within);
}

/** How many parts a schema has: itself and all objects in it. */
function partsIn(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return 0;
  let parts = Array.isArray(schema) ? 0 : 1;
  for (const inner of Object.values(schema)) parts += partsIn(inner);
  return parts;
}

function writeTyped(
  schema: Fields,
  type: string,
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  if (type === "object") return writeObject(schema, writing, within);
  if (type === "array") return writeArray(schema, writing, within);
  return { schema: limit(schema, writing), codec: undefined };
}

/** A schema that leaves the type open. */
function writeOpen(schema: JsonSchema, writing: Rewrite): RewrittenSchema {
  const fields = typeof schema === "boolean" ? {} : schema;
  if (writing.rule.untyped === false) return asText(fields, writing, "values of any type");
  return {
    schema: typeof schema === "boolean" ? schema : limit(schema, writing),
    codec: undefined,
  };
}

function writeRef(schema: Fields, ref: string, writing: Rewrite, within: Within): RewrittenSchema {
  const target = targetOf(ref, writing);
  const { $ref: _, ...siblings } = schema as Record<string, unknown>;
  if (writing.rule.refs !== false)
    return target === undefined
      ? { schema, codec: undefined }
      : writeDefinition(siblings, ref, target, writing);
  if (target === undefined || within.has(ref))
    return asText(siblings, writing, target === undefined ? `what ${ref} refers to` : "recursion");
  writing.changed = true;
  const isBare = typeof target === "boolean" || Object.keys(siblings).length === 0;
  return writing.write(isBare ? target : { ...target, ...siblings }, new Set(within).add(ref));
}

/** What a reference leads to; most schemas refer to a few things many times. */
function targetOf(ref: string, { root, targets }: Rewrite): JsonSchema | undefined {
  if (!targets.has(ref)) targets.set(ref, resolve(root, ref));
  return targets.get(ref);
}

/** Keeps a reference, and what it refers to among the definitions. */
function writeDefinition(
  siblings: Fields,
  ref: string,
  target: JsonSchema,
  writing: Rewrite,
): RewrittenSchema {
  const { byRef, byName } = writing.definitions;
  let found = byRef.get(ref);
  if (found === undefined) {
    let name = (ref.split("/").at(-1) ?? "").replaceAll(/\W/g, "_") || "root";
    while (byName.has(name)) name += "_";
    found = { name };
    byRef.set(ref, found);
    byName.set(name, found);
    found.node = writing.write(target, new Set());
  }
  const definition = found;
  const codec: Codec = {
    encode: (value) => apply(definition.node?.codec, "encode", value),
    decode: (value) => apply(definition.node?.codec, "decode", value),
  };
  const kept = `#/$defs/${definition.name}`;
  return { schema: { ...siblings, $ref: kept }, codec: writing.follow ? codec : undefined };
}
