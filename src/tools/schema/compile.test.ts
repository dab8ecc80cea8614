import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SchemaRule } from "../../turn/profile.ts";
import type { JsonSchema } from "../../turn/turn.ts";
import { compileSchema } from "./compile.ts";
import { jsonForm } from "./codec.ts";
import { cpuTime } from "../../../test/support/cpu-time.ts";

/** A profile like those of strict structured output: closed objects, everything required. */
const strict: SchemaRule = {
  unions: ["anyOf"],
  anyRoot: false,
  maps: false,
  optional: false,
  untyped: false,
  tuples: false,
};
/** The narrowest that any upstream is known to be, and more. */
const narrow: SchemaRule = {
  refs: false,
  unions: [],
  anyRoot: false,
  maps: false,
  typeLists: false,
  untyped: false,
  tuples: false,
  consts: false,
  mixedEnums: false,
  keywords: ["nullable"],
  formats: [],
  keys: { chars: "A-Za-z0-9_", max: 16 },
};
const rules: Record<string, SchemaRule> = {
  free: {},
  strict,
  narrow,
  "narrow and strict": { ...narrow, optional: false },
  "without references": { refs: false, anyRoot: false },
  "bare references": { refs: "bare", anyRoot: false },
  "with keys of its own": { keys: { chars: "a-z_", max: 8 } },
  "maps only": { maps: false },
};

const roundTrip = (schema: JsonSchema, rule: SchemaRule, value: unknown): unknown => {
  const { codec } = compileSchema(schema, rule);
  if (codec === undefined) return value;
  const sent: unknown = JSON.parse(JSON.stringify(codec.encode(value)));
  return codec.decode(sent);
};

/** A schema with a value of it. */
type Sample = { schema: JsonSchema; value: unknown };
const key = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constantFrom("a", "b", "key"));

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.string().map((value): Sample => ({ schema: { type: "string", minLength: 0 }, value })),
    fc.integer().map((value): Sample => ({ schema: { type: "integer" }, value })),
    fc.constant<Sample>({ schema: { type: ["string", "null"] }, value: null }),
    fc
      .jsonValue()
      .map((value): Sample => ({ schema: true, value: JSON.parse(JSON.stringify(value)) })),
    fc
      .jsonValue()
      .map((value): Sample => ({ schema: {}, value: JSON.parse(JSON.stringify(value)) })),
    fc
      .tuple(
        fc.uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1 }),
        fc.nat(),
      )
      .map(([values, at]): Sample => ({
        schema: { enum: values },
        value: values[at % values.length],
      })),
    fc.string().map((value): Sample => ({ schema: { const: value }, value })),
    fc.array(tie("sample"), { maxLength: 1 }).map((samples): Sample => ({
      schema: { type: "array", items: samples[0]?.schema ?? true },
      value: samples.map(({ value }) => value),
    })),
    fc.array(tie("sample"), { minLength: 1, maxLength: 3 }).map((samples): Sample => ({
      schema: { type: "array", prefixItems: samples.map(({ schema }) => schema) },
      value: samples.map(({ value }) => value),
    })),
    fc
      .array(fc.tuple(key, tie("sample"), fc.constantFrom("required", "given", "absent")), {
        maxLength: 4,
      })
      .map((entries): Sample => {
        const fields = new Map(entries.map(([name, inner, how]) => [name, { inner, how }]));
        return {
          schema: {
            type: "object",
            properties: Object.fromEntries(
              [...fields].map(([name, { inner }]) => [name, inner.schema]),
            ),
            required: [...fields].filter(([, { how }]) => how === "required").map(([name]) => name),
            additionalProperties: false,
          },
          value: Object.fromEntries(
            [...fields]
              .filter(([, { how }]) => how !== "absent")
              .map(([name, { inner }]) => [name, inner.value]),
          ),
        };
      }),
    fc.tuple(tie("sample"), fc.uniqueArray(key)).map(([inner, keys]): Sample => ({
      schema: { type: "object", additionalProperties: inner.schema },
      value: Object.fromEntries(keys.map((name) => [name, inner.value])),
    })),
    fc
      .tuple(tie("sample"), tie("sample"), fc.constantFrom("anyOf", "oneOf"))
      .map(([one, other, word]): Sample => ({
        schema: { [word]: [one.schema, other.schema] },
        value: other.value,
      })),
    tie("sample").map((inner): Sample => ({
      schema: { allOf: [inner.schema] },
      value: inner.value,
    })),
  ),
}));

/** Parameters of any kind at all are how some clients say that there are none. */
const isAsked = ({ schema }: Sample): boolean =>
  typeof schema === "object" && Object.keys(schema).length > 0;

/** What a rule forbids and a schema holds all the same. */
function strays(schema: unknown, rule: SchemaRule): string[] {
  const found: string[] = [];
  const walk = (at: unknown): void => {
    if (typeof at === "boolean") {
      if (rule.untyped === false) found.push("boolean");
      return;
    }
    if (typeof at !== "object" || at === null) return;
    const node = at as Record<string, unknown>;
    for (const word of ["anyOf", "oneOf", "allOf"] as const)
      if (word in node && rule.unions?.includes(word) === false) found.push(word);
    if ("$ref" in node && rule.refs === false) found.push("$ref");
    if ("const" in node && rule.consts === false) found.push("const");
    if ("prefixItems" in node && rule.tuples === false) found.push("prefixItems");
    if (Array.isArray(node.type) && rule.typeLists === false) found.push("type list");
    const isTyped = ["type", "anyOf", "oneOf", "allOf", "$ref"].some((word) => word in node);
    if (rule.untyped === false && !isTyped) found.push("untyped");
    if (rule.mixedEnums === false && Array.isArray(node.enum))
      if (node.enum.some((value) => typeof value !== "string")) found.push("enum");
    if (rule.maps === false && typeof node.additionalProperties === "object") found.push("map");
    const properties = (node.properties ?? {}) as Record<string, unknown>;
    for (const name of Object.keys(properties)) {
      if (rule.optional === false && !(node.required as string[]).includes(name))
        found.push("optional");
      if (rule.keys !== undefined && !/^[A-Za-z0-9_]{1,16}$/.test(name)) found.push("key");
    }
    for (const inner of Object.values(properties)) walk(inner);
    for (const word of ["anyOf", "oneOf", "allOf", "prefixItems"])
      if (Array.isArray(node[word])) (node[word] as unknown[]).forEach(walk);
    for (const word of ["items", "additionalProperties"])
      if (typeof node[word] === "object") walk(node[word]);
  };
  walk(schema);
  return found;
}

describe("compileSchema", () => {
  for (const [name, rule] of Object.entries(rules))
    it(`gives values of any schema back as they were (${name})`, () => {
      fc.assert(
        fc.property(sample, ({ schema, value }) => {
          expect(roundTrip(schema, rule, value)).toEqual(value);
        }),
        { numRuns: 100 },
      );
    });

  for (const [name, rule] of Object.entries(rules))
    it(`stays within the rule, and what it sends is valid there (${name})`, () => {
      const ajv = new Ajv2020({ strict: false });
      fc.assert(
        fc.property(sample.filter(isAsked), ({ schema, value }) => {
          const compiled = compileSchema(schema, rule);
          expect(strays(compiled.schema, rule)).toEqual([]);
          const sent = compiled.codec === undefined ? value : compiled.codec.encode(value);
          const nullable = JSON.stringify(compiled.schema).includes("nullable");
          fc.pre(
            !nullable && !compiled.describedOnly.includes("null") && ajv.validate(schema, value),
          );
          expect(ajv.validate(compiled.schema, sent)).toBe(true);
        }),
        { numRuns: 100 },
      );
    });

  it("leaves alternatives alone whose property names the upstream accepts", () => {
    const named = (type: string) => ({
      type: "object",
      properties: { type: { const: type }, reason: { type: "string" } },
      required: ["type"],
    });
    const limits = [{ pattern: "^[^\\n]*$" }, { pattern: "^.{0,300}$" }];
    const schema = {
      type: "object",
      properties: {
        to: { type: "string", allOf: limits },
        message: { anyOf: [{ type: "string" }, { anyOf: [named("start"), named("stop")] }] },
      },
    };
    const keys = { chars: "A-Za-z0-9_.-", max: 64 };
    const compiled = compileSchema(schema, { anyRoot: false, keys });
    expect(compiled.schema).toBe(schema);
    expect(compiled.codec).toBeUndefined();
  });

  it("sends objects that are alternatives as JSON text where their values change", () => {
    const named = (type: string) => ({
      type: "object",
      properties: { type: { const: type }, env: { additionalProperties: { type: "string" } } },
      required: ["type"],
    });
    const schema = {
      type: "object",
      properties: { message: { anyOf: [named("start"), named("stop")] } },
    };
    const { schema: sent, codec, reshaped } = compileSchema(schema, { maps: false });
    expect(sent).toMatchObject({ properties: { message: { type: "string" } } });
    expect(reshaped).toContain("alternatives that look alike as JSON text");
    const message = { type: "stop", env: { A: "1" } };
    expect(codec?.decode(codec.encode({ message }))).toEqual({ message });
    expect(codec?.encode({ message })).toEqual({ message: JSON.stringify(message) });
  });

  it("describes limits of a text that must all hold, if one schema cannot have them", () => {
    const allOf = [{ pattern: "^[^\\n]*$" }, { pattern: "^.{0,300}$" }];
    const schema = { type: "object", properties: { to: { type: "string", allOf } } };
    const compiled = compileSchema(schema, { anyRoot: false, unions: ["anyOf"] });
    expect(compiled.schema).toEqual({
      type: "object",
      properties: { to: { type: "string", description: `(allOf: ${JSON.stringify(allOf)})` } },
    });
    expect(compiled.codec).toBeUndefined();
    expect(compiled.describedOnly).toEqual(["allOf"]);
  });

  it("leaves a schema alone that the rule allows, references and all", () => {
    const schema = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" } },
      $defs: { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } },
    };
    const compiled = compileSchema(schema, { anyRoot: false, unions: ["anyOf"] });
    expect(compiled.schema).toBe(schema);
    expect(compiled.codec).toBeUndefined();
  });

  it("writes definitions out, and says as text what contains itself", () => {
    const schema = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" } },
      $defs: {
        tree: {
          type: "object",
          properties: { next: { $ref: "#/$defs/tree", description: "More." } },
        },
      },
    };
    const compiled = compileSchema(schema, { refs: false });
    expect(compiled.schema).toEqual({
      type: "object",
      properties: {
        tree: {
          type: "object",
          properties: { next: { type: "string", description: "More. (JSON text)" } },
        },
      },
    });
    expect(compiled.reshaped).toEqual(["recursion as JSON text"]);
    const value = { tree: { next: { next: { next: {} } } } };
    expect(compiled.codec?.encode(value)).toEqual({ tree: { next: '{"next":{"next":{}}}' } });
    expect(roundTrip(schema, { refs: false }, value)).toEqual(value);
  });

  it("follows references to what changes, where it keeps them", () => {
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/definitions/env" }, b: { $ref: "#/definitions/env" } },
      definitions: { env: { type: "object", additionalProperties: { type: "string" } } },
    };
    const compiled = compileSchema(schema, { maps: false });
    expect(compiled.schema).toMatchObject({
      properties: { a: { $ref: "#/$defs/env" }, b: { $ref: "#/$defs/env" } },
      $defs: { env: { type: "array" } },
    });
    const value = { a: { X: "1" }, b: {} };
    expect(compiled.codec?.encode(value)).toEqual({ a: [{ key: "X", value: "1" }], b: [] });
    expect(roundTrip(schema, { maps: false }, value)).toEqual(value);
  });

  it.each(["allOf", "anyOf"])("is soon done with references that double, in %s", (word) => {
    const to = (at: number): JsonSchema => ({ $ref: `#/$defs/d${at}` });
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`d${at}`, { [word]: [to(at + 1), to(at + 1)] }]),
    );
    const schema = { type: "object", properties: { a: to(0) }, $defs: { ...$defs, d40: {} } };
    for (const rule of Object.values(rules))
      expect(compileSchema(schema, rule).schema).toHaveProperty("properties.a");
  });

  it.each(Object.keys(rules))(
    "is soon done with thousands of branches, under the rule %s",
    (name) => {
      const property = (at: number): JsonSchema => ({
        properties: { [`p${at}`]: { const: at } },
        required: [`p${at}`],
      });
      const large = (count: number, word: string): JsonSchema => ({
        type: "object",
        [word]: Array.from({ length: count }, (_, at) => property(at)),
      });
      const links = Array.from({ length: 2_000 }, (_, at) => ({ $ref: `#/$defs/d${at}` }));
      const $defs = Object.fromEntries(links.map((_, at) => [`d${at}`, property(at)]));
      const started = cpuTime();
      for (const word of ["allOf", "anyOf", "oneOf"])
        compileSchema(large(4_000, word), rules[name] ?? {});
      compileSchema({ type: "object", anyOf: links, $defs }, rules[name] ?? {});
      compileSchema({ type: "object", allOf: links, $defs }, rules[name] ?? {});
      expect(cpuTime() - started).toBeLessThan(4_000);
    },
  );

  it("wraps arguments that are no plain object", () => {
    const schema = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] };
    const { schema: sent, codec } = compileSchema(schema, { anyRoot: false });
    expect(sent).toEqual({ type: "object", properties: { value: schema }, required: ["value"] });
    expect(codec?.decode({ value: ["a"] })).toEqual(["a"]);
    // A model that was not impressed by the wrapping is understood all the same.
    expect(codec?.decode(["a"])).toEqual(["a"]);
  });

  it.each([
    [{ type: "array", items: { type: "string" } }, ["a"]],
    [{ type: ["string", "null"] }, null],
  ])("wraps arguments that can be no object, whatever the upstream takes: %j", (schema, value) => {
    const { schema: sent, codec } = compileSchema(schema, {});
    expect(sent).toEqual({ type: "object", properties: { value: schema }, required: ["value"] });
    expect(codec?.decode({ value })).toEqual(value);
    expect(compileSchema(schema, { anyRoot: true }).schema).toBe(schema);
  });

  it("takes parameters with properties for an object", () => {
    const properties = { city: { type: "string" } };
    const compiled = compileSchema({ properties, required: ["city"] }, { anyRoot: false });
    expect(compiled.schema).toEqual({ type: "object", properties, required: ["city"] });
    expect(compiled.codec).toBeUndefined();
  });

  it("tells a condition on top of an object, and keeps the object", () => {
    const schema = {
      type: "object",
      properties: { id: { type: "string" }, name: { type: "string" } },
      anyOf: [{ required: ["id"] }, { required: ["name"] }],
    };
    const compiled = compileSchema(schema, { anyRoot: false });
    expect(compiled.schema).toEqual({
      type: "object",
      properties: schema.properties,
      description: '(anyOf: [{"required":["id"]},{"required":["name"]}])',
    });
    expect(compiled.codec).toBeUndefined();
    expect(compiled.describedOnly).toEqual(["anyOf at the top"]);
  });

  it("takes parameters of any kind for none, and keeps them an object", () => {
    const none = { type: "object", properties: {} };
    expect(compileSchema({}, strict).schema).toMatchObject(none);
    expect(compileSchema(true, strict).schema).toMatchObject(none);
    expect(compileSchema({ type: "object" }, strict).schema).toMatchObject(none);
  });

  it("asks for optional properties as null, and leaves null out again", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { enum: ["x"] }, c: { type: ["string", "null"] } },
      required: ["a"],
    };
    const { schema: sent, codec } = compileSchema(schema, strict);
    expect(sent).toMatchObject({ required: ["a", "b", "c"], additionalProperties: false });
    expect(codec?.decode({ a: "1", b: null, c: [] })).toEqual({ a: "1" });
    expect(codec?.decode({ a: "1", b: "x", c: [null] })).toEqual({ a: "1", b: "x", c: null });
  });

  it("keeps numbers as they are written, where what stands beside them changes", () => {
    const rule: SchemaRule = { maps: false, unions: ["anyOf"], untyped: false };
    const schema = {
      type: "object",
      properties: {
        id: { type: "integer" },
        tags: { type: "object", additionalProperties: { type: "number" } },
        any: {},
        one: {
          anyOf: [{ type: "number" }, { type: "object", additionalProperties: { type: "string" } }],
        },
      },
    };
    const { codec } = compileSchema(schema, rule);
    if (codec === undefined) throw new Error("nothing is rewritten");
    const form = jsonForm(codec);
    const text =
      '{"id":12345678901234567890,"tags":{"a":1.0,"b":-0},"any":{"x":9007199254740993},"one":1e400}';
    const encoded = form.encode(text);
    expect(encoded).toContain('"id":12345678901234567890');
    expect(encoded).toContain('[{"key":"a","value":1.0},{"key":"b","value":-0}]');
    const decoder = form.decoder();
    expect(decoder.each(encoded) + decoder.end(true)).toBe(text);
  });

  it("keeps numbers that are listed, as the texts an upstream takes", () => {
    const { schema, codec } = compileSchema({ enum: [1, 2, "auto"] }, { mixedEnums: false });
    expect(schema).toEqual({ type: "string", enum: ["1", "2", "auto"] });
    expect(codec?.decode("2")).toBe(2);
    expect(codec?.decode("auto")).toBe("auto");
  });
});

describe("arguments in a form of their own", () => {
  it.each([
    ["a schema that refers to nothing but itself", { $ref: "#" }, '{"a":1}'],
    [
      "values nested deeper than anybody can follow",
      { type: "object", properties: { a: { $ref: "#" } } },
      '{"a":'.repeat(20_000) + "1" + "}".repeat(20_000),
    ],
  ])("are left as they are for %s", (_, schema, text) => {
    for (const rule of Object.values(rules)) {
      const { codec } = compileSchema(schema, rule);
      if (codec === undefined) continue;
      const form = jsonForm(codec);
      const decoder = form.decoder();
      const back = decoder.each(form.encode(text)) + decoder.end(true);
      expect(back === text || JSON.stringify(JSON.parse(back)) === text).toBe(true);
    }
  });
});

describe("schemas that say odd things", () => {
  const odd: Record<string, JsonSchema> = {
    "lists that are none": {
      type: "object",
      required: null,
      allOf: [{ required: ["a"] }, { properties: [] }, { properties: { a: {} } }, { enum: 5 }],
    },
    "alternatives that are the whole": {
      type: "object",
      properties: { a: { oneOf: [{ $ref: "#" }, { $ref: "#/properties/a" }], type: "object" } },
    },
    "an anchor": { type: "object", properties: { a: { $ref: "#nowhere" } } },
    "a reference to itself": { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } },
  };

  it.each(Object.entries(odd))("can be written for any upstream: %s", (_, schema) => {
    for (const rule of Object.values(rules))
      expect(JSON.stringify(compileSchema(schema, rule).schema).length).toBeLessThan(2000);
  });

  it("keep a property of any name where two schemas are made one", () => {
    const named = (type: string): JsonSchema =>
      JSON.parse(`{"type":"object","properties":{"__proto__":{"type":"${type}"}}}`) as JsonSchema;
    const { schema } = compileSchema({ allOf: [named("number"), named("integer")] }, strict);
    expect(JSON.stringify(schema)).toContain('"properties":{"__proto__":');
  });
});

describe("a schema for an upstream that takes only bare references", () => {
  const rule: SchemaRule = { refs: "bare", anyRoot: false };
  const node = (required: readonly string[]): JsonSchema => ({
    type: "object",
    properties: { tree: { $ref: "#/definitions/node" } },
    definitions: {
      node: {
        type: "object",
        properties: { name: { type: "string" }, nodes: { $ref: "#/definitions/list" } },
        required,
      },
      list: { type: "array", items: { $ref: "#/definitions/node" } },
    },
  });

  it("has its definitions under `$defs`", () => {
    const { schema, codec } = compileSchema(node([]), rule);
    expect(schema).toMatchObject({
      properties: { tree: { $ref: "#/$defs/node" } },
      $defs: { node: {}, list: { items: { $ref: "#/$defs/node" } } },
    });
    expect(schema).not.toHaveProperty("definitions");
    expect(codec).toBeUndefined();
  });

  it("is kept if its references are bare", () => {
    const properties = { at: { $ref: "#/$defs/at", description: "Where" } };
    const bare = { type: "object", properties, $defs: { at: { type: "string" } } };
    expect(compileSchema(bare, rule).schema).toBe(bare);
  });

  it("has the target of a reference that has constraints beside it", () => {
    const properties = { at: { $ref: "#/$defs/at", maxLength: 2 } };
    const loaded = { type: "object", properties, $defs: { at: { type: "string" } } };
    expect(compileSchema(loaded, rule).schema).toMatchObject({
      properties: { at: { type: "string", maxLength: 2 } },
    });
  });

  it("has a cycle of required properties as JSON text", () => {
    const value = { tree: { name: "a", nodes: [{ name: "b", nodes: [] }] } };
    const { schema, codec } = compileSchema(node(["nodes"]), rule);
    expect(JSON.stringify(schema)).not.toContain('{"$ref"');
    expect(codec?.decode(codec.encode(value))).toEqual(value);
  });
});
