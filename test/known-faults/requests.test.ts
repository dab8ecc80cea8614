import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askWithin, doors } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import type { Body } from "../support/fake-upstream.ts";
import {
  decisionsOn,
  lastRequest,
  messagesReceived,
  namesReceived,
  fakeBackedGateway,
  type FakeBackedGateway,
} from "./gateway.ts";

const look = { type: "function", name: "look", parameters: { type: "object", properties: {} } };
const user = (content: unknown): Body => ({ type: "message", role: "user", content });
const called = (call_id: string): Body => ({
  type: "function_call",
  call_id,
  name: "look",
  arguments: "{}",
});
const result = (call_id: string, output: string): Body => ({
  type: "function_call_output",
  call_id,
  output,
});

let here: FakeBackedGateway;
beforeAll(async () => {
  here = await fakeBackedGateway(({ body }) => answerInChat(body, { text: "ok" }));
});
afterAll(() => here[Symbol.asyncDispose]());

describe("a request with a wrong field", () => {
  const anywhere: readonly [string, Body][] = [
    ["tools", { tools: "x" }],
    ["tools[0]", { tools: [null] }],
    ["tools[0]", { tools: [5] }],
    ["tool_choice", { tool_choice: 5 }],
    ["tool_choice", { tool_choice: null }],
  ];
  const cases = doors.flatMap((door) =>
    anywhere
      .concat(
        door === "chat"
          ? [
              ["messages", { messages: 5 }],
              ["messages", { messages: {} }],
              ["messages[0]", { messages: [null] }],
            ]
          : [
              ["tools[0].tools", { tools: [{ type: "namespace", name: "n", tools: "x" }] }],
              ["tools[0].tools[0]", { tools: [{ type: "namespace", name: "n", tools: [null] }] }],
              ["input", { input: 5 }],
              ["input", { input: {} }],
              ["input[0]", { input: [null] }],
            ],
      )
      .map(([param, more]) => ({ door, param, more, shown: JSON.stringify(more) })),
  );

  it.each(cases)("is told which: $shown at the $door door", async ({ door, param, more }) => {
    const response = await askWithin(here, door, more);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as Body;
    expect(error).toMatchObject({
      type: "invalid_request_error",
      code: "request.invalid",
      param,
      message: expect.stringContaining(param) as string,
    });
  });

  it("is not one for a namespace without members: it is an empty one", async () => {
    const tools = [{ type: "namespace", name: "n" }, look];
    for (const stream of [true, false])
      expect((await askWithin(here, "responses", { tools, stream })).status).toBe(200);
    expect(namesReceived(here)).toEqual(["look"]);
  });
});

describe("an item that a chat upstream cannot know", () => {
  const search = { call_id: "s", execution: "client", status: "completed" };
  const unknown: readonly Body[] = [
    { type: "compaction", encrypted_content: "xyz" },
    { type: "mcp_call", id: "m", server_label: "git", name: "status", arguments: "{}", output: "" },
    { type: "mcp_list_tools", id: "m", server_label: "git", tools: [] },
    { type: "mcp_approval_request", id: "m", server_label: "git", name: "status", arguments: "{}" },
    { type: "mcp_approval_response", approval_request_id: "m", approve: true },
    { type: "image_generation_call", id: "ig_1", status: "completed", result: "AAAA" },
    { type: "agent_message", author: "a", recipient: "b", content: [] },
    { type: "web_search_call", id: "ws_1", status: "completed" },
    { type: "file_search_call", id: "fs_1", status: "completed", queries: ["a"], results: null },
    { type: "code_interpreter_call", id: "ci_1", status: "completed", code: "1", outputs: null },
    { type: "computer_call", id: "cu_1", call_id: "c", action: { type: "wait" } },
    { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot" } },
    { type: "tool_search_call", id: "ts_1", execution: "server", arguments: { query: "a" } },
    { type: "something_of_tomorrow", content: { a: [1] } },
  ];

  it.each(unknown.map((item) => ({ item, shown: (item["type"] ?? "a bare id") as string })))(
    "is left out and reported, and the rest goes on: $shown",
    async ({ item }) => {
      const input = [user("Hi"), item, user("Well?")];
      for (const stream of [true, false])
        expect((await askWithin(here, "responses", { input, stream })).status).toBe(200);
      expect(messagesReceived(here)).toEqual([
        { role: "user", content: "Hi" },
        { role: "user", content: "Well?" },
      ]);
      expect(await decisionsOn(here, { input })).toMatchObject([
        { path: "input[1]", action: "dropped" },
      ]);
    },
  );

  it.each([{ type: "item_reference", id: "msg_1" }, { id: "msg_1" }])(
    "is refused by name if it is a reference to one that is not kept: %j",
    async (item) => {
      const response = await askWithin(here, "responses", { input: [user("Hi"), item] });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: "item.not_found", message: expect.stringContaining("'msg_1'") as string },
      });
    },
  );

  it("is none if it is a search for tools: it is told as a call", async () => {
    const input = [
      { type: "tool_search_call", ...search, arguments: { query: "git" } },
      { type: "tool_search_output", ...search, tools: [] },
    ];
    for (const tools of [[], [{ type: "tool_search", execution: "client", parameters: {} }]]) {
      expect((await askWithin(here, "responses", { input, tools })).status).toBe(200);
      expect(messagesReceived(here)).toMatchObject([
        { role: "assistant", tool_calls: [{ id: "s", function: { name: "tool_search" } }] },
        { role: "tool", tool_call_id: "s" },
      ]);
    }
  });

  it("may have brought tools, and then they are offered", async () => {
    const found = { type: "tool_search_output", id: "to_1", execution: "server", tools: [look] };
    expect((await askWithin(here, "responses", { input: [user("Hi"), found] })).status).toBe(200);
    expect(namesReceived(here)).toEqual(["look"]);
    expect(messagesReceived(here)).toEqual([{ role: "user", content: "Hi" }]);
  });

  it("is none if it is a message with a refusal", async () => {
    const content = [{ type: "refusal", refusal: "I will not." }];
    const input = [user("Do."), { type: "message", role: "assistant", content }, user("Please.")];
    expect((await askWithin(here, "responses", { input })).status).toBe(200);
    expect(JSON.stringify(messagesReceived(here)[1])).toContain("I will not.");
  });

  it("may be a part of a message too", async () => {
    const parts = [
      { type: "input_text", text: "Hi" },
      { type: "part_of_tomorrow", a: 1 },
    ];
    expect((await askWithin(here, "responses", { input: [user(parts)] })).status).toBe(200);
    expect(JSON.stringify(messagesReceived(here))).toContain("Hi");
    expect(await decisionsOn(here, { input: [user(parts)] })).toMatchObject([
      { path: "input[0]", action: "dropped" },
    ]);
  });
});

describe("a conversation", () => {
  it.each([
    ["the id of the item", { id: "lsh_1" }],
    ["the id of the call", { id: "c1" }],
    ["the call", { call_id: "c1" }],
  ])("pairs a shell's result that names %s", async (_, named) => {
    const action = { type: "exec", command: ["ls"], env: {} };
    const call = { type: "local_shell_call", id: "lsh_1", call_id: "c1", action };
    const input = [call, { type: "local_shell_call_output", ...named, output: "a.txt" }];
    const tools = [{ type: "local_shell" }];
    expect((await askWithin(here, "responses", { tools, input })).status).toBe(200);
    expect(messagesReceived(here)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "local_shell" } }] },
      { role: "tool", tool_call_id: "c1", content: "a.txt" },
    ]);
  });

  const told = async (input: readonly Body[]): Promise<Body[]> => {
    for (const stream of [true, false])
      expect((await askWithin(here, "responses", { tools: [look], input, stream })).status).toBe(
        200,
      );
    return messagesReceived(here);
  };
  const assistant = (...ids: string[]): Body => ({
    role: "assistant",
    tool_calls: ids.map((id) => ({ id })),
  });

  it("answers a call that nobody answered", async () => {
    const input = [called("a"), user("Never mind.")];
    expect(await told(input)).toMatchObject([
      assistant("a"),
      { role: "tool", tool_call_id: "a" },
      { role: "user" },
    ]);
    expect(await decisionsOn(here, { input })).toContainEqual({
      path: "input[0]",
      action: "repaired",
      reason: "the call has no result, so a result that states this is added",
    });
  });

  it("leaves out a result that answers no call", async () => {
    const input = [user("Hi"), result("ghost", "boo")];
    expect(await told(input)).toMatchObject([{ role: "user" }]);
    expect(await decisionsOn(here, { input })).toContainEqual({
      path: "input[1]",
      action: "dropped",
      reason: "no call has this id",
    });
  });

  it("has its results right behind their calls, whatever came between", async () => {
    const input = [called("a"), called("b"), user("Hurry!"), result("b", "2"), result("a", "1")];
    expect(await told(input)).toMatchObject([
      assistant("a", "b"),
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "user", content: "Hurry!" },
    ]);
    expect(await decisionsOn(here, { input })).toContainEqual(
      expect.objectContaining({ action: "repaired" }),
    );
  });
});

describe.each(doors)(
  "an effort, at the %s door, on a model that thinks unless told not to",
  (door) => {
    const ofEffort = (effort: string): Body =>
      door === "chat" ? { reasoning_effort: effort } : { reasoning: { effort } };

    /** What such an upstream is told of thinking. */
    async function toldOf(more: Body): Promise<Body> {
      await using deepseek = await fakeBackedGateway(
        ({ body }) => answerInChat(body, { text: "ok" }),
        {
          profile: "deepseek",
        },
      );
      for (const stream of [true, false])
        expect((await askWithin(deepseek, door, { ...more, stream })).status).toBe(200);
      const { thinking, reasoning_effort } = lastRequest(deepseek);
      return { thinking: thinking?.type as unknown, effort: reasoning_effort as unknown };
    }

    it.each(["minimal", "low", "medium", "high", "xhigh", "max"])(
      "of %s never means no thinking",
      async (effort) => {
        const said = await toldOf(ofEffort(effort));
        expect(said["thinking"]).not.toBe("disabled");
        expect(said["effort"]).toMatch(/^(?:minimal|low|medium|high|xhigh|max)$/);
      },
    );

    it("is left to the model where none is asked for", async () => {
      expect(await toldOf({})).toEqual({ thinking: undefined, effort: undefined });
    });

    it("of none is the one that means no thinking", async () => {
      expect(await toldOf(ofEffort("none"))).toEqual({ thinking: "disabled", effort: undefined });
    });
  },
);
