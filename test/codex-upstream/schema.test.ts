import { describe, expect, it } from "vitest";
import { compileSchema } from "../../src/tools/schema/compile.ts";
import type { Decision } from "../../src/turn/decision.ts";
import { codexProfile } from "../../src/profiles/codex.ts";
import { answerInResponses } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import { missing, sharedCodex } from "./gateway.ts";

const codexWith = sharedCodex();

/** One of everything that Codex drops, bends or keeps in a schema. */
const parameters = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Look",
  type: "object",
  description: "Where to look.",
  properties: {
    zeal: { type: "integer", minimum: 1, maximum: 5, default: 3, examples: [2] },
    at: { type: "string", pattern: "^[a-z]+$", minLength: 2, description: "A place." },
    day: { type: "string", format: "date" },
    kind: { const: "tree" },
    any: true,
    mode: { enum: ["near", "far", null] },
    tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3, uniqueItems: true },
    extra: { type: "object", patternProperties: { "^x-": { type: "string" } } },
    map: { type: "object", additionalProperties: { type: "number", exclusiveMaximum: 9 } },
    either: { anyOf: [{ type: "string" }, { type: "array", items: { $ref: "#/$defs/node" } }] },
    node: { $ref: "#/$defs/node" },
    maybe: { type: ["string", "null"] },
  },
  required: ["at"],
  additionalProperties: false,
  $defs: {
    node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, n: { multipleOf: 2 } } },
  },
};
const look = { type: "function", name: "look", parameters, strict: false } as const;
const wrong = '{"at": "A1", "zeal": 12345678901234567890}';

/** Without the one thing that Codex adds by itself: that an object has no properties of known names. */
const bare = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "properties" && JSON.stringify(value) === "{}" ? undefined : value,
  );

describe.skipIf(missing)("a schema that the real codex app-server cannot be given as it is", () => {
  it("is rewritten by us alone, so that nothing of it is lost unseen", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "Hello." }));
    const { schema, describedOnly } = compileSchema(parameters, codexProfile.tools.schema ?? {});
    await gateway.client.responses.create({ model: "m", input: "Look.", tools: [look] });
    const [tool] = (gateway.model.requests[0]?.body["tools"] ?? []) as Body[];
    expect(bare(tool?.["parameters"])).toEqual(bare(schema));
    expect(describedOnly).toEqual(
      expect.arrayContaining(["pattern", "minimum", "maximum", "format"]),
    );
    expect(JSON.stringify(schema)).toContain('pattern: \\"^[a-z]+$\\"');
  });

  it("is left open, and that told, where it is nested deeper than Codex reads", async () => {
    const gateway = await codexWith(({ body }) => answerInResponses(body, { text: "Hello." }));
    const nested = (depth: number): object => {
      let schema: object = { type: "string" };
      for (let at = 0; at < depth; at++) schema = { type: "object", properties: { in: schema } };
      return schema;
    };
    const tools = [40, 90, 200].map((depth) => ({
      type: "function" as const,
      name: `look_${depth}`,
      parameters: nested(depth) as Record<string, unknown>,
      strict: false,
    }));
    const answer = await gateway.client.responses.create({ model: "m", input: "Look.", tools });
    const heard = (gateway.model.requests[0]?.body["tools"] ?? []) as Body[];
    expect(heard.map((tool) => JSON.stringify(tool).includes('"in"'))).toEqual([
      true,
      false,
      false,
    ]);
    const report = await fetch(`${gateway.served.url}/v1/plans/${answer.id}`);
    const { decisions } = (await report.json()) as { readonly decisions: readonly Decision[] };
    expect(decisions.filter(({ path }) => path === "tools")).toHaveLength(2);
  });

  it.each([false, true])(
    "still says what arguments must be: they come as they are, and the plan tells of it (stream: %s)",
    async (stream) => {
      const gateway = await codexWith(({ body }) =>
        answerInResponses(body, { calls: [{ id: "call_1", name: "look", arguments: wrong }] }),
      );
      const asked = { model: "m", input: "Look.", tools: [look] };
      const { responses } = gateway.client;
      const answer = stream
        ? await responses.stream(asked).finalResponse()
        : await responses.create(asked);
      expect(answer.output).toMatchObject([{ type: "function_call", arguments: wrong }]);
      const report = await fetch(`${gateway.served.url}/v1/plans/${answer.id}`);
      const { decisions } = (await report.json()) as { readonly decisions: readonly Decision[] };
      expect(decisions.filter(({ action }) => action === "noticed")).toEqual([
        {
          path: "output",
          action: "noticed",
          reason: expect.stringMatching(
            /a call of `look` violate its schema at `#\/prop/,
          ) as unknown,
        },
      ]);
      expect(JSON.stringify(decisions)).not.toContain("A1");
    },
  );
});
