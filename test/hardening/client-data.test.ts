import { describe, expect, it } from "vitest";
import { profiles } from "../../src/profiles/profiles.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { growth, LINEAR } from "../support/growth.ts";

const http = [...profiles.values()].filter(
  ({ dialect }) => dialect !== "scripted" && dialect !== "codex",
);
const gateway = openGateway(
  parseConfig({
    store: "off",
    upstreams: {
      ...Object.fromEntries(
        http.map(({ name, dialect }) => [
          name,
          { dialect, profile: name, base_url: "http://127.0.0.1:9/v1", models: ["m"] },
        ]),
      ),
      demo: { dialect: "scripted" },
    },
  }),
  nodePlatform(),
);

let sent = 0;

async function post(path: string, model: string, parameters: object): Promise<Response> {
  // What was sent before is remembered, and would cost nothing.
  const description = `Number ${++sent}`;
  const tools = [{ type: "function", function: { name: "f", description, parameters } }];
  return gateway.fetch(
    new Request(`http://here${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Call f" }], tools }),
    }),
  );
}

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** What a schema may have thousands of. */
const shapes: Readonly<Record<string, (size: number) => object>> = {
  allOf: (size) => ({
    type: "object",
    allOf: many(size, (at) => ({
      properties: { [`p${at}`]: { type: "string" } },
      required: [`p${at}`],
    })),
  }),
  "nested allOf": (size) => ({
    type: "object",
    properties: {
      a: { allOf: many(size, (at) => ({ properties: { [`p${at % 7}`]: { minLength: at } } })) },
    },
  }),
  anyOf: (size) => ({
    type: "object",
    properties: {
      a: { anyOf: many(size, (at) => ({ type: "object", properties: { [`p${at}`]: {} } })) },
    },
  }),
  oneOf: (size) => ({
    type: "object",
    properties: { a: { oneOf: many(size, (at) => ({ const: `v${at}` })) } },
  }),
  enum: (size) => ({ type: "object", properties: { a: { enum: many(size, (at) => `v${at}`) } } }),
  properties: (size) => ({
    type: "object",
    properties: Object.fromEntries(many(size, (at) => [`p${at}`, { type: ["string", "null"] }])),
    required: many(size, (at) => `p${at}`),
  }),
  $defs: (size) => ({
    type: "object",
    $defs: Object.fromEntries(many(size, (at) => [`d${at}`, { type: "string" }])),
    properties: Object.fromEntries(many(size, (at) => [`p${at}`, { $ref: `#/$defs/d${at}` }])),
  }),
  prefixItems: (size) => ({
    type: "object",
    properties: { a: { type: "array", prefixItems: many(size, () => ({ type: "string" })) } },
  }),
  patterns: (size) => ({
    type: "object",
    properties: Object.fromEntries(many(size, (at) => [`p${at}`, { pattern: `^a{1,${at % 9}}$` }])),
  }),
};

/** Of profiles that rewrite schemas alike, one; all of them where time is no matter. */
const isLong = import.meta.env?.MODE === "fuzz";
const everyRule = [
  ...new Map(http.map((one) => [JSON.stringify(one.tools.schema), one.name])).values(),
];

const rewriting = isLong ? everyRule : ["openai", "gemini"];
const SIZE = isLong ? 2000 : 400;

describe.each(Object.entries(shapes))("a schema with thousands of %s", (_, shape) => {
  it.each(rewriting)("costs what it is long on %s", async (name) => {
    const work = async (size: number): Promise<void> => {
      const response = await post("/v1/plan", `${name}/m`, shape(size));
      expect([200, 400]).toContain(response.status);
      await response.text();
    };
    expect(await growth(work, SIZE)).toBeLessThan(LINEAR);
  });

  it("costs what it is long in the demo", async () => {
    const work = async (size: number): Promise<void> => {
      expect((await post("/v1/chat/completions", "demo/demo", shape(size))).status).toBe(200);
    };
    expect(await growth(work, SIZE)).toBeLessThan(LINEAR);
  });
});
