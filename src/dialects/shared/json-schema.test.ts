import { describe, expect, it } from "vitest";
import { jsonSchema } from "./shape.ts";

/** A schema of so many objects, one in the other. */
const nested = (levels: number): object =>
  Array.from({ length: levels - 1 }).reduce<object>((inner) => ({ not: inner }), {});

const complaint = (value: unknown): string | undefined =>
  jsonSchema.safeParse(value).error?.issues[0]?.message;

describe("a JSON Schema from a client", () => {
  it("is an object, or true or false, and is taken as it is", () => {
    const schema = { type: "object", properties: {} };
    expect(jsonSchema.parse(schema)).toBe(schema);
    expect(jsonSchema.parse(false)).toBe(false);
    for (const value of [null, 5, "x", []])
      expect(complaint(value)).toBe("must be a JSON Schema: an object");
  });

  it("is nested as deep as anybody could mean, and not without end", () => {
    expect(complaint(nested(512))).toBeUndefined();
    expect(complaint(nested(513))).toBe("must not be nested deeper than 512 levels");
    expect(complaint(nested(100_000))).toBe("must not be nested deeper than 512 levels");
  });
});
