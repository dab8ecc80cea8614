import { describe, expect, it } from "vitest";
import { askWithin, readAnswer } from "../support/client.ts";
import { answerInChat, answerInResponses } from "../support/fake-model.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { lastRequest, fakeBackedGateway } from "../known-faults/gateway.ts";
import { onto, serve } from "../support/serve.ts";

const status = { type: "function", function: { name: "status", parameters: { type: "object" } } };
const group = (name: string): Body => ({ type: "namespace", name, tools: [status] });

describe("a chat client with tools that chat does not have", () => {
  it.each([true, false])(
    "is told of which namespace a call is, and tells it back, streamed %s",
    async (stream) => {
      await using here = await fakeBackedGateway(({ body }, index) =>
        answerInChat(
          body,
          index > 0
            ? { text: "ok" }
            : { calls: [{ id: "call_1", name: "hg__status", arguments: "{}" }] },
        ),
      );
      const tools = [group("git"), group("hg")];
      const text = await (await askWithin(here, "chat", { tools, stream })).text();
      expect(text).toContain('"name":"status","namespace":"hg"');

      const call = { name: "status", namespace: "hg", arguments: "{}" };
      await askWithin(here, "chat", {
        tools,
        messages: [
          { role: "user", content: "Hi" },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: call }],
          },
          { role: "tool", tool_call_id: "call_1", content: "clean" },
        ],
        tool_choice: { type: "function", function: { name: "status", namespace: "git" } },
      });
      expect(lastRequest(here)).toMatchObject({
        messages: [
          {},
          { tool_calls: [{ function: { name: "hg__status", arguments: "{}" } }] },
          { role: "tool", content: "clean" },
        ],
        tool_choice: { function: { name: "git__status" } },
      });
    },
  );

  it("has the results of its calls told as those of their kind", async () => {
    await using here = await fakeBackedGateway(
      ({ body }) => answerInResponses(body, { text: "ok" }),
      {
        dialect: "responses",
      },
    );
    const call = (id: string, name: string, input: string): Body => ({
      id,
      type: "function",
      function: { name, arguments: input },
    });
    const results = ["l", "s", "p"].map((id) => ({
      role: "tool",
      tool_call_id: id,
      content: `said ${id}`,
    }));
    await askWithin(here, "chat", {
      tools: ["local_shell", "shell", "apply_patch"].map((type) => ({ type })),
      messages: [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            call("l", "local_shell", '{"type":"exec","command":["ls"],"env":{}}'),
            call("s", "shell", '{"commands":["ls"]}'),
            call("p", "apply_patch", '{"type":"delete_file","path":"a"}'),
          ],
        },
        ...results,
      ],
    });
    const exit = { type: "exit", exit_code: 0 };
    expect(lastRequest(here)["input"]).toMatchObject([
      { type: "local_shell_call", call_id: "l" },
      { type: "shell_call", call_id: "s" },
      { type: "apply_patch_call", call_id: "p" },
      { type: "local_shell_call_output", id: "l", output: "said l" },
      {
        type: "shell_call_output",
        call_id: "s",
        output: [{ stdout: "said s", stderr: "", outcome: exit }],
      },
      { type: "apply_patch_call_output", call_id: "p", output: "said p", status: "completed" },
    ]);
  });

  it("has what it answers to a search told in full, be it tools or words", async () => {
    await using here = await fakeBackedGateway(
      ({ body }) => answerInResponses(body, { text: "ok" }),
      {
        dialect: "responses",
      },
    );
    const found = [{ type: "function", name: "late", parameters: { type: "object" } }];
    const search = (id: string): Body => ({
      id,
      type: "function",
      function: { name: "tool_search", arguments: '{"query":"git"}' },
    });
    await askWithin(here, "chat", {
      tools: [{ type: "tool_search", execution: "client" }],
      messages: [
        { role: "assistant", content: null, tool_calls: [search("w"), search("t")] },
        { role: "tool", tool_call_id: "w", content: "Nothing there; ask for files." },
        { role: "tool", tool_call_id: "t", content: JSON.stringify(found) },
      ],
    });
    expect(lastRequest(here)["input"]).toMatchObject([
      { type: "function_call", call_id: "w", name: "tool_search", arguments: '{"query":"git"}' },
      { type: "tool_search_call", call_id: "t", arguments: { query: "git" } },
      { type: "function_call_output", call_id: "w", output: "Nothing there; ask for files." },
      { type: "tool_search_output", call_id: "t", tools: found },
    ]);
  });

  it("chooses a server by its label", async () => {
    await using here = await fakeBackedGateway(
      ({ body }) => answerInResponses(body, { text: "ok" }),
      {
        dialect: "responses",
      },
    );
    const server = (server_label: string): Body => ({
      type: "mcp",
      server_label,
      server_url: `https://${server_label}.example`,
    });
    const choose = async (tool_choice: Body): Promise<unknown> => {
      await askWithin(here, "chat", { tools: [server("a"), server("b")], tool_choice });
      return lastRequest(here)["tool_choice"];
    };
    expect(await choose({ type: "mcp", server_label: "b" })).toEqual({
      type: "mcp",
      server_label: "b",
    });
  });
});

it("leaves the id of a shell's result as it is where its kind is kept", async () => {
  await using upstream = await fakeUpstream(({ body }) => answerInResponses(body, { text: "ok" }));
  await using served = await serve(onto("responses", upstream.url));
  const action = { type: "exec", command: ["ls"], env: {} };
  const answer = await askWithin(served, "responses", {
    tools: [{ type: "local_shell" }, { type: "function", name: "files.read" }],
    input: [
      { type: "local_shell_call", id: "lsh_1", call_id: "call_1", status: "completed", action },
      { type: "local_shell_call_output", id: "lsh_1", output: "files" },
    ],
  });
  expect((await readAnswer("responses", answer)).text).toBe("ok");
  expect(upstream.requests[0]?.body["input"][1]).toEqual({
    type: "local_shell_call_output",
    id: "lsh_1",
    output: "files",
  });
});

it.each([[], [{ type: "function", function: { name: "not.lawful" } }]])(
  "withholds a call that a whole answer's end cut off, in either lane",
  async (...more) => {
    await using here = await fakeBackedGateway(({ body }) =>
      answerInChat(body, {
        stop: "length",
        calls: [{ id: "call_1", name: "status", arguments: '{"a":1}' }],
      }),
    );
    const answer = await askWithin(here, "chat", { tools: [status, ...more] });
    expect(await readAnswer("chat", answer)).toMatchObject({ calls: [], stop: "length" });
  },
);
