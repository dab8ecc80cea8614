import { isSchema, schemasIn } from "../../schema/keywords.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { list, tuple } from "./codec.ts";
import {
  asText,
  limit,
  takes,
  type RewrittenSchema,
  type Within,
  type Rewrite,
} from "./rewrite.ts";

/** Writes the schema of an array in the form that the upstream takes. */
export function writeArray(schema: Fields, writing: Rewrite, within: Within): RewrittenSchema {
  const older = Array.isArray(schema.items);
  const places = schemasIn(older ? schema.items : schema.prefixItems);
  if (places.length > 0) return writeTuple(schema, places, writing, within);
  const { items } = schema;
  if (!isSchema(items)) {
    if (writing.rule.untyped !== false) return { schema: limit(schema, writing), codec: undefined };
    writing.changed = true;
  }
  const node = writing.write(isSchema(items) ? items : true, within);
  return {
    schema: limit({ ...schema, items: node.schema }, writing),
    codec: node.codec === undefined ? undefined : list(node.codec),
  };
}

/** An array whose items differ by position. */
function writeTuple(
  schema: Fields,
  places: readonly JsonSchema[],
  writing: Rewrite,
  within: Within,
): RewrittenSchema {
  const { items, prefixItems, additionalItems, ...own } = schema;
  const older = prefixItems === undefined;
  const rest = older ? additionalItems : items;
  const nodes = places.map((place) => writing.write(place, within));
  const more = isSchema(rest) && rest !== false ? writing.write(rest, within) : undefined;
  const plain = nodes.every(({ codec }) => codec === undefined) && more?.codec === undefined;
  if (writing.rule.tuples !== false) {
    const inner = nodes.map((node) => node.schema);
    const outer = more === undefined ? (rest === undefined ? {} : { rest }) : { rest: more.schema };
    const written = older
      ? { items: inner, ...("rest" in outer ? { additionalItems: outer.rest } : {}) }
      : { prefixItems: inner, ...("rest" in outer ? { items: outer.rest } : {}) };
    const codecs = nodes.map(({ codec }) => codec);
    return {
      schema: limit({ ...own, ...written }, writing),
      codec: plain ? undefined : tuple(codecs, more?.codec),
    };
  }
  const each = distinct([...nodes, ...(more === undefined ? [] : [more])]);
  const [first] = each;
  if (!plain || first === undefined || (each.length > 1 && !takes(writing, "anyOf")))
    return asText(schema, writing, "lists whose items differ by position");
  writing.changed = true;
  writing.describedOnly.add("prefixItems");
  return {
    schema: limit({ ...own, items: each.length === 1 ? first : { anyOf: each } }, writing),
    codec: undefined,
  };
}

function distinct(nodes: readonly RewrittenSchema[]): readonly JsonSchema[] {
  const bySource = new Map(nodes.map(({ schema }) => [JSON.stringify(schema), schema]));
  return [...bySource.values()];
}
