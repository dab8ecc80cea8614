import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { schemaAt } from "./shape.ts";

/** A schema of so many objects, one in the other. */
const nested = (levels: number): object =>
  Array.from({ length: levels - 1 }).reduce<object>((inner) => ({ not: inner }), {});

const read = (value: unknown): unknown => {
  try {
    return schemaAt(value, "schema");
  } catch (error) {
    return error instanceof Fault ? error.message : error;
  }
};

describe("a JSON Schema from a client", () => {
  it("is an object, or true or false, and is taken as it is", () => {
    const schema = { type: "object", properties: {} };
    expect(read(schema)).toBe(schema);
    expect(read(false)).toBe(false);
    for (const value of [null, 5, "x", []])
      expect(read(value)).toBe("`schema` must be a JSON Schema: an object.");
  });

  it("is nested as deep as anybody could mean, and not without end", () => {
    expect(read(nested(512))).toBeTypeOf("object");
    expect(read(nested(513))).toBe("`schema` must not be nested deeper than 512 levels.");
    expect(read(nested(100_000))).toBe("`schema` must not be nested deeper than 512 levels.");
  });
});
