import { expect, it } from "vitest";
import { withoutWild } from "./wild.ts";

it("takes wild patterns out of a schema, wherever they stand, and nothing else", () => {
  const schema = {
    type: "object",
    properties: {
      pattern: { type: "string", pattern: "^(a+)+$", minLength: 2 },
      slug: { pattern: "^[a-z]+(-[a-z]+)*$" },
    },
    patternProperties: { "^(a|a)*$": { type: "number" }, "^x": { items: [{ pattern: "(b*)*" }] } },
    anyOf: [{ pattern: "(b*)*" }, true],
  };
  expect(withoutWild(schema)).toEqual({
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 2 },
      slug: { pattern: "^[a-z]+(-[a-z]+)*$" },
    },
    patternProperties: { "^x": { items: [{}] } },
    anyOf: [{}, true],
  });
  expect(withoutWild(true)).toBe(true);
});
