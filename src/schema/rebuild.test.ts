import { expect, it } from "vitest";
import { rebuilt } from "./keywords.ts";

it("gives every part of a schema to be changed, and no name and no data", () => {
  const schema = {
    properties: { const: { minimum: 1 }, properties: { items: [{ minimum: 2 }, true] } },
    const: { minimum: 3 },
    enum: [{ minimum: 4 }],
    anyOf: [{ minimum: 5 }],
  };
  expect(rebuilt(schema, (part) => ({ ...part, seen: true }))).toEqual({
    properties: {
      const: { minimum: 1, seen: true },
      properties: { items: [{ minimum: 2, seen: true }, true], seen: true },
    },
    const: { minimum: 3 },
    enum: [{ minimum: 4 }],
    anyOf: [{ minimum: 5, seen: true }],
    seen: true,
  });
  expect(rebuilt(true, () => ({}))).toBe(true);
});
