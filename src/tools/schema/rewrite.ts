import type { SchemaRule } from "../../turn/profile.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { jsonText, type Codec } from "./codec.ts";

/** A schema as the upstream is given it, and how values cross over. */
export type RewrittenSchema = { readonly schema: JsonSchema; readonly codec: Codec | undefined };

/** The references a schema was reached through. */
export type Within = ReadonlySet<string>;

/** What a reference leads to; the node is there once it has been written. */
export type Definition = { readonly name: string; node?: RewrittenSchema };

/** One client's schema on its way into another form. */
export type Rewrite = {
  readonly rule: SchemaRule;
  readonly root: JsonSchema;
  /** Whether references count as changing values. */
  readonly follow: boolean;
  readonly targets: Map<string, JsonSchema | undefined>;
  readonly definitions: {
    readonly byRef: Map<string, Definition>;
    readonly byName: Map<string, Definition>;
  };
  readonly reshaped: Set<string>;
  readonly describedOnly: Set<string>;
  /** Whether the schema differs from the client's. */
  changed: boolean;
  /** Whether values differ too. */
  values: boolean;
  /** How many schemas have been written, those behind references counted each time. */
  size: number;
  /** How many may be; known once it matters. */
  most?: number;
  write(schema: JsonSchema, within: Within): RewrittenSchema;
};

export const takes = (writing: Rewrite, word: "anyOf" | "oneOf" | "allOf"): boolean =>
  writing.rule.unions?.includes(word) ?? true;

/** What is the schema's own form; everything else is a constraint or a remark. */
const form = new Set(
  "type properties required items prefixItems enum const anyOf oneOf allOf $ref description nullable".split(
    " ",
  ),
);
/** What tells the model nothing. */
const silent = new Set(
  "$schema $id $comment $anchor $defs definitions title readOnly writeOnly".split(" "),
);

/** For what the upstream's schemas cannot describe: JSON text, with the schema in its description. */
export function asText(schema: Fields, writing: Rewrite, what: string): RewrittenSchema {
  writing.changed = writing.values = true;
  writing.reshaped.add(`${what} as JSON text`);
  const { description, ...rest } = schema as Record<string, unknown>;
  for (const word of silent) delete rest[word];
  const shape = Object.keys(rest).length === 0 ? "" : ` of this schema: ${JSON.stringify(rest)}`;
  return {
    schema: { type: "string", description: describe(description, [`JSON text${shape}`]) },
    codec: jsonText,
  };
}

/** A description with remarks behind it. */
export function describe(description: unknown, remarks: readonly string[]): string {
  const given = typeof description === "string" ? description : "";
  if (remarks.length === 0) return given;
  const remark = `(${remarks.join("; ")})`;
  return given === "" ? remark : `${given} ${remark}`;
}

/** The schema without what the upstream does not take, which its description tells instead. */
export function limit(schema: Fields, writing: Rewrite): Fields {
  let isWhole = true;
  for (const word in schema) if (isRefused(word, schema[word], writing.rule)) isWhole = false;
  if (isWhole) return schema;
  writing.changed = true;
  const kept: [string, unknown][] = [];
  const remarks: string[] = [];
  for (const [word, value] of Object.entries(schema)) {
    if (!isRefused(word, value, writing.rule)) {
      kept.push([word, value]);
      continue;
    }
    if (silent.has(word) || (word === "additionalProperties" && value === false)) continue;
    remarks.push(`${word}: ${JSON.stringify(value)}`);
    writing.describedOnly.add(word);
  }
  if (remarks.length === 0) return Object.fromEntries(kept);
  return { ...Object.fromEntries(kept), description: describe(schema.description, remarks) };
}

function isRefused(word: string, value: unknown, { keywords, formats }: SchemaRule): boolean {
  if (word === "format" && formats !== undefined) return !formats.includes(String(value));
  return keywords !== undefined && !form.has(word) && !keywords.includes(word);
}
