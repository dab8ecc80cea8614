import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askWithin, readAnswer, type DoorName } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { readResponsesEvents } from "../support/responses-reader.ts";
import { onto, serve, type Served } from "../support/serve.ts";

/** A kind of tool, as a client declares and chooses it, a model calls it and the client gets the call. */
type Row = {
  readonly door: DoorName;
  readonly kind: string;
  readonly tools: readonly Body[];
  readonly choice: Body;
  /** What a chat upstream is offered it as. */
  readonly name: string;
  readonly arguments: string;
  /** The call as the client is given it, but for its ids. */
  readonly call: Body;
};

const parameters = { type: "object", properties: { path: { type: "string" } } };
const input = '*** Begin Patch\n+"ü" \\ 😀\n*** End Patch';
const wrapped = JSON.stringify({ input });
const args = '{ "path": "a/ü.txt" }';
const grammar = { type: "grammar", syntax: "lark", definition: "start: /.+/" };
const member = { type: "function", name: "status", parameters };

const rows: readonly Row[] = [
  {
    door: "responses",
    kind: "function",
    tools: [{ type: "function", name: "read_file", parameters }],
    choice: { type: "function", name: "read_file" },
    name: "read_file",
    arguments: args,
    call: { type: "function_call", name: "read_file", arguments: args },
  },
  {
    door: "responses",
    kind: "function with an unlawful name",
    tools: [{ type: "function", name: "files.read/檔", parameters }],
    choice: { type: "function", name: "files.read/檔" },
    name: "files_read__",
    arguments: args,
    call: { type: "function_call", name: "files.read/檔", arguments: args },
  },
  {
    door: "responses",
    kind: "custom",
    tools: [{ type: "custom", name: "patch" }],
    choice: { type: "custom", name: "patch" },
    name: "patch",
    arguments: wrapped,
    call: { type: "custom_tool_call", name: "patch", input },
  },
  {
    door: "responses",
    kind: "custom with a grammar, called with plain text",
    tools: [{ type: "custom", name: "patch", format: grammar }],
    choice: { type: "custom", name: "patch" },
    name: "patch",
    arguments: input,
    call: { type: "custom_tool_call", name: "patch", input },
  },
  {
    door: "responses",
    kind: "local_shell",
    tools: [{ type: "local_shell" }],
    choice: { type: "local_shell" },
    name: "local_shell",
    arguments: '{"command":["ls","-la"],"timeout_ms":5000}',
    call: {
      type: "local_shell_call",
      action: { type: "exec", command: ["ls", "-la"], env: {}, timeout_ms: 5000 },
    },
  },
  {
    door: "responses",
    kind: "shell",
    tools: [{ type: "shell" }],
    choice: { type: "shell" },
    name: "shell",
    arguments: '{"commands":["ls","git status"]}',
    call: { type: "shell_call", action: { commands: ["ls", "git status"] } },
  },
  {
    door: "responses",
    kind: "apply_patch",
    tools: [{ type: "apply_patch" }],
    choice: { type: "apply_patch" },
    name: "apply_patch",
    arguments: '{"operation":{"type":"create_file","path":"a","diff":"+x"}}',
    call: { type: "apply_patch_call", operation: { type: "create_file", path: "a", diff: "+x" } },
  },
  {
    door: "responses",
    kind: "tool_search",
    tools: [{ type: "tool_search", execution: "client", description: "Finds.", parameters }],
    choice: { type: "tool_search" },
    name: "tool_search",
    arguments: '{"query":"git"}',
    call: { type: "tool_search_call", execution: "client", arguments: { query: "git" } },
  },
  {
    door: "responses",
    kind: "function in a namespace",
    tools: [{ type: "namespace", name: "mcp__git", description: "Versions.", tools: [member] }],
    choice: { type: "function", name: "status", namespace: "mcp__git" },
    name: "mcp__git__status",
    arguments: args,
    call: { type: "function_call", namespace: "mcp__git", name: "status", arguments: args },
  },
  {
    door: "responses",
    kind: "custom in a namespace",
    tools: [{ type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] }],
    choice: { type: "custom", name: "exec", namespace: "functions" },
    name: "functions__exec",
    arguments: wrapped,
    call: { type: "custom_tool_call", namespace: "functions", name: "exec", input },
  },
  {
    door: "chat",
    kind: "function",
    tools: [{ type: "function", function: { name: "files.read", parameters } }],
    choice: { type: "function", function: { name: "files.read" } },
    name: "files_read",
    arguments: args,
    call: { kind: "function", name: "files.read", input: args },
  },
  {
    door: "chat",
    kind: "custom",
    tools: [{ type: "custom", custom: { name: "patch", format: { type: "grammar", grammar } } }],
    choice: { type: "custom", custom: { name: "patch" } },
    name: "patch",
    arguments: wrapped,
    call: { kind: "custom", name: "patch", input },
  },
];
const other = {
  chat: { type: "function", function: { name: "other" } },
  responses: { type: "function", name: "other" },
};

/** Every form of `tool_choice`, and whether a call may follow. */
const forms: readonly [string, (row: Row) => unknown, boolean][] = [
  ["nothing", () => undefined, true],
  ["auto", () => "auto", true],
  ["required", () => "required", true],
  ["none", () => "none", false],
  ["the tool", ({ choice }) => choice, true],
  ["allowing it", (row) => allowing(row, "auto", row.choice), true],
  ["requiring one of it", (row) => allowing(row, "required", row.choice), true],
  ["allowing another", (row) => allowing(row, "auto", other[row.door]), false],
];

const allowing = ({ door }: Row, mode: string, tool: Body): Body =>
  door === "chat"
    ? { type: "allowed_tools", allowed_tools: { mode, tools: [tool] } }
    : { type: "allowed_tools", mode, tools: [tool] };

/** The calls in an answer, as the client sees them. */
async function callsIn(door: DoorName, response: Response): Promise<Body[]> {
  if (door === "chat")
    return (await readAnswer(door, response)).calls.map(({ kind, name, input: said, id }) => ({
      kind,
      name,
      input: said,
      id,
    }));
  const text = await response.text();
  const whole = text.startsWith("{")
    ? (JSON.parse(text) as Body)
    : (readResponsesEvents(text).at(-1)?.["response"] as Body);
  return (whole["output"] as Body[]).filter(({ type }) => (type as string).endsWith("_call"));
}

describe("a tool of every kind, chosen in every way, on a chat upstream", () => {
  let upstream: FakeUpstream;
  let served: Served;
  let calling: Row | undefined;
  beforeAll(async () => {
    upstream = await fakeUpstream(({ body }) =>
      answerInChat(body, {
        calls: [{ id: "call_9", name: calling?.name ?? "", arguments: calling?.arguments ?? "" }],
      }),
    );
    served = await serve(onto("chat", upstream.url));
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  for (const row of rows)
    for (const [form, choose, mayCall] of forms)
      it.each([true, false])(
        `${row.door}: ${row.kind}, choosing ${form}, streamed %s`,
        async (stream) => {
          calling = row;
          const response = await askWithin(served, row.door, {
            tools: [...row.tools, other[row.door]],
            tool_choice: choose(row),
            stream,
          });
          expect(response.status).toBe(200);
          expect(response.headers.get("x-patchbay-plan")).toMatch(
            /^native=\d degraded=\d deferred=0 ignored=0$/,
          );
          const calls = await callsIn(row.door, response);
          expect(calls).toHaveLength(mayCall ? 1 : 0);
          for (const call of calls) expect(call).toMatchObject(row.call);
          for (const call of calls) expect(call["call_id"] ?? call["id"]).toBe("call_9");
          expect(upstream.requests.at(-1)?.body["tools"]).toBeInstanceOf(Array);
        },
      );
});

describe("what becomes of tools", () => {
  const twice = { id: "call_1", name: "patch", arguments: wrapped };
  const tools = [
    { type: "custom", name: "patch" },
    { type: "namespace", name: "mcp__git", tools: [member] },
  ];
  const strict = { headers: { "x-patchbay-strict": "true" } };

  it("passes strictness where it is undone on the way back, and not where something is lost", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "ok" }));
    await using served = await serve(onto("chat", upstream.url));
    expect((await askWithin(served, "responses", { tools }, strict)).status).toBe(200);

    const refused = await askWithin(
      served,
      "responses",
      { tools: [...tools, { type: "web_search" }, { type: "custom", name: "c", format: grammar }] },
      strict,
    );
    expect(refused.status).toBe(400);
    const { error } = (await refused.json()) as Body;
    expect(error).toMatchObject({ code: "plan.lossy", param: "tools[2]" });
    expect(error.message).toContain("`tools[2]` dropped");
    expect(error.message).toContain(
      "`tools[3]` changed: its grammar is described but not enforced",
    );
    expect(upstream.requests).toHaveLength(1);
  });

  it("is told in the plan of the answer, with what was withheld from it", async () => {
    await using upstream = await fakeUpstream(({ body }) =>
      answerInChat(body, { calls: [twice, { ...twice, id: "call_2" }] }),
    );
    await using served = await serve(onto("chat", upstream.url));
    const response = await askWithin(served, "responses", { tools, parallel_tool_calls: false });
    const { id, output } = (await response.json()) as Body;
    expect(output).toHaveLength(1);
    const plan = (await (await fetch(`${served.url}/v1/plans/${id as string}`)).json()) as Body;
    expect(plan["verdicts"]).toMatchObject({ native: 0, degraded: 2 });
    expect(plan["decisions"]).toContainEqual({
      path: "output.choices[0].calls[1]",
      action: "dropped",
      reason: "a call of `patch` is withheld: only one call per answer is allowed",
    });
    // Nobody cut the turn short: the client wanted no more.
    const [turn] = served.turns();
    expect(turn?.calls).toMatchObject({ given: 1, withheld: 1, truncated: false });
  });

  it("holds for the rest of the conversation", async () => {
    await using upstream = await fakeUpstream(({ body }) => answerInChat(body, { text: "ok" }));
    await using served = await serve(onto("chat", upstream.url));
    const response = await askWithin(served, "responses", {
      tools,
      input: [
        { type: "message", role: "developer", content: "Be brief." },
        { type: "function_call_output", call_id: "ghost", output: "?" },
        { type: "custom_tool_call", call_id: "a", name: "patch", input },
        {
          type: "function_call",
          call_id: "b",
          namespace: "mcp__git",
          name: "status",
          arguments: "{}",
        },
        { type: "message", role: "user", content: "Well?" },
        { type: "function_call_output", call_id: "b", output: "clean" },
        { type: "custom_tool_call_output", call_id: "a", output: "made" },
        { type: "web_search_call", id: "ws_1", status: "completed" },
      ],
    });
    expect(response.status).toBe(200);
    expect(upstream.requests[0]?.body["messages"]).toMatchObject([
      { role: "system", content: "Be brief." },
      {
        role: "assistant",
        tool_calls: [
          { id: "a", function: { name: "patch", arguments: wrapped } },
          { id: "b", function: { name: "mcp__git__status", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "made" },
      { role: "tool", tool_call_id: "b", content: "clean" },
      { role: "user", content: "Well?" },
    ]);
  });
});
