import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fields, JsonSchema } from "../../turn/turn.ts";
import { exampleOf, type Hints } from "./example.ts";
import { matching } from "./pattern.ts";
import { fits } from "./schema.ts";

const judge = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
const silent: Hints = { values: () => [], wanted: () => false };
const made = (schema: JsonSchema, hints = silent): unknown => exampleOf(schema, hints)?.value;

const few = fc.integer({ min: 0, max: 4 });
const name = fc.constantFrom("city", "unit", "days", "id", "tags", "note", "x-y", "length");

const text = fc.oneof(
  fc
    .tuple(few, few)
    .map(([least, more]) => ({ type: "string", minLength: least, maxLength: least + more })),
  fc
    .constantFrom("date", "date-time", "email", "uri", "uuid", "ipv4", "time")
    .map((format) => ({ type: "string", format })),
  fc
    .constantFrom(
      "^[A-Z]{3}$",
      "^\\d{4}-\\d{2}$",
      "^(on|off)$",
      "^[a-z]+(_[a-z]+)*$",
      "^#[0-9a-f]{6}$",
      "x+y?z*",
      "^v\\d+\\.\\d+$",
      "^[^aeiou\\s]{2,5}$",
      "^\\p{Lu}\\p{L}+$",
    )
    .map((pattern) => ({ type: "string", pattern })),
);
const number = fc.oneof(
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), few)
    .map(([low, more]) => ({ type: "integer", minimum: low, maximum: low + more })),
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }))
    .map(([low, step]) => ({ type: "integer", exclusiveMinimum: low, multipleOf: step })),
  fc
    .double({ min: -9, max: 9, noNaN: true })
    .map((low) => ({ type: "number", exclusiveMinimum: low, exclusiveMaximum: low + 0.5 })),
  fc.integer({ min: -9, max: 9 }).map((high) => ({ type: "number", maximum: high })),
);
const leaf: fc.Arbitrary<Fields> = fc.oneof(
  text,
  number,
  fc.constantFrom<Fields>(
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"], maxLength: 3 },
    { enum: ["celsius", "fahrenheit", null, 3] },
    { const: { deep: [1] } },
    {},
    { not: { type: "string" } },
  ),
);

/** Schemas that something satisfies, of every kind that tools are declared with. */
const { schema } = fc.letrec<{ schema: Fields; object: Fields }>((tie) => ({
  object: fc
    .tuple(
      fc.dictionary(name, tie("schema"), { maxKeys: 4, noNullPrototype: true }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.constantFrom<Fields>(
        {},
        { additionalProperties: false },
        { additionalProperties: { type: "number" }, minProperties: 2 },
      ),
    )
    .map(([properties, flags, more]) =>
      Object.assign(
        {
          type: "object",
          properties,
          required: Object.keys(properties).filter((_, at) => flags[at]),
        },
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
    fc.array(tie("object"), { minLength: 1, maxLength: 3 }).map((objects) => ({
      oneOf: objects.map((one, at) => ({
        type: "object",
        properties: { ...(one["properties"] as Fields), kind: { const: at } },
        required: [...(one["required"] as string[]), "kind"],
      })),
    })),
    fc.tuple(tie("schema"), tie("schema")).map(([a, b]) => ({
      allOf: [
        { type: "object", properties: { a }, required: ["a"] },
        { properties: { b }, required: ["b"], minProperties: 2 },
      ],
    })),
    fc.constantFrom<Fields>(
      { $ref: "#/$defs/list" },
      { $ref: "#/$defs/tree" },
      { $ref: "#/$defs/any~1thing" },
    ),
    tie("schema").map(
      (inner) =>
        JSON.parse(
          `{"if":{"type":"object"},"then":{"type":"object","properties":{"inner":${JSON.stringify(inner)}},"required":["inner"]}}`,
        ) as Fields,
    ),
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
    properties: {
      name: { type: "string" },
      children: { type: "array", items: { $ref: "#/$defs/tree" } },
    },
    required: ["name", "children"],
  },
  "any/thing": { type: ["number", "null"] },
};

/** Numbers of a size that validators agree on. */
const value = fc
  .jsonValue({ maxDepth: 2 })
  .map(
    (any) =>
      JSON.parse(JSON.stringify(any), (_, one: unknown) =>
        typeof one === "number" ? Math.round(one % 100) / 2 : one,
      ) as unknown,
  );

describe("an example of a schema", () => {
  it("satisfies any schema that can be satisfied", () => {
    fc.assert(
      fc.property(schema, (inner) => {
        const whole = { ...inner, $defs };
        const found = exampleOf(whole, silent);
        expect(found).toBeDefined();
        if (judge.validate(whole, found?.value)) return;
        expect.fail(`${JSON.stringify(found?.value)}: ${judge.errorsText()}`);
      }),
      { numRuns: 300 },
    );
  });

  it("judges values as a real validator does", () => {
    fc.assert(
      fc.property(schema, value, (inner, value) => {
        const known = { ...inner, $defs };
        if (JSON.stringify(inner).includes('"format"')) return;
        expect(fits(known, value, known)).toBe(judge.validate(known, value));
      }),
      { numRuns: 300 },
    );
  });

  it("is found though most of what is tried at each of many places does not do", () => {
    const four = (items: Fields): Fields => ({ type: "array", items, minItems: 4, maxItems: 4 });
    const list = four(four({ not: { type: "string" } }));
    expect(judge.validate(list, made(list))).toBe(true);
  });

  it("takes hints where they fit and makes up the rest", () => {
    const hints: Hints = {
      values: (asked, _, order) =>
        ({ city: ["Paris"], days: [99, 3], a: [[2, 4][order]], b: [[2, 4][order]] })[asked] ?? [],
      wanted: (asked) => asked === "days",
    };
    expect(
      made(
        {
          type: "object",
          properties: {
            city: { type: "string" },
            days: { type: "integer", maximum: 7 },
            unit: { enum: ["C", "F"] },
            note: { type: "string" },
          },
          required: ["city", "unit"],
        },
        hints,
      ),
    ).toEqual({ city: "Paris", days: 3, unit: "C" });
    const numbers = {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    };
    expect(made(numbers, hints)).toEqual({ a: 2, b: 4 });
  });

  it("ends on schemas that refer to themselves, and on those that nothing satisfies", () => {
    expect(made({ $ref: "#" })).toBeDefined();
    expect(exampleOf({ anyOf: [{ $ref: "#" }] }, silent)).toBe(undefined);
    expect(exampleOf(false, silent)).toBe(undefined);
    const endless = { type: "object", properties: { next: { $ref: "#" } }, required: ["next"] };
    expect(exampleOf(endless, silent)).toBe(undefined);
    expect(exampleOf({ type: "integer", minimum: 3, maximum: 2 }, silent)).toBe(undefined);
  });

  it("ends on what takes more looks, or more room, than anybody has", () => {
    const double = { allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] };
    const twice = { $ref: "#/$defs/a", $defs: { a: double } };
    expect(exampleOf(twice, silent)).toBe(undefined);
    expect(fits(twice, {}, twice)).toBe(false);
    expect(fits({ not: twice }, {}, { not: twice, ...twice })).toBe(false);
    expect(exampleOf({ type: "string", minLength: 1e9 }, silent)).toBe(undefined);
  });

  it("knows the older spellings too", () => {
    expect(
      made({ type: "number", minimum: 3, exclusiveMinimum: true, maximum: 3.5 }),
    ).toBeGreaterThan(3);
    expect(
      made({ type: "array", items: [{ type: "boolean" }], additionalItems: false, minItems: 1 }),
    ).toEqual([true]);
    expect(made({ $ref: "#/definitions/a", definitions: { a: { const: 1 } } })).toBe(1);
    expect(fits({ type: "string", nullable: true }, null, true)).toBe(true);
  });
});

it("finds texts for simple patterns", () => {
  const patterns = [
    "^[A-Z]{2}\\d{3,}$",
    "^(?:foo|bar)-\\w+$",
    "^\\+?[1-9]\\d{1,14}$",
    "^[a-f0-9]{40}$",
    "^(?=.*x)x\\.y$",
    "^\\u0041\\x42$",
    "^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$",
  ];
  for (const pattern of patterns) {
    const shape = new RegExp(pattern, "u");
    expect([...matching(pattern)]).toContainEqual(expect.stringMatching(shape));
  }
});
