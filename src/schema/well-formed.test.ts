import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wellFormed } from "./well-formed.ts";

const mended = (schema: object): object => wellFormed(schema).schema;

describe("a schema for who reads draft 2020-12", () => {
  it("is the very same where it is valid", () => {
    const schema = { type: "object", properties: { a: { type: ["string", "null"] } }, x: 1 };
    expect(wellFormed(schema)).toEqual({ schema, mended: [] });
    expect(wellFormed(schema).schema).toBe(schema);
  });

  it("has the words of older drafts in their new form", () => {
    expect(mended({ items: [{ type: "string" }], additionalItems: { type: "null" } })).toEqual({
      prefixItems: [{ type: "string" }],
      items: { type: "null" },
      additionalItems: { type: "null" },
    });
    expect(mended({ minimum: 2, exclusiveMinimum: true, exclusiveMaximum: false })).toEqual({
      minimum: 2,
      exclusiveMinimum: 2,
    });
    expect(mended({ properties: { a: { required: true }, b: { required: false } } })).toEqual({
      properties: { a: {}, b: {} },
      required: ["a"],
    });
  });

  it("leaves out what no draft has, and says which words it was", () => {
    const schema = { type: ["text", "string"], anyOf: [], minLength: "2", required: "a" };
    expect(wellFormed(schema)).toEqual({
      schema: { type: ["string"] },
      mended: ["type", "anyOf", "minLength", "required"],
    });
    expect(mended({ type: "text", properties: null })).toEqual({});
  });

  it("keeps values that only look like schemas", () => {
    const schema = { default: { type: 7 }, enum: [{ required: true }], const: { items: [] } };
    expect(wellFormed(schema).schema).toBe(schema);
  });

  it("is valid by the draft's own schema, whatever it was", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
    const words = `type items required properties anyOf enum minimum exclusiveMinimum minLength format
      description additionalProperties $ref $defs definitions not pattern multipleOf uniqueItems
      dependencies dependentRequired propertyNames contains title examples $comment $anchor`;
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<unknown>("string", "text", true, false, 0, -1, 1.5, null, "", [], {}),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...words.split(/\s+/)), tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    const schemas = fc.dictionary(fc.constantFrom(...words.split(/\s+/)), value, { maxKeys: 5 });
    fc.assert(
      fc.property(schemas, (schema) => {
        expect(ajv.validateSchema(wellFormed(schema).schema) || ajv.errorsText()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
