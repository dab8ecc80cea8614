import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import type { Works } from "../support/growth.ts";
import { endlessCounts } from "../support/serve.ts";

const base_url = "http://127.0.0.1:9/v1";

/** Upstreams that schemas are rewritten for, and one that makes a call that satisfies them. */
const planning = openGateway(
  parseConfig({
    store: "off",
    upstreams: {
      openai: { dialect: "chat", profile: "openai", base_url },
      gemini: { dialect: "chat", profile: "gemini", base_url },
      demo: { dialect: "scripted" },
    },
  }),
  nodePlatform(),
);

/** Gateways that offer tools behind a loader, by upstream and by the way they do it. */
const folding = [
  { upstream: { dialect: "chat" }, on: "chat", told: "wrap" },
  { upstream: { dialect: "chat" }, on: "chat", told: "append" },
  { upstream: { dialect: "messages", profile: "anthropic" }, on: "claude", told: "native" },
] as const;

const foldingGateways = folding.map(({ upstream, on, told }) => ({
  where: `on ${on}, told by ${told}`,
  gateway: openGateway(
    parseConfig({
      upstreams: { only: { ...upstream, base_url } },
      tools: { disclosure: told },
      server: { counts: endlessCounts },
    }),
    nodePlatform(),
  ),
}));

async function post(at: typeof planning, path: string, body: object): Promise<void> {
  const response = await at.fetch(
    new Request(`http://here${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  const text = await response.text();
  if (![200, 400].includes(response.status)) throw new Error(text);
}

let sent = 0;

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const tool = (at: number) => ({
  type: "function",
  name: `group${at >> 3}_tool${at}`,
  parameters: { type: "object", properties: {} },
});
const search = { type: "tool_search", execution: "client", parameters: {} };

/** Conversations about tools that stand behind a loader, and what they have much of. */
const conversations: Readonly<Record<string, (size: number) => object>> = {
  "results of searches": (size) => ({
    tools: [search],
    input: many(size, (at) => ({
      type: "tool_search_output",
      call_id: `c${at}`,
      status: "completed",
      execution: "client",
      tools: [tool(at)],
    })),
  }),
  "searches with their results": (size) => ({
    tools: [search],
    input: many(size, (at) => {
      const common = { call_id: `c${at}`, status: "completed", execution: "client" };
      return [
        { type: "tool_search_call", ...common, arguments: {} },
        { type: "tool_search_output", ...common, tools: [tool(at)] },
      ];
    }).flat(),
  }),
  "calls of tools that are behind the loader": (size) => ({
    tools: many(size, tool),
    input: many(size, (at) => [
      { type: "function_call", call_id: `c${at}`, name: tool(at).name, arguments: "{}" },
      { type: "function_call_output", call_id: `c${at}`, output: "x" },
    ]).flat(),
  }),
  "messages with a foreign field": (size) => ({
    tools: [tool(0)],
    input: many(size, () => ({ role: "user", content: "a", x: 1 })),
  }),
  "searches of the provider": (size) => ({
    input: "Hi",
    tools: [tool(0), ...many(size, () => ({ type: "web_search" }))],
  }),
  namespaces: (size) => ({
    input: "Hi",
    tools: many(size, (at) => ({
      type: "namespace",
      name: `n${at}`,
      description: "d",
      tools: [tool(at)],
    })),
  }),
  "tools of a namespace of which some are allowed": (size) => ({
    input: "Hi",
    tools: [{ type: "namespace", name: "all", description: "d", tools: many(size, tool) }],
    tool_choice: {
      type: "allowed_tools",
      mode: "auto",
      tools: many(size / 2, (at) => ({ type: "function", namespace: "all", name: tool(at).name })),
    },
  }),
};

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

const foldingWorks = Object.entries(conversations).flatMap(([what, make]) =>
  foldingGateways.map(({ where, gateway }) => [
    `thousands of ${what} cost what they are long ${where}`,
    (size: number): Promise<void> =>
      // A gateway remembers what was sent before: a number makes each request another one.
      post(gateway, "/v1/plan", {
        model: "only/m",
        metadata: { number: String(++sent) },
        ...make(size),
      }),
  ]),
);

const schemaWorks = Object.entries(shapes).flatMap(([what, shape]) =>
  ["openai", "gemini", "demo"].map((name) => [
    `a schema with thousands of ${what} costs what it is long ${name === "demo" ? "in the demo" : `on ${name}`}`,
    (size: number): Promise<void> => {
      const description = `Number ${++sent}`;
      const parameters = shape(size);
      return post(planning, name === "demo" ? "/v1/chat/completions" : "/v1/plan", {
        model: `${name}/m`,
        messages: [{ role: "user", content: "Call f" }],
        tools: [{ type: "function", function: { name: "f", description, parameters } }],
      });
    },
  ]),
);

/** Requests that have much of something, by the title of their test. */
export const works: Works = Object.fromEntries([...foldingWorks, ...schemaWorks]);
