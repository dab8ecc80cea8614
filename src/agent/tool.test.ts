import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkArguments } from "./loop.ts";
import { type StandardSchema, tool } from "./tool.ts";

const libraries: Readonly<Record<string, StandardSchema>> = {
  zod: z.object({ query: z.string(), limit: z.number().optional() }),
  valibot: toStandardJsonSchema(v.object({ query: v.string(), limit: v.optional(v.number()) })),
  arktype: type({ query: "string", "limit?": "number" }),
};

describe.each(Object.entries(libraries))("a tool with %s parameters", (_, params) => {
  const search = tool({ name: "search", description: "", params });

  it("tells them as JSON Schema", () => {
    expect(search.schema).toMatchObject({
      type: "object",
      properties: { query: { type: "string" }, limit: { type: "number" } },
      required: ["query"],
    });
    expect(search.schema).not.toHaveProperty("$schema");
  });

  it("holds arguments against them", async () => {
    expect(await checkArguments(search, '{"query":"bees"}')).toEqual({
      ok: true,
      value: { query: "bees" },
    });
    expect(await checkArguments(search, '{"query":1}')).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/query/) as string,
    });
    expect(await checkArguments(search, "{")).toEqual({
      ok: false,
      problem: "The arguments are not JSON.",
    });
  });
});

it("asks for a JSON Schema where the library cannot tell one, and takes one", () => {
  const params = v.object({ query: v.string() });
  expect(() => tool({ name: "a", description: "", params })).toThrow("toStandardJsonSchema");
  const schema = { type: "object", properties: { query: { type: "string" } } };
  expect(tool({ name: "a", description: "", params, schema }).schema).toBe(schema);
});

it("converts zod schemas that are older than the standard converter", () => {
  const { validate, vendor, version } = z.object({ a: z.string() })["~standard"];
  const older = Object.assign(Object.create(z.object({ a: z.string() })) as object, {
    "~standard": { validate, vendor, version },
  }) as StandardSchema;
  expect(tool({ name: "a", description: "", params: older }).schema).toMatchObject({
    properties: { a: { type: "string" } },
  });
});

it("takes no arguments where it has no parameters", async () => {
  const bare = tool({ name: "now", description: "" });
  expect(await checkArguments(bare, "")).toEqual({ ok: true, value: {} });
  expect(await checkArguments(bare, '{"a":1}')).toMatchObject({ ok: false });
});
