/** Rewrites a client's schema into the part of JSON Schema that an upstream takes. */

import { isFields } from "../../json/json.ts";
import { impliedTypes, requiredIn, resolve, typeOfValue, typesIn } from "../../schema/keywords.ts";
import type { NameRule, SchemaRule } from "../../turn/profile.ts";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { fitsNameRule } from "../names/allocate.ts";
import { apply, jsonText, texts, wrapped, type Codec } from "./codec.ts";
import { follow, writeAll, writeTypes, writeUnion } from "./combine.ts";
import { writeArray, writeObject } from "./object.ts";

/** A client's schema in a form that one upstream takes. */
export type Compiled = {
  readonly schema: JsonSchema;
  /** Undefined if values are the same on both sides. */
  readonly codec: Codec | undefined;
  /** Rewrites that the codec reverses; each a phrase. */
  readonly reshaped: readonly string[];
  /** Constraints that only the description states, because the upstream's schemas have no form for them. */
  readonly describedOnly: readonly string[];
};

/** A rewritten schema, with a codec if values change. */
export type WrittenSchema = { readonly schema: JsonSchema; readonly codec?: Codec | undefined };

/** The references that a schema was reached through. */
export type Within = ReadonlySet<string>;

/** The key of arguments that are not an object themselves. */
const VALUE = "value";

export function compileSchema(schema: JsonSchema, given: SchemaRule): Compiled {
  const mustCopy = given.refs === "bare" && recurs(schema);
  const rule = {
    ...given,
    ...(mustCopy && { refs: false }),
    ...(given.keys !== undefined && haveKeys(schema, given.keys) && { keys: undefined }),
  };
  // The first pass assumes that no reference changes values. If any value
  // changes, a reference may lead to it, so the second pass gives each a codec.
  let writer = new SchemaWriter(schema, rule, false);
  let node = writer.writeRoot();
  if (writer.changesValues) {
    writer = new SchemaWriter(schema, rule, true);
    node = writer.writeRoot();
  }
  return {
    schema: writer.changed ? writer.withDefinitions(node.schema) : schema,
    codec: writer.changesValues ? node.codec : undefined,
    reshaped: [...writer.reshaped],
    describedOnly: [...writer.describedOnly],
  };
}

/** A definition that references lead to; its node is set once it has been written. */
type Definition = { readonly name: string; node?: WrittenSchema };

/** Keywords that give a schema its form; all others are constraints or remarks. */
const structural = wordSet(
  "type properties required items prefixItems enum const anyOf oneOf allOf $ref description nullable",
);
/** Keywords that mean nothing to a model. */
const silent = wordSet("$schema $id $comment $anchor $defs definitions title readOnly writeOnly");

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/**
 * A schema may be written as 2,000 parts, or as twice its own parts if that is
 * more. Definitions that are copied to where they are used, and alternatives that
 * are repeated for several types, can grow beyond what a model reads.
 */
const MAX_PARTS = 2000;
const MAX_GROWTH = 2;

export class SchemaWriter {
  readonly rule: SchemaRule;
  readonly root: JsonSchema;
  readonly reshaped = new Set<string>();
  readonly describedOnly = new Set<string>();
  /** True if the written schema differs from the client's. */
  changed = false;
  /** True if values differ too. */
  changesValues = false;
  /** The schema of the arguments themselves. */
  top: JsonSchema | undefined;
  /** True if references get codecs. */
  readonly #followsRefs: boolean;
  readonly #byRef = new Map<string, Definition>();
  readonly #byName = new Map<string, Definition>();
  #parts = 0;
  #mostParts: number | undefined;

  constructor(root: JsonSchema, rule: SchemaRule, followsRefs: boolean) {
    this.root = root;
    this.rule = rule;
    this.#followsRefs = followsRefs;
  }

  /** Writes the schema as the parameters of a function. */
  writeRoot(): WrittenSchema {
    const { root } = this;
    const { anyRoot = !isNeverObject(root) } = this.rule;
    if (anyRoot) return this.write(root, new Set(["#"]));
    const target = withProperties(this.#withoutConditions(follow(root, root) ?? root));
    if (target !== root) this.changed = true;
    this.top = target;
    const node = this.write(target, new Set(["#"]));
    if (isPlainObject(node.schema)) return node;
    this.reshape(`arguments that are not a plain object as \`${VALUE}\``);
    return {
      schema: { type: "object", properties: { [VALUE]: node.schema }, required: [VALUE] },
      codec: wrapped(VALUE, node.codec),
    };
  }

  /** Writes one schema. `within`: the references it was reached through. */
  write(schema: JsonSchema, within: Within): WrittenSchema {
    if (typeof schema === "boolean") return this.#writeUntyped(schema);
    if (++this.#parts > MAX_PARTS) {
      this.#mostParts ??= MAX_GROWTH * countParts(this.root);
      if (this.#parts > this.#mostParts)
        return this.asText(schema, "schemas that are too large to expand");
    }
    if (typeof schema.$ref === "string") return this.#writeRef(schema, schema.$ref, within);
    if (Array.isArray(schema.allOf)) return writeAll(schema, this, within);
    if (Array.isArray(schema.anyOf)) return writeUnion(schema, "anyOf", this, within);
    if (Array.isArray(schema.oneOf)) return writeUnion(schema, "oneOf", this, within);
    if (Array.isArray(schema.enum) || "const" in schema) return this.#writeValues(schema);
    const types = typesIn(schema);
    if (types.length > 1) return writeTypes(schema, types, this, within);
    if (types[0] !== undefined) return this.#writeTyped(schema, types[0], within);
    const [implied, ...more] = impliedTypes(schema);
    if (implied === undefined || more.length > 0) return this.#writeUntyped(schema);
    if (this.rule.untyped !== false) return this.#writeTyped(schema, implied, within);
    this.changed = true;
    return this.#writeTyped({ ...schema, type: implied }, implied, within);
  }

  takes(word: "anyOf" | "oneOf" | "allOf"): boolean {
    return this.rule.unions?.includes(word) ?? true;
  }

  /** True if an object may look different to the upstream. */
  reshapesObjects(): boolean {
    const { maps, optional, keys } = this.rule;
    return maps === false || optional === false || keys !== undefined;
  }

  /** Notes a rewrite that the codec reverses. */
  reshape(phrase: string): void {
    this.changed = this.changesValues = true;
    this.reshaped.add(phrase);
  }

  /** Notes a constraint that only the description states. */
  describeOnly(word: string): void {
    this.changed = true;
    this.describedOnly.add(word);
  }

  /** Sends a value as JSON text, with its schema in the description. */
  asText(schema: Fields, what: string): WrittenSchema {
    this.reshape(`${what} as JSON text`);
    const { description, ...rest } = schema as Record<string, unknown>;
    for (const word of silent) delete rest[word];
    const shape = Object.keys(rest).length === 0 ? "" : ` of this schema: ${JSON.stringify(rest)}`;
    return {
      schema: { type: "string", description: describe(description, [`JSON text${shape}`]) },
      codec: jsonText,
    };
  }

  /** Moves keywords that the upstream does not take into the description. */
  limit(schema: Fields): Fields {
    const entries = Object.entries(schema);
    const kept: [string, unknown][] = [];
    const remarks: string[] = [];
    for (const [word, value] of entries) {
      if (!this.#isRefused(word, value)) kept.push([word, value]);
      else if (!silent.has(word) && !(word === "additionalProperties" && value === false)) {
        remarks.push(`${word}: ${JSON.stringify(value)}`);
        this.describedOnly.add(word);
      }
    }
    if (kept.length === entries.length) return schema;
    this.changed = true;
    const limited = Object.fromEntries(kept);
    if (remarks.length > 0) limited.description = describe(schema.description, remarks);
    return limited;
  }

  /** The schema that a written reference leads to, if it is written yet. */
  followWritten(schema: JsonSchema): JsonSchema {
    if (!isFields(schema) || typeof schema.$ref !== "string") return schema;
    return this.#byName.get(schema.$ref.slice("#/$defs/".length))?.node?.schema ?? true;
  }

  withDefinitions(schema: JsonSchema): JsonSchema {
    if (!isFields(schema)) return schema;
    const { $defs: _, definitions: __, ...rest } = schema as Record<string, unknown>;
    if (this.#byRef.size === 0) return rest;
    const written = [...this.#byRef.values()].map(({ name, node }) => [name, node?.schema ?? {}]);
    return { ...rest, $defs: Object.fromEntries(written) as Fields };
  }

  #isRefused(word: string, value: unknown): boolean {
    const { keywords, formats } = this.rule;
    if (word === "format" && formats !== undefined) return !formats.includes(String(value));
    return keywords !== undefined && !structural.has(word) && !keywords.includes(word);
  }

  #writeTyped(schema: Fields, type: string, within: Within): WrittenSchema {
    if (type === "object") return writeObject(schema, this, within);
    if (type === "array") return writeArray(schema, this, within);
    return { schema: this.limit(schema) };
  }

  #writeUntyped(schema: JsonSchema): WrittenSchema {
    const isBoolean = typeof schema === "boolean";
    if (this.rule.untyped === false)
      return this.asText(isBoolean ? {} : schema, "values of any type");
    return { schema: isBoolean ? schema : this.limit(schema) };
  }

  /** Writes a list of values: an `enum`, or a `const`, which is an `enum` of one. */
  #writeValues(schema: Fields): WrittenSchema {
    const { consts, typeLists, untyped, mixedEnums } = this.rule;
    const isConst = "const" in schema;
    const values = isConst ? [schema.const] : (schema.enum as readonly unknown[]);
    const { const: _, enum: __, type, ...rest } = schema as Record<string, unknown>;
    if (mixedEnums === false && !values.every(isFilledText))
      return this.#writeAsTexts(rest, schema, values);

    const written: Record<string, unknown> =
      isConst && consts !== false ? { const: values[0], ...rest } : { enum: values, ...rest };
    if (isConst && consts === false) this.changed = true;
    const [oneType, another] = new Set(values.map(typeOfValue));
    const hasOneType = oneType !== undefined && another === undefined;
    if (typeLists === false && Array.isArray(type)) {
      this.changed = true;
      if (hasOneType) written.type = oneType;
    } else if (type !== undefined) written.type = type;
    else if (untyped === false && hasOneType) {
      this.changed = true;
      written.type = oneType;
    }
    if (written.type === undefined && untyped === false)
      return this.asText(schema, "values of several types");
    return { schema: this.limit(written) };
  }

  #writeAsTexts(rest: Fields, schema: Fields, values: readonly unknown[]): WrittenSchema {
    const words = values.map((one) => (isFilledText(one) ? one : JSON.stringify(one)));
    if (new Set(words).size < words.length) return this.asText(schema, "values of several types");
    this.reshape("values that are not text as text");
    return {
      schema: this.limit({ type: "string", enum: words, ...rest }),
      codec: texts(values, words),
    };
  }

  #writeRef(schema: Fields, ref: string, within: Within): WrittenSchema {
    const target = resolve(this.root, ref);
    const { $ref: _, ...siblings } = schema as Record<string, unknown>;
    const { refs } = this.rule;
    const isBare = Object.keys(siblings).every((word) => besideRef.has(word));
    if (refs === "bare" && target !== undefined && (isBare || within.has(ref))) {
      if (!isBare || !/^#\/\$defs\/\w+$/.test(ref)) this.changed = true;
      return this.#writeDefinition(isBare ? siblings : {}, ref, target);
    }
    if (refs !== false && refs !== "bare")
      return target === undefined ? { schema } : this.#writeDefinition(siblings, ref, target);
    if (target === undefined || within.has(ref))
      return this.asText(siblings, target === undefined ? `the target of ${ref}` : "recursion");
    this.changed = true;
    const merged =
      typeof target === "boolean" || Object.keys(siblings).length === 0
        ? target
        : { ...target, ...siblings };
    return this.write(merged, new Set(within).add(ref));
  }

  /** Keeps a reference, and writes its target among the definitions. */
  #writeDefinition(siblings: Fields, ref: string, target: JsonSchema): WrittenSchema {
    let definition = this.#byRef.get(ref);
    if (definition === undefined) {
      let name = (ref.split("/").at(-1) ?? "").replaceAll(/\W/g, "_") || "root";
      while (this.#byName.has(name)) name += "_";
      definition = { name };
      this.#byRef.set(ref, definition);
      this.#byName.set(name, definition);
      definition.node = this.write(target, new Set());
    }
    const found = definition;
    const codec: Codec = {
      encode: (value) => apply(found.node?.codec, "encode", value),
      decode: (value) => apply(found.node?.codec, "decode", value),
    };
    const kept = { ...siblings, $ref: `#/$defs/${found.name}` };
    return { schema: kept, codec: this.#followsRefs ? codec : undefined };
  }

  /** Moves conditions that only require one or another key of an object into its description. */
  #withoutConditions(schema: JsonSchema): JsonSchema {
    if (!isFields(schema) || !isFields(schema.properties)) return schema;
    const conditions = UNIONS.filter((word) => word in schema);
    const isSimple = conditions.every((word) => [schema[word]].flat().every(onlyRequires));
    if (conditions.length === 0 || !isSimple) return schema;
    const plain: Record<string, unknown> = { ...schema };
    const words: string[] = [];
    for (const word of conditions) {
      words.push(`${word}: ${JSON.stringify(plain[word])}`);
      delete plain[word];
      this.describeOnly(`${word} at the top`);
    }
    return { ...plain, description: describe(schema.description, words) };
  }
}

/** Upstreams whose enums hold only texts refuse an empty one. */
const isFilledText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The remarks that an upstream which takes only bare references takes beside them. */
const besideRef = wordSet("description default");

/** True if a schema leads back to itself without an optional property on the way. */
function recurs(root: JsonSchema): boolean {
  const starts = new Set<unknown>([root]);
  const done = new Set<string>();
  const visit = (schema: unknown, within: Within): boolean => {
    if (!isFields(schema)) return false;
    const { $ref: ref, properties, items, additionalProperties: rest } = schema;
    if (typeof ref === "string" && !done.has(ref)) {
      if (within.has(ref) || visit(resolve(root, ref), new Set(within).add(ref))) return true;
      done.add(ref);
    }
    const needed = new Set(requiredIn(schema));
    for (const [key, one] of Object.entries(isFields(properties) ? properties : {}))
      if (!needed.has(key)) starts.add(one);
      else if (visit(one, within)) return true;
    const { anyOf, oneOf, allOf, prefixItems } = schema;
    return [anyOf, oneOf, allOf, prefixItems, items, rest].flat().some((one) => visit(one, within));
  };
  // Iteration includes the members that are added on the way.
  for (const start of starts) if (visit(start, new Set())) return true;
  return false;
}

/** A description followed by remarks. */
export function describe(description: unknown, remarks: readonly string[]): string {
  const given = typeof description === "string" ? description : "";
  if (remarks.length === 0) return given;
  const remark = `(${remarks.join("; ")})`;
  return given === "" ? remark : `${given} ${remark}`;
}

/** The number of objects in a schema, itself included. */
/** True if the names of all properties in a schema are as a rule wants them. */
function haveKeys(schema: unknown, rule: NameRule): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { properties } = schema as Fields;
  const names = isFields(properties) ? Object.keys(properties) : [];
  return (
    rule.reserved === undefined &&
    names.every((name) => fitsNameRule(name, rule)) &&
    Object.values(schema).every((inner) => haveKeys(inner, rule))
  );
}

function countParts(schema: unknown): number {
  if (typeof schema !== "object" || schema === null) return 0;
  let parts = Array.isArray(schema) ? 0 : 1;
  for (const inner of Object.values(schema)) parts += countParts(inner);
  return parts;
}

/** True if no object fits the schema. Every API wants an object as arguments. */
export function isNeverObject(schema: JsonSchema): boolean {
  const types = isFields(schema) ? typesIn(schema) : [];
  return types.length > 0 && !types.includes("object");
}

/** Parameters `{"type":"object"}` mean no parameters, rather than any; a schema with properties is an object. */
function withProperties(schema: JsonSchema): JsonSchema {
  if (schema === true) return { type: "object", properties: {} };
  if (!isFields(schema)) return schema;
  const { type = "object" } = schema;
  if (schema.type === undefined && isFields(schema.properties)) return { ...schema, type };
  if (type !== "object" || !Object.keys(schema).every((word) => isRemark.has(word))) return schema;
  return { ...schema, type, properties: {} };
}
const isRemark = wordSet("type description $schema");

const UNIONS = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];

const onlyRequires = (branch: unknown): boolean =>
  isFields(branch) && Object.keys(branch).every((word) => word === "required");

const isPlainObject = (schema: JsonSchema): boolean =>
  isFields(schema) &&
  schema.type === "object" &&
  !("enum" in schema) &&
  UNIONS.every((word) => !(word in schema));
