import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { exampleOf, type ValueSource } from "./example.ts";

const judge = new Ajv2020({ strict: false, validateFormats: false });
const silent: ValueSource = { values: () => [], isMentioned: () => false };
const few = fc.integer({ min: 0, max: 4 });

const leaf: fc.Arbitrary<Fields> = fc.oneof(
  fc
    .tuple(few, few)
    .map(([least, more]) => ({ type: "string", minLength: least, maxLength: least + more })),
  fc
    .constantFrom("date", "date-time", "email", "uri", "uuid", "ipv4", "time")
    .map((format) => ({ type: "string", format })),
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), few)
    .map(([low, more]) => ({ type: "integer", minimum: low, maximum: low + more })),
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }))
    .map(([low, step]) => ({ type: "integer", exclusiveMinimum: low, multipleOf: step })),
  fc
    .integer({ min: -9, max: 9 })
    .map((low) => ({ type: "number", exclusiveMinimum: low, exclusiveMaximum: low + 0.5 })),
  fc.constantFrom<Fields>(
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"], maxLength: 3 },
    { enum: ["celsius", "fahrenheit", null, 3] },
    { const: { deep: [1] } },
    {},
  ),
);

/** Schemas of the kinds that tools are declared with. */
const { schema } = fc.letrec<{ schema: Fields; object: Fields }>((tie) => ({
  object: fc
    .tuple(
      fc.dictionary(fc.constantFrom("city", "unit", "days", "id", "length"), tie("schema"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.constantFrom<Fields>({}, { additionalProperties: false }),
    )
    .map(([properties, flags, more]) =>
      Object.assign(
        { type: "object", properties },
        { required: Object.keys(properties).filter((_, at) => flags[at]) },
        more,
      ),
    ),
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    tie("object"),
    fc.tuple(tie("schema"), few, few).map(([items, least, more]) => ({
      type: "array",
      items,
      minItems: least,
      maxItems: least + more,
    })),
    fc
      .constantFrom({ type: "string" }, { type: "integer", minimum: 5 })
      .chain((items) =>
        few.map((least) => ({ type: "array", items, minItems: least, uniqueItems: true })),
      ),
    fc
      .array(tie("schema"), { minLength: 1, maxLength: 3 })
      .map((prefixItems) => ({ type: "array", prefixItems, minItems: prefixItems.length })),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.tuple(tie("schema"), tie("schema")).map(([a, b]) => ({
      allOf: [
        { type: "object", properties: { a }, required: ["a"] },
        { properties: { b }, required: ["b"] },
      ],
    })),
    fc.constantFrom<Fields>({ $ref: "#/$defs/list" }, { $ref: "#/$defs/tree" }),
  ),
}));
const $defs: Fields = {
  list: {
    type: "object",
    properties: {
      value: { type: "integer" },
      next: { anyOf: [{ $ref: "#/$defs/list" }, { type: "null" }] },
    },
    required: ["value", "next"],
    additionalProperties: false,
  },
  tree: {
    type: "object",
    properties: { children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    required: ["children"],
  },
};

describe("an example of a schema", () => {
  it("satisfies it: types, enumerations, limits, formats, nesting, alternatives, references", () => {
    fc.assert(
      fc.property(schema, (inner) => {
        const whole = { ...inner, $defs };
        const value = exampleOf(whole, silent);
        if (judge.validate(whole, value)) return;
        expect.fail(`${JSON.stringify(value)}: ${judge.errorsText()}`);
      }),
      { numRuns: 500 },
    );
  });

  it("takes what the source has where it fits and makes up the rest", () => {
    const source: ValueSource = {
      values: (name) =>
        ({ city: ["Paris"], days: [undefined, 99, 3], code: ["x", "ABC"] })[name] ?? [],
      isMentioned: (name) => name === "days",
    };
    const properties = {
      city: { type: "string" },
      days: { type: "integer", maximum: 7 },
      unit: { enum: ["C", "F"] },
      note: { type: "string" },
      code: { type: "string", pattern: "^[A-Z]+$" },
    };
    const required = ["city", "unit", "code"];
    expect(exampleOf({ type: "object", properties, required }, source)).toEqual({
      city: "Paris",
      days: 3,
      unit: "C",
      code: "ABC",
    });
  });

  it("comes of schemas without end, and of those that nothing satisfies", () => {
    const endless = { type: "object", properties: { next: { $ref: "#" } }, required: ["next"] };
    const double = { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] };
    const wide = { type: "array", minItems: 1e9, items: { type: "string", minLength: 1e9 } };
    const schemas: JsonSchema[] = [
      { $ref: "#" },
      false,
      endless,
      { $ref: "#/$defs/a", $defs: { a: double } },
      { type: "integer", minimum: 3, maximum: 2 },
      { ...wide, items: { ...wide, items: wide } },
    ];
    for (const one of schemas) expect(exampleOf(one, silent)).toBeDefined();
  });

  it("takes work in proportion to the properties of a schema", () => {
    const readsOf = (count: number): number => {
      let reads = 0;
      const counted = (fields: Fields): Fields =>
        new Proxy(fields, {
          get: (target, key) => (reads++, Reflect.get(target, key)),
          has: (target, key) => (reads++, Reflect.has(target, key)),
          getOwnPropertyDescriptor: (target, key) => (
            reads++,
            Reflect.getOwnPropertyDescriptor(target, key)
          ),
        });
      const names = Array.from({ length: count }, (_, at) => `property ${at}`);
      const part = { type: "string", maxLength: 9 };
      const properties = counted(Object.fromEntries(names.map((name) => [name, counted(part)])));
      const source: ValueSource = {
        values: () => (reads++, ["word"]),
        isMentioned: () => (reads++, true),
      };
      exampleOf(counted({ type: "object", properties, required: names }), source);
      return reads;
    };
    expect(readsOf(2000) / readsOf(1000)).toBeLessThan(2.1);
  });
});
