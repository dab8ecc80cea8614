import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../turn/turn.ts";
import { isStrict } from "./strict.ts";

const text = { type: "string" };
const object = (properties: object, more: object = {}): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

describe("a schema", () => {
  it.each<[string, JsonSchema]>([
    [
      "has all of its properties and no others",
      object({ a: text, b: { type: ["string", "null"] } }),
    ],
    [
      "is so inside as well",
      object({ a: object({ b: text }), c: { type: "array", items: object({}) } }),
    ],
    ["refers to such", object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: object({ b: text }) } })],
    ["refers to itself", object({ a: { anyOf: [{ $ref: "#" }, { type: "null" }] } })],
    ["names its values", object({ a: { ...text, enum: ["x", "y"], description: "An a." } })],
    ["has properties with the names of rules", object({ not: text, properties: text })],
  ])("can be kept to strictly that %s", (_, schema) => {
    expect(isStrict(schema)).toBe(true);
  });

  it.each<[string, JsonSchema]>([
    ["is none", true],
    ["is of anything", {}],
    ["is no object", text],
    ["leaves a property out", object({ a: text, b: text }, { required: ["a"] })],
    ["is open", object({ a: text }, { additionalProperties: undefined })],
    ["is open inside", object({ a: { type: "object", properties: {} } })],
    ["is garbled", object({ a: text }, { properties: null, required: 3 })],
    ["is open in a list", object({ a: { type: "array", items: { type: "object" } } })],
    [
      "is open elsewhere",
      object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { type: "object" } } }),
    ],
    ["has a part of anything", object({ a: { description: "An a." } })],
    ["names its values and no type", object({ a: { enum: ["x", "y"] } })],
    [
      "says more where it refers to another",
      object({ a: { $ref: "#/$defs/a", description: "An a." } }, { $defs: { a: text } }),
    ],
    ["has rules that not everybody knows", object({ a: text }, { patternProperties: {} })],
  ])("cannot be kept to strictly that %s", (_, schema) => {
    expect(isStrict(schema)).toBe(false);
  });
});
