import { describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { parseConfig } from "../../src/gateway/config.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { nodePlatform } from "../../src/host/platform/node.ts";
import { cpuTime } from "../support/cpu-time.ts";
import { doorPath } from "../support/door-path.ts";

const gateway = openGateway(parseConfig({}), nodePlatform());
const long = "n".repeat(4_000_000);

async function post(
  path: string,
  body: object,
): Promise<{ status: number; text: string; ms: number }> {
  const started = cpuTime();
  const response = await gateway.fetch(
    new Request(`http://here${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", max_tokens: 9, ...body }),
    }),
  );
  const text = await response.text();
  return { status: response.status, text, ms: cpuTime() - started };
}

const user = { role: "user", content: "Hi" };
const chatCall = (id: string, name: string) => ({
  messages: [
    user,
    {
      role: "assistant",
      tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: id, content: "x" },
  ],
});
const calls = (id: string, name: string) => ({
  input: [
    { role: "user", content: "Hi" },
    { type: "function_call", call_id: id, name, arguments: "{}" },
    { type: "function_call_output", call_id: id, output: "x" },
  ],
});
const uses = (id: string, name: string) => ({
  messages: [
    user,
    { role: "assistant", content: [{ type: "tool_use", id, name, input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] },
  ],
});

const said = { role: "user", parts: [{ text: "Hi" }] };
const turns = (id: string, name: string) => ({
  contents: [
    said,
    { role: "model", parts: [{ functionCall: { id, name, args: {} } }] },
    { role: "user", parts: [{ functionResponse: { id, name, response: { output: "x" } } }] },
  ],
});

/** What each door calls the same things. */
const forms: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  chat: {
    tool: { messages: [user], tools: [{ type: "function", function: { name: long } }] },
    choice: { messages: [user], tool_choice: { type: "function", function: { name: long } } },
    format: {
      messages: [user],
      response_format: { type: "json_schema", json_schema: { name: long, schema: {} } },
    },
    call: chatCall("c", long),
    id: chatCall(long, "f"),
    key: {
      messages: [user],
      tools: [
        { type: "function", function: { name: "f", parameters: { properties: { [long]: {} } } } },
      ],
    },
  },
  responses: {
    tool: { input: "Hi", tools: [{ type: "function", name: long, parameters: {} }] },
    namespace: { input: "Hi", tools: [{ type: "namespace", name: long, tools: [] }] },
    builtin: { input: "Hi", tools: [{ type: long }] },
    call: calls("c", long),
    id: calls(long, "f"),
  },
  messages: {
    tool: { messages: [user], tools: [{ name: long, input_schema: { type: "object" } }] },
    call: uses("c", long),
    id: uses(long, "f"),
  },
  gemini: {
    tool: { contents: [said], tools: [{ functionDeclarations: [{ name: long }] }] },
    builtin: { contents: [said], tools: [{ [long]: {} }] },
    choice: {
      contents: [said],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [long] } },
    },
    call: turns("c", long),
    id: turns(long, "f"),
    key: {
      contents: [said],
      tools: [
        { functionDeclarations: [{ name: "f", parameters: { properties: { [long]: {} } } }] },
      ],
    },
  },
};

describe.each(builtinDialects.doors.map(({ name, door }) => [name, doorPath(door)]))(
  "at the %s door",
  (name, path) => {
    it.each(Object.keys(forms[name] ?? {}))("a name without end is refused: %s", async (what) => {
      const body = forms[name]?.[what] ?? {};
      const { status, text, ms } = await post(path, body);
      expect([status, text.slice(0, 300)]).toEqual([400, expect.stringContaining("more than")]);
      expect(text.length).toBeLessThan(2_000);
      expect(ms).toBeLessThan(3_000);
    });
  },
);
