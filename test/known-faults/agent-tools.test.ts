import { describe, expect, it } from "vitest";
import { askWithin, readAnswer } from "../support/client.ts";
import { chunk, answerInChat, answerInResponses, type FakeAnswer } from "../support/fake-model.ts";
import {
  cut,
  done,
  frame,
  sse,
  type Body,
  type Model,
  type Step,
} from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import {
  askBothWays,
  decisionsOn,
  lastRequest,
  messagesReceived,
  namesReceived,
  fakeBackedGateway,
} from "./gateway.ts";

const parameters = { type: "object", properties: { path: { type: "string" } } };
const member = (name: string): Body => ({ type: "function", name, parameters });
const call = (name: string, input: string): FakeAnswer => ({
  calls: [{ id: "call_1", name, arguments: input }],
});
const saying =
  (say: FakeAnswer): Model =>
  ({ body }) =>
    answerInChat(body, say);
const patch = '*** Begin Patch\n*** Add File: a.txt\n+"hi"\n*** End Patch\n';

describe("a call to a tool in a namespace", () => {
  it.each([
    ["mcp__git", "status"],
    ["multi_agent_v1", "spawn_agent"],
  ])("of %s comes back under the namespace and the bare name", async (namespace, name) => {
    await using here = await fakeBackedGateway(saying(call(`${namespace}__${name}`, "{}")));
    const tools = [{ type: "namespace", name: namespace, tools: [member(name)] }];
    for (const { output } of await askBothWays(here, { tools }))
      expect(output).toMatchObject([
        { type: "function_call", call_id: "call_1", namespace, name, arguments: "{}" },
      ]);
    expect(namesReceived(here)).toEqual([`${namespace}__${name}`]);
  });
});

describe("tools that the conversation brings", () => {
  it("are offered though the request itself declares none", async () => {
    await using here = await fakeBackedGateway(
      saying(call("functions__exec", '{"input":"1 + 1"}')),
    );
    const functions = {
      type: "namespace",
      name: "functions",
      tools: [{ type: "custom", name: "exec" }, member("wait")],
    };
    const input = [
      { type: "additional_tools", role: "developer", tools: [functions] },
      { type: "message", role: "user", content: "Add." },
    ];
    for (const { output } of await askBothWays(here, { input }))
      expect(output).toMatchObject([
        { type: "custom_tool_call", namespace: "functions", name: "exec", input: "1 + 1" },
      ]);
    expect(namesReceived(here)).toEqual(["functions__exec", "functions__wait"]);
  });

  const search = { type: "tool_search", execution: "client", description: "Finds.", parameters };

  it("can be searched for", async () => {
    await using here = await fakeBackedGateway(saying(call("tool_search", '{"query":"git"}')));
    for (const { output } of await askBothWays(here, { tools: [search] }))
      expect(output).toMatchObject([
        { type: "tool_search_call", execution: "client", arguments: { query: "git" } },
      ]);
    expect(namesReceived(here)).toEqual(["tool_search"]);
  });

  it("are offered once they are found", async () => {
    await using here = await fakeBackedGateway(saying(call("mcp__git__status", "{}")));
    const found = { type: "namespace", name: "mcp__git", tools: [member("status")] };
    const searched = { call_id: "call_0", execution: "client", status: "completed" };
    const input = [
      { type: "message", role: "user", content: "Look." },
      { type: "tool_search_call", ...searched, arguments: { query: "git" } },
      { type: "tool_search_output", ...searched, tools: [found] },
    ];
    for (const { output } of await askBothWays(here, { tools: [search], input }))
      expect(output).toMatchObject([
        { type: "function_call", namespace: "mcp__git", name: "status" },
      ]);
    expect(namesReceived(here)).toEqual(["tool_search", "mcp__git__status"]);
    expect(messagesReceived(here).at(-1)).toMatchObject({ role: "tool", tool_call_id: "call_0" });
  });
});

describe("an image in the result of a call", () => {
  const url = "data:image/png;base64,AA==";
  const input = [
    { type: "function_call", call_id: "c", name: "view_image", arguments: "{}" },
    {
      type: "function_call_output",
      call_id: "c",
      output: [{ type: "input_image", image_url: url }],
    },
  ];

  it("reaches a model that sees", async () => {
    await using here = await fakeBackedGateway(saying({ text: "A dot." }));
    const [streamed, whole] = await askBothWays(here, { input });
    expect([streamed?.["status"], whole?.["status"]]).toEqual(["completed", "completed"]);
    expect(messagesReceived(here)).toMatchObject([
      { role: "assistant" },
      { role: "tool", tool_call_id: "c" },
      { role: "user", content: [{ type: "text" }, { type: "image_url", image_url: { url } }] },
    ]);
  });

  it("is told in words to a model that does not, and reported", async () => {
    await using here = await fakeBackedGateway(saying({ text: "What dot?" }), {
      capabilities: { history: { media: [] } },
    });
    for (const { status } of await askBothWays(here, { input })) expect(status).toBe("completed");
    expect(messagesReceived(here).at(-1)).toMatchObject({ role: "tool", tool_call_id: "c" });
    expect(JSON.stringify(messagesReceived(here))).not.toContain(url);
    expect(await decisionsOn(here, { input })).toContainEqual({
      path: "input[1]",
      action: "dropped",
      reason: "the upstream does not accept image parts here",
    });
  });
});

it("a search that neither side can run is left out and reported, never asked of the client", async () => {
  await using here = await fakeBackedGateway(saying({ text: "ok" }));
  const tools = [{ type: "web_search" }, member("look")];
  const response = await askWithin(here, "responses", { tools });
  expect(response.headers.get("x-patchbay-plan")).toBe("native=1 degraded=0 deferred=0 ignored=1");
  expect(namesReceived(here)).toEqual(["look"]);
  expect(await decisionsOn(here, { tools })).toMatchObject([
    { path: "tools[0]", action: "dropped" },
  ]);
});

describe("a tool that takes free text", () => {
  it.each([
    ["as the JSON it was asked for", JSON.stringify({ input: patch })],
    ["as plain text", patch],
  ])("stays such a tool when its input comes %s", async (_, input) => {
    await using here = await fakeBackedGateway(saying(call("apply_patch", input)));
    const tools = [{ type: "custom", name: "apply_patch" }];
    for (const { output } of await askBothWays(here, { tools }))
      expect(output).toMatchObject([
        { type: "custom_tool_call", call_id: "call_1", name: "apply_patch", input: patch },
      ]);
  });
});

describe("a call in a turn that failed or was cut off", () => {
  const tools = [member("exec"), { type: "custom", name: "apply_patch" }, { type: "local_shell" }];
  const inputs: readonly [string, string, string][] = [
    ["half its arguments", "exec", '{"path":"/tm'],
    ["all its arguments", "exec", '{"path":"/tmp"}'],
    ["no arguments yet", "exec", ""],
    ["half its text", "apply_patch", '{"input":"*** Begin Pa'],
    ["all its text", "apply_patch", JSON.stringify({ input: patch })],
    ["all of its command", "local_shell", '{"command":["rm","-r","/tmp/x"]}'],
  ];
  const ends: readonly [string, readonly Step[], string][] = [
    ["an error", [frame({ error: { message: "Out of memory." } }), done], "failed"],
    ["a cut", [cut], "failed"],
    ["a silent close", [], "failed"],
    ["a limit", [chunk(0, {}, "length"), done], "incomplete"],
    ["a filter", [chunk(0, {}, "content_filter"), done], "incomplete"],
  ];
  const begun = (name: string, input: string): string[] => [
    chunk(0, { role: "assistant", content: null }),
    ...[
      { id: "call_1", type: "function", function: { name, arguments: "" } },
      { function: { arguments: input } },
    ].map((entry) => chunk(0, { tool_calls: [{ index: 0, ...entry }] })),
  ];

  for (const [how, steps, status] of ends)
    it.each(inputs)(`is not one to run, after ${how} behind %s`, async (_, name, input) => {
      await using here = await fakeBackedGateway(() => sse(...begun(name, input), ...steps));
      const text = await (await askWithin(here, "responses", { tools, stream: true })).text();
      const events = readResponsesEvents(text);
      expect(events.at(-1)?.["response"]).toMatchObject({ status });
      // Clients run what is closed, whatever its status says; only what does not parse is safe.
      const closed = events.filter(({ type }) => type === "response.output_item.done");
      for (const { item } of closed) {
        expect(item).toMatchObject({ type: "function_call", status: "incomplete" });
        expect(() => void JSON.parse(item.arguments as string)).toThrow(SyntaxError);
      }
      const whole = await readAnswer("responses", await askWithin(here, "responses", { tools }));
      expect(whole.status).toBe(status === "failed" ? 502 : 200);
      expect(whole.calls.filter(({ complete }) => complete)).toEqual([]);
    });

  it("is not one to run either where the upstream's own frames are forwarded", async () => {
    const input = '{"path":"/tmp"}';
    await using here = await fakeBackedGateway(
      ({ body }) => {
        const { steps, ...head } = answerInResponses(body, call("exec", input));
        const frames = [...(steps as string[])];
        const done = frames.findIndex((text) => text.includes("function_call_arguments.done"));
        return { ...head, steps: [...frames.slice(0, done), cut] };
      },
      { dialect: "responses" },
    );
    const response = await askWithin(here, "responses", { tools: [member("exec")], stream: true });
    const events = readResponsesEvents(await response.text());
    const said = events.filter(({ type }) => (type as string).endsWith("arguments.delta"));
    expect(said.map(({ delta }) => delta as string).join("")).toBe(input);
    expect(events.filter(({ type }) => (type as string).endsWith(".done"))).toEqual([]);
    expect(events.at(-1)?.["response"]).toMatchObject({ status: "failed", output: [] });
  });
});

describe("on a chat upstream", () => {
  it("text arrives", async () => {
    await using here = await fakeBackedGateway(saying({ text: "Hello." }));
    for (const { output } of await askBothWays(here, {}))
      expect(output).toMatchObject([{ type: "message", content: [{ text: "Hello." }] }]);
  });

  it("calls of plain functions arrive", async () => {
    await using here = await fakeBackedGateway(saying(call("exec_command", '{"cmd":"ls"}')));
    for (const { output } of await askBothWays(here, { tools: [member("exec_command")] }))
      expect(output).toMatchObject([
        { type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}' },
      ]);
  });

  it("reasoning goes back to the model with its call", async () => {
    await using here = await fakeBackedGateway(saying({ reasoning: "Hm.", ...call("look", "{}") }));
    const [{ output = [] } = {}] = await askBothWays(here, { tools: [member("look")] });
    expect(output).toMatchObject([{ type: "reasoning" }, { type: "function_call" }]);
    const result = { type: "function_call_output", call_id: "call_1", output: "done" };
    const input = [{ role: "user", content: "Look." }, ...(output as Body[]), result];
    expect((await askWithin(here, "responses", { tools: [member("look")], input })).status).toBe(
      200,
    );
    expect(lastRequest(here)["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", reasoning_content: "Hm.", tool_calls: [{ id: "call_1" }] },
      { role: "tool", tool_call_id: "call_1", content: "done" },
    ]);
  });
});
