import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/gateway/config.ts";
import type { DisclosureMode } from "../../src/gateway/fold/settings.ts";
import { openGateway, type Gateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { growth, LINEAR } from "../support/growth.ts";
import { endlessCounts } from "../support/serve.ts";

const upstreams = {
  chat: { dialect: "chat" },
  claude: { dialect: "messages", profile: "anthropic" },
} as const;

/** A gateway that has a model behind it told of tools in this way. */
function gatewayOn(upstream: keyof typeof upstreams, disclosure: DisclosureMode): Gateway {
  const base_url = "http://127.0.0.1:9/v1";
  return openGateway(
    parseConfig({
      upstreams: { only: { ...upstreams[upstream], base_url } },
      tools: { disclosure },
      server: { counts: endlessCounts },
    }),
    nodePlatform(),
  );
}

let sent = 0;

async function plan(gateway: Gateway, body: object): Promise<void> {
  // What was sent before is remembered, and would cost nothing.
  const metadata = { number: String(++sent) };
  const response = await gateway.fetch(
    new Request("http://here/v1/plan", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "only/m", metadata, ...body }),
    }),
  );
  expect(response.status).toBe(200);
  await response.text();
}

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

describe.each(Object.entries(conversations))("thousands of %s", (_, make) => {
  it.each([
    ["chat", "wrap"],
    ["chat", "append"],
    ["claude", "native"],
  ] as const)("cost what they are long on %s, told by %s", async (upstream, mode) => {
    const gateway = gatewayOn(upstream, mode);
    expect(await growth((size) => plan(gateway, make(size)), 800)).toBeLessThan(LINEAR);
    await gateway.close(0);
  });
});
