import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../src/turn/fault.ts";
import type { Body } from "../support/fake-upstream.ts";
import {
  chatRequests,
  geminiRequests,
  messagesRequests,
  responsesRequests,
} from "../support/odd-requests.ts";
import { sending } from "../support/profile-requests.ts";
import { geminiModelNames, geminiRefusal } from "../support/strict-gemini.ts";

/** What Google would be sent in its own words; nothing where the request is refused here. */
function sentFor(profile: string, request: Body, model: string): Body | undefined {
  try {
    return sending(profile, request, model, false).body;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

describe.each([
  ["chat", chatRequests],
  ["responses", responsesRequests],
  ["messages", messagesRequests],
  ["gemini", geminiRequests],
] as const)("a request of a %s client", (_, requests) => {
  it.each(
    geminiModelNames.flatMap(
      (model) =>
        [
          ["gemini", model],
          ["vertex", model],
        ] as const,
    ),
  )("is never one that %s refuses for %s", (profile, model) => {
    let sent = 0;
    fc.assert(
      fc.property(requests, (request) => {
        const body = sentFor(profile, request, model);
        if (body === undefined) return;
        sent++;
        const isVertex = profile === "vertex";
        expect(geminiRefusal(body, { model, isVertex })).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    expect(sent).toBeGreaterThan(30);
  });
});

/** Schemas of every shape, in each other. */
const { schema: anySchema } = fc.letrec<{ schema: unknown }>((tie) => {
  const inner = tie("schema");
  const keys = fc.constantFrom("a", "b c", "__proto__", "$x", "n".repeat(70));
  const value = fc.constantFrom<unknown>("x", "", 1, 1.5, true, null, ["x"], { a: 1 });
  const bounds = fc.record(
    {
      minimum: fc.constantFrom<unknown>(0, "1"),
      exclusiveMaximum: fc.constantFrom<unknown>(5, true),
      minLength: fc.constantFrom<unknown>(1, "2", -1, 1.5),
      maxItems: fc.constant(3),
      minProperties: fc.constant(1),
      pattern: fc.constantFrom("^a", "["),
      format: fc.constantFrom("uri", "date-time", "int32", "enum"),
      description: fc.constantFrom<unknown>("d", 7),
      title: fc.constant("T"),
      default: value,
      examples: fc.array(value, { maxLength: 2 }),
      nullable: fc.boolean(),
      multipleOf: fc.constant(2),
      uniqueItems: fc.boolean(),
      not: fc.constant({}),
      if: fc.constant({ required: ["a"] }),
      $comment: fc.constant("c"),
      readOnly: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const types = fc.constantFrom<unknown>(
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "array",
    "object",
    ["string", "null"],
    ["array", "object"],
    [],
    "text",
  );
  const forms = fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    types.map((type) => ({ type })),
    fc.constantFrom<object>({}, { $ref: "#" }, { $ref: "#/$defs/d" }, { $ref: "#/nowhere" }),
    fc.array(value, { maxLength: 3 }).map((list) => ({ enum: list })),
    value.map((one) => ({ const: one })),
    fc
      .record(
        {
          properties: fc.dictionary(keys, inner, { maxKeys: 3 }),
          required: fc.array(keys),
          additionalProperties: inner,
        },
        { requiredKeys: [] },
      )
      .map((one) => Object.assign({ type: "object" }, one)),
    fc.oneof(inner, fc.array(inner, { maxLength: 2 })).map((items) => ({ type: "array", items })),
    fc.array(inner, { maxLength: 2 }).map((prefixItems) => ({ type: "array", prefixItems })),
    fc
      .tuple(fc.constantFrom("anyOf", "oneOf", "allOf"), fc.array(inner, { maxLength: 3 }))
      .map(([word, list]) => ({ [word]: list })),
  );
  return {
    schema: fc.oneof(
      fc.tuple(forms, bounds).map(([form, more]): unknown => Object.assign({}, more, form)),
      fc.boolean(),
    ),
  };
});

describe("a tool with a schema of any shape", () => {
  it.each(["gemini-2.0-flash", "gemini-2.5-pro", "gemini-3.5-flash"])(
    "is never refused by %s",
    (model) => {
      const roots = fc
        .tuple(anySchema, anySchema)
        .map(([root, d]) =>
          typeof root === "object" ? Object.assign({}, root, { $defs: { d } }) : root,
        );
      fc.assert(
        fc.property(roots, (parameters) => {
          const tool = { type: "function", function: { name: "look", parameters } };
          const asked = { messages: [{ role: "user", content: "Hi" }], tools: [tool] };
          const body = sentFor("gemini", asked, model);
          expect(body === undefined ? undefined : geminiRefusal(body, { model })).toBeUndefined();
        }),
        { numRuns: 300 },
      );
    },
  );
});
