import { describe, expect, it } from "vitest";
import { anthropic } from "../../profiles/anthropic.ts";
import type { StrictRule } from "../../turn/profile.ts";
import { strictForm } from "./strict.ts";

const rule = anthropic.strictSchema as StrictRule;
const closed = {
  type: "object",
  properties: { a: { type: "string" } },
  additionalProperties: false,
};

describe("a schema that answers are held to", () => {
  it("is the very same where it fits", () => {
    expect(strictForm(closed, rule)).toEqual({ schema: closed, loosened: [] });
    expect(strictForm(closed, rule)?.schema).toBe(closed);
  });

  it("has every object closed", () => {
    const inner = { type: "object", properties: { b: {} } };
    expect(strictForm({ type: "object", properties: { inner } }, rule)).toEqual({
      schema: {
        type: "object",
        properties: { inner: { ...inner, additionalProperties: false } },
        additionalProperties: false,
      },
      loosened: [],
    });
  });

  it("says which limits it was sent without", () => {
    const item = { type: "string", maxLength: 3, format: "regex" };
    const list = { type: "array", minItems: 4, items: item };
    expect(strictForm({ ...closed, properties: { list, n: { oneOf: [item] } } }, rule)).toEqual({
      schema: {
        ...closed,
        properties: {
          list: { type: "array", minItems: 1, items: { type: "string" } },
          n: { anyOf: [{ type: "string" }] },
        },
      },
      loosened: ["maxLength", "format", "minItems", "oneOf"],
    });
  });

  it.each([
    ["refers to itself", { ...closed, properties: { next: { $ref: "#" } } }],
    ["refers to nothing", { ...closed, properties: { next: { $ref: "#/$defs/none" } } }],
    ["is any object", { type: "object" }],
    ["has keys of any name", { type: "object", additionalProperties: { type: "string" } }],
    ["is no schema but a truth", true],
  ])("is none where it %s", (_, schema) => {
    expect(strictForm(schema, rule)).toBeUndefined();
  });
});
