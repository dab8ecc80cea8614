import { describe, expect, it } from "vitest";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

const read = (more: Fields): Turn => readRequest({ model: "m", input: "Hi", ...more });
const itemsOf = (...input: unknown[]): readonly Item[] => read({ input }).items;

describe("a Responses request", () => {
  it("is a user's message if its input is a string", () => {
    expect(itemsOf()).toEqual([]);
    expect(read({ input: "Hello" }).items).toEqual([
      { type: "message", role: "user", parts: [{ type: "text", text: "Hello" }] },
    ]);
  });

  it("puts its instructions first, marked as such", () => {
    expect(read({ instructions: "Be brief." }).items).toEqual([
      {
        type: "message",
        role: "system",
        parts: [{ type: "text", text: "Be brief." }],
        instructions: true,
      },
      { type: "message", role: "user", parts: [{ type: "text", text: "Hi" }] },
    ]);
  });

  it("reads messages in the easy and in the full form", () => {
    expect(
      itemsOf(
        { role: "developer", content: "Rules." },
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          phase: "commentary",
          content: [
            { type: "output_text", text: "a", annotations: [{ type: "x" }], logprobs: [] },
            { type: "refusal", refusal: "no" },
          ],
        },
      ),
    ).toEqual([
      { type: "message", role: "developer", parts: [{ type: "text", text: "Rules." }] },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        parts: [
          { type: "text", text: "a", annotations: [{ type: "x" }], logprobs: [] },
          { type: "refusal", text: "no" },
        ],
      },
    ]);
  });

  it("reads images, files and sounds, also as Chat writes them", () => {
    const [message] = itemsOf({
      role: "user",
      content: [
        { type: "input_image", image_url: "https://a/b.png", detail: "low" },
        { type: "image_url", image_url: { url: "https://c", detail: "high" } },
        { type: "input_file", file_id: "file_1", filename: "a.pdf", file_data: null },
        { type: "file", file: { file_data: "data:,", filename: "b" } },
        { type: "input_audio", input_audio: { data: "AA==", format: "wav" } },
        { type: "input_video", video_url: "https://v" },
        { type: "input_text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } },
      ],
    });
    expect(message).toMatchObject({
      parts: [
        { type: "image", url: "https://a/b.png", detail: "low" },
        { type: "image", url: "https://c", detail: "high" },
        { type: "file", fileId: "file_1", name: "a.pdf" },
        { type: "file", data: "data:,", name: "b" },
        { type: "audio", data: "AA==", format: "wav" },
        { type: "opaque", raw: { type: "input_video" } },
        { type: "text", extra: { fields: { prompt_cache_breakpoint: { mode: "explicit" } } } },
      ],
    });
  });

  it("reads reasoning with summary, content and seal", () => {
    expect(
      itemsOf({
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "s" }],
        content: [{ type: "reasoning_text", text: "c" }],
        encrypted_content: "sealed",
      }),
    ).toEqual([
      { type: "reasoning", id: "rs_1", summary: ["s"], content: ["c"], encrypted: "sealed" },
    ]);
  });

  it("reads calls and results of functions and custom tools", () => {
    expect(
      itemsOf(
        {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: "look",
          namespace: "files",
          arguments: "{}",
          caller: { type: "direct" },
        },
        { type: "function_call_output", call_id: "call_1", output: "found" },
        { type: "custom_tool_call", call_id: "call_2", name: "patch", input: "*** x" },
        {
          type: "custom_tool_call_output",
          call_id: "call_2",
          output: [
            { type: "input_text", text: "done" },
            { type: "input_image", image_url: "data:," },
          ],
        },
      ),
    ).toEqual([
      {
        type: "call",
        id: "call_1",
        kind: "function",
        name: "look",
        namespace: "files",
        input: "{}",
        itemId: "fc_1",
        extra: { dialect: "responses", fields: { caller: { type: "direct" } } },
      },
      {
        type: "result",
        call: "call_1",
        kind: "function",
        parts: [{ type: "text", text: "found" }],
      },
      { type: "call", id: "call_2", kind: "custom", name: "patch", input: "*** x" },
      {
        type: "result",
        call: "call_2",
        kind: "custom",
        parts: [
          { type: "text", text: "done" },
          { type: "image", url: "data:," },
        ],
      },
    ]);
  });

  it("reads calls of the tools that clients run by their kind", () => {
    const action = { type: "exec", command: ["ls"], env: {} };
    const items = itemsOf(
      { type: "local_shell_call", id: "lsh_1", call_id: "c1", action, status: "completed" },
      { type: "local_shell_call_output", id: "c1", output: "a b" },
      { type: "shell_call", call_id: "c2", action: { commands: ["ls"] }, environment: null },
      { type: "shell_call_output", call_id: "c2", output: [{ stdout: "a" }] },
      { type: "apply_patch_call", call_id: "c3", operation: { type: "delete_file", path: "p" } },
      { type: "apply_patch_call_output", call_id: "c3", status: "failed", output: "no" },
      { type: "tool_search_call", call_id: "c4", execution: "client", arguments: { goal: "g" } },
      { type: "tool_search_output", call_id: "c4", execution: "client", tools: [{ type: "x" }] },
    );
    expect(items).toMatchObject([
      { type: "call", kind: "local_shell", name: "local_shell", input: JSON.stringify(action) },
      { type: "result", kind: "local_shell", call: "c1", parts: [{ text: "a b" }] },
      { type: "call", kind: "shell", input: '{"commands":["ls"]}' },
      { type: "result", kind: "shell", parts: [{ text: '[{"stdout":"a"}]' }] },
      { type: "call", kind: "apply_patch", input: '{"type":"delete_file","path":"p"}' },
      { type: "result", kind: "apply_patch", extra: { fields: { status: "failed" } } },
      { type: "call", kind: "tool_search", input: '{"goal":"g"}' },
      { type: "result", kind: "tool_search", extra: { fields: { tools: [{ type: "x" }] } } },
    ]);
  });

  it.each<[string, Fields]>([
    ["a reference", { type: "item_reference", id: "msg_1" }],
    ["a bare reference", { id: "msg_1" }],
    ["a hosted search", { type: "web_search_call", id: "ws_1", status: "completed" }],
    ["a call of a server", { type: "mcp_call", id: "mcp_1", name: "n", arguments: "{}" }],
    ["an approval", { type: "mcp_approval_response", approval_request_id: "a", approve: true }],
    ["a compaction", { type: "compaction", encrypted_content: "x" }],
    ["tools that come later", { type: "additional_tools", role: "developer", tools: [] }],
    [
      "a shell of the provider",
      {
        type: "shell_call",
        call_id: "c",
        action: { commands: [] },
        environment: { type: "container_reference", container_id: "k" },
      },
    ],
    [
      "a tool search of the provider",
      { type: "tool_search_call", call_id: null, execution: "server", arguments: {} },
    ],
    [
      "the result of a function on its own",
      { type: "function_call_output", name: "f", output: "" },
    ],
    ["something new", { type: "brand_new", deep: { er: [1] } }],
  ])("keeps %s whole", (_, raw) => {
    expect(itemsOf(raw)).toMatchObject([{ type: "opaque", dialect: "responses", raw }]);
  });

  it("reads tools of every kind, also as Chat writes them", () => {
    const schema = { type: "object" };
    const { tools } = read({
      tools: [
        { type: "function", name: "a", parameters: schema, strict: false, defer_loading: true },
        { type: "function", function: { name: "b", description: "B", parameters: schema } },
        { type: "custom", name: "c", format: { type: "grammar", syntax: "lark", definition: "x" } },
        {
          type: "custom",
          custom: {
            name: "d",
            format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
          },
        },
        { type: "namespace", name: "n", tools: [{ type: "function", name: "e" }] },
        { type: "web_search", search_context_size: "low" },
        { type: "mcp", server_label: "s", server_url: "https://s" },
      ],
    });
    const format = { type: "grammar", syntax: "lark", definition: "x" };
    expect(tools).toEqual([
      {
        type: "function",
        name: "a",
        schema,
        strict: false,
        extra: { dialect: "responses", fields: { defer_loading: true } },
      },
      { type: "function", name: "b", description: "B", schema, strict: false },
      { type: "custom", name: "c", format },
      { type: "custom", name: "d", format },
      { type: "namespace", name: "n", tools: [{ type: "function", name: "e" }] },
      {
        type: "builtin",
        kind: "web_search",
        name: "web_search",
        dialect: "responses",
        raw: { type: "web_search", search_context_size: "low" },
      },
      {
        type: "builtin",
        kind: "mcp",
        name: "s",
        dialect: "responses",
        raw: { type: "mcp", server_label: "s", server_url: "https://s" },
      },
    ]);
  });

  it("reads the same list of tools only once", () => {
    const tools = [{ type: "function", name: "a" }];
    expect(read({ tools }).tools).toBe(read({ tools }).tools);
    expect(read({}).tools).toBe(read({ tools: null }).tools);
  });

  it.each<[unknown, unknown]>([
    [undefined, undefined],
    ["required", { type: "required" }],
    [
      { type: "function", name: "f", namespace: "n" },
      { type: "tool", tool: { kind: "function", name: "f", namespace: "n" } },
    ],
    [
      { type: "function", function: { name: "f" } },
      { type: "tool", tool: { kind: "function", name: "f" } },
    ],
    [
      { type: "custom", name: "c" },
      { type: "tool", tool: { kind: "custom", name: "c" } },
    ],
    [{ type: "web_search" }, { type: "tool", tool: { kind: "web_search", name: "web_search" } }],
    [
      { type: "mcp", server_label: "s" },
      { type: "tool", tool: { kind: "mcp", name: "s" } },
    ],
    [
      { type: "mcp", server_label: "s", name: "t" },
      { type: "tool", tool: { kind: "mcp", name: "t", namespace: "s" } },
    ],
    [
      { type: "namespace", name: "s" },
      { type: "allowed", mode: "required", tools: [{ kind: "namespace", name: "s" }] },
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "namespace", name: "s" }] },
      { type: "allowed", mode: "auto", tools: [{ kind: "namespace", name: "s" }] },
    ],
    [
      { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "f" }] },
      { type: "allowed", mode: "required", tools: [{ kind: "function", name: "f" }] },
    ],
    [
      { type: "allowed_tools", allowed_tools: { tools: [{ type: "shell" }] } },
      { type: "allowed", mode: "auto", tools: [{ kind: "shell", name: "shell" }] },
    ],
  ])("reads the choice %j", (given, choice) => {
    expect(read({ tool_choice: given }).toolChoice).toEqual(choice);
  });

  it.each<[unknown, unknown]>([
    [{ type: "text" }, { type: "text" }],
    [{ type: "json_object" }, { type: "json" }],
    [
      { type: "json_schema", name: "n", schema: {}, strict: true },
      { type: "schema", name: "n", schema: {}, strict: true },
    ],
    [
      { type: "json_schema", json_schema: { name: "n", schema: {} } },
      { type: "schema", name: "n", schema: {} },
    ],
    [
      { type: "grammar", grammar: "x" },
      { type: "opaque", dialect: "responses", raw: { type: "grammar", grammar: "x" } },
    ],
  ])("reads the format %j", (given, format) => {
    expect(read({ text: { format: given } }).format).toEqual(format);
  });

  it("sorts parameters it knows from fields it does not, in groups too", () => {
    const { params, extra } = read({
      max_output_tokens: 5,
      temperature: null,
      reasoning: { effort: "low", summary: "auto", context: "all" },
      text: { verbosity: "low", format: { type: "text" }, more: 1 },
      stream_options: { include_obfuscation: false },
      context_management: [{ type: "compaction" }],
    });
    expect(params).toEqual({
      maxTokens: 5,
      effort: "low",
      reasoningSummary: "auto",
      verbosity: "low",
    });
    expect(extra).toEqual({
      dialect: "responses",
      fields: {
        reasoning: { context: "all" },
        text: { more: 1 },
        stream_options: { include_obfuscation: false },
        context_management: [{ type: "compaction" }],
      },
    });
  });

  it.each<[Fields, Fields]>([
    [{ include: ["message.output_text.logprobs"] }, { logprobs: 0 }],
    [{ include: ["message.output_text.logprobs"], top_logprobs: 3 }, { logprobs: 3 }],
    [{ include: ["reasoning.encrypted_content"] }, { include: ["reasoning.encrypted_content"] }],
    [{ top_logprobs: 0 }, {}],
    [{ top_logprobs: 2 }, { logprobs: 2 }],
  ])("takes %j for one wish", (given, params) => {
    expect(read(given).params).toEqual(params);
  });

  it("needs no input where the conversation is kept elsewhere", () => {
    expect(readRequest({ model: "m", previous_response_id: "resp_1" }).items).toEqual([]);
  });
});

it("reads the tools that items declare like those of the list", () => {
  const tool = { type: "function", name: "late", parameters: { type: "object" } };
  const tools = [tool, { type: "function", function: { name: "nested" } }, { type: "function" }];
  const items = itemsOf(
    { type: "additional_tools", role: "developer", tools },
    { type: "tool_search_output", execution: "server", tools },
    { type: "tool_search_output", call_id: "c", execution: "client", tools },
  );
  const declares = {
    tools: [...read({ tools: [tool] }).tools, { type: "function", name: "nested", strict: false }],
    unreadable: [2],
  };
  expect(items).toMatchObject([
    { type: "opaque", declares },
    { type: "opaque", declares },
    { type: "result", kind: "tool_search", declares },
  ]);
});

it("repairs parts in another form wherever they stand", () => {
  const stray = [{ type: "text", text: "a" }];
  const { repairs } = read({
    input: [
      { role: "user", content: [...stray, ...stray] },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: stray },
    ],
  });
  expect(repairs?.map(({ path }) => path)).toEqual(["input[0].content", "input[2].output"]);
});

it("does not take parameters that are no object for a request to be forwarded as it is", () => {
  const tool = (parameters: unknown) => ({ type: "function", name: "f", parameters });
  const group = { type: "namespace", name: "n", tools: [tool({}), tool(false)] };
  expect(read({ tools: [tool(true), group] }).repairs?.map(({ path }) => path)).toEqual([
    "tools[0].parameters",
    "tools[1].tools[1].parameters",
  ]);
});
