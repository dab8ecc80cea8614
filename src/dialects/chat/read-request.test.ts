import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

const hi = [{ role: "user", content: "Hi" }];
const read = (more: Fields): Turn => readRequest({ model: "m", messages: hi, ...more });

describe("tools", () => {
  it("are functions, custom tools and what we do not know", () => {
    const search = { type: "web_search", filters: {} };
    const parameters = { type: "object" };
    expect(
      read({
        tools: [
          { type: "function", function: { name: "f", description: "d", parameters, strict: true } },
          { type: "function", name: "flat", parameters, strict: null },
          { function: { name: "untyped" } },
          {
            type: "custom",
            custom: {
              name: "g",
              format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
            },
          },
          { type: "custom", name: "h", format: { type: "text" } },
          { type: "function", cache_control: 1, function: { name: "k", note: 2 } },
          search,
        ],
      }).tools,
    ).toEqual([
      { type: "function", name: "f", description: "d", schema: parameters, strict: true },
      { type: "function", name: "flat", schema: parameters },
      { type: "function", name: "untyped" },
      { type: "custom", name: "g", format: { type: "grammar", syntax: "lark", definition: "x" } },
      { type: "custom", name: "h", format: { type: "text" } },
      {
        type: "function",
        name: "k",
        extra: { dialect: "chat", fields: { cache_control: 1, function: { note: 2 } } },
      },
      { type: "builtin", kind: "web_search", name: "web_search", dialect: "chat", raw: search },
    ]);
  });

  it("are the same list for the same array", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    expect(read({ tools }).tools).toBe(read({ tools }).tools);
    expect(read({}).tools).toBe(read({ tools: null }).tools);
  });

  it("may be declared in the old form", () => {
    const turn = read({ functions: [{ name: "f", parameters: {} }], function_call: { name: "f" } });
    expect(turn.tools).toEqual([{ type: "function", name: "f", schema: {} }]);
    expect(turn.toolChoice).toEqual({ type: "tool", tool: { kind: "function", name: "f" } });
  });

  it("does not take parameters that are no object for a request to be forwarded as it is", () => {
    const tool = (parameters: unknown) => ({
      type: "function",
      function: { name: "f", parameters },
    });
    expect(read({ tools: [tool({}), tool(true)] }).repairs).toEqual([
      {
        path: "tools[1].function.parameters",
        action: "repaired",
        reason: "the parameters of a function are an object",
      },
    ]);
  });
});

describe("tool_choice", () => {
  const f = { kind: "function", name: "f" };
  it.each<[unknown, unknown]>([
    [undefined, undefined],
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "required" }],
    [
      { type: "function", function: { name: "f" } },
      { type: "tool", tool: f },
    ],
    [
      { type: "function", name: "f" },
      { type: "tool", tool: f },
    ],
    [
      { type: "custom", custom: { name: "g" } },
      { type: "tool", tool: { kind: "custom", name: "g" } },
    ],
    [{ type: "web_search" }, { type: "tool", tool: { kind: "web_search", name: "web_search" } }],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "f" } }] },
      },
      { type: "allowed", mode: "required", tools: [f] },
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
      { type: "allowed", mode: "auto", tools: [f] },
    ],
  ])("%j", (tool_choice, choice) => {
    const tools = [{ type: "function", function: { name: "f" } }];
    expect(read({ tools, tool_choice }).toolChoice).toEqual(choice);
  });
});

describe("response_format", () => {
  const schema = { type: "object" };
  const grammar = { type: "grammar", grammar: "x" };
  it.each<[unknown, unknown]>([
    [null, undefined],
    [{ type: "text" }, { type: "text" }],
    [{ type: "json_object" }, { type: "json" }],
    [{ type: "json_object", schema: null }, { type: "json" }],
    [
      { type: "json_object", schema },
      { type: "schema", name: "answer", schema },
    ],
    [
      { type: "json_schema", json_schema: { name: "n", schema, strict: true } },
      { type: "schema", name: "n", schema, strict: true },
    ],
    [grammar, { type: "opaque", dialect: "chat", raw: grammar }],
  ])("%j", (response_format, format) => {
    expect(read({ response_format }).format).toEqual(format);
  });
});

describe("parameters", () => {
  it("are sorted into known and unknown", () => {
    const turn = read({ max_tokens: 5, stop: "x", n: 2, seed: null, top_k: 3, moderation: {} });
    expect(turn.params).toEqual({ maxTokens: 5, stop: ["x"], n: 2 });
    expect(turn.extra).toEqual({ dialect: "chat", fields: { top_k: 3, moderation: {} } });
  });

  it("ask for probabilities", () => {
    expect(read({ logprobs: true }).params).toEqual({ logprobs: 0 });
    expect(read({ logprobs: true, top_logprobs: 2 }).params).toEqual({ logprobs: 2 });
    expect(read({ logprobs: false }).params).toEqual({});
  });

  it("ask for a stream and its counts", () => {
    const turn = read({
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(turn).toMatchObject({ stream: true, usageWanted: true });
    expect(turn.extra.fields).toEqual({ stream_options: { include_obfuscation: false } });
    expect(read({ stream: null, stream_options: null })).toMatchObject({
      stream: false,
      usageWanted: false,
    });
  });

  it("leave the body as it came", () => {
    const body = { model: "m", messages: hi };
    expect(readRequest(body).body).toBe(body);
  });
});

describe("a faulty request", () => {
  const user = (content: unknown): Fields => ({ messages: [{ role: "user", content }] });
  const call = (raw: unknown): Fields => ({
    messages: [...hi, { role: "assistant", tool_calls: [raw] }],
  });

  it.each<[Fields, string]>([
    [{ messages: undefined }, "messages"],
    [{ messages: null }, "messages"],
    [{ messages: 5 }, "messages"],
    [{ messages: "x" }, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: [null] }, "messages[0]"],
    [{ messages: [[]] }, "messages[0]"],
    [{ messages: [...hi, {}] }, "messages[1].role"],
    [{ messages: [...hi, { role: "robot", content: "x" }] }, "messages[1].role"],
    [{ messages: [{ role: "user", content: "x", name: 5 }] }, "messages[0].name"],
    [user(undefined), "messages[0].content"],
    [user(null), "messages[0].content"],
    [user(5), "messages[0].content"],
    [user({}), "messages[0].content"],
    [user([null]), "messages[0].content[0]"],
    [user(["x"]), "messages[0].content[0]"],
    [user([{}]), "messages[0].content[0].type"],
    [user([{ type: "text" }]), "messages[0].content[0].text"],
    [user([{ type: "image_url" }]), "messages[0].content[0].image_url"],
    [user([{ type: "input_audio", input_audio: {} }]), "messages[0].content[0].input_audio.data"],
    [user([{ type: "file", file: "x" }]), "messages[0].content[0].file"],
    [{ messages: [...hi, { role: "tool", content: "x" }] }, "messages[1].tool_call_id"],
    [{ messages: [...hi, { role: "tool", tool_call_id: "a", content: 5 }] }, "messages[1].content"],
    [{ messages: [...hi, { role: "assistant", tool_calls: "x" }] }, "messages[1].tool_calls"],
    [{ messages: [...hi, { role: "assistant", content: 5 }] }, "messages[1].content"],
    [
      { messages: [...hi, { role: "assistant", function_call: {} }] },
      "messages[1].function_call.name",
    ],
    [call(null), "messages[1].tool_calls[0]"],
    [call({}), "messages[1].tool_calls[0].id"],
    [call({ id: "a" }), "messages[1].tool_calls[0].function"],
    [call({ id: "a", function: {} }), "messages[1].tool_calls[0].function.name"],
    [
      call({ id: "a", function: { name: "f", arguments: {} } }),
      "messages[1].tool_calls[0].function.arguments",
    ],
    [{ tools: "x" }, "tools"],
    [{ tools: {} }, "tools"],
    [{ tools: [null] }, "tools[0]"],
    [{ tools: ["x"] }, "tools[0]"],
    [{ tools: [{}] }, "tools[0].type"],
    [{ tools: [{ type: 5 }] }, "tools[0].type"],
    [{ tools: [{ type: "function" }] }, "tools[0].function"],
    [{ tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
    [{ tools: [{ type: "function", function: { name: "" } }] }, "tools[0].function.name"],
    [
      { tools: [{ type: "function", function: { name: "f", parameters: "x" } }] },
      "tools[0].function.parameters",
    ],
    [{ tools: [{ type: "custom", custom: null }] }, "tools[0].custom"],
    [{ functions: [{}] }, "functions[0].name"],
    [{ tool_choice: 5 }, "tool_choice"],
    [{ tool_choice: "sometimes" }, "tool_choice"],
    [{ tool_choice: [] }, "tool_choice"],
    [{ tool_choice: {} }, "tool_choice.type"],
    [{ tool_choice: { type: "function" } }, "tool_choice.function"],
    [{ tool_choice: { type: "function", function: {} } }, "tool_choice.function.name"],
    [{ tool_choice: { type: "allowed_tools" } }, "tool_choice.mode"],
    [
      { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [5] } } },
      "tool_choice.allowed_tools.tools[0]",
    ],
    [{ response_format: "json" }, "response_format"],
    [{ response_format: { type: "json_schema" } }, "response_format.json_schema"],
    [
      { response_format: { type: "json_schema", json_schema: {} } },
      "response_format.json_schema.name",
    ],
    [{ stream: "yes" }, "stream"],
    [{ stream: true, stream_options: 5 }, "stream_options"],
    [{ stream: true, stream_options: { include_usage: 1 } }, "stream_options.include_usage"],
    [{ temperature: "hot" }, "temperature"],
    [{ model: 5 }, "model"],
  ])("%j is refused for its %s", (more, param) => {
    const fault = faultOf(() => read(more));
    expect(fault).toMatchObject({ code: "request.invalid", detail: { param }, status: 400 });
    expect(fault.message).toContain(`\`${param}\``);
  });

  it("for the other door is shown there", () => {
    expect(faultOf(() => read({ messages: undefined, input: "Hi" })).message).toBe(
      "`messages` is missing; a request with `input` goes to /v1/responses.",
    );
  });

  it.each([undefined, null, ""])("with the model %j names none", (model) => {
    expect(faultOf(() => read({ model }))).toMatchObject({
      code: "request.missing_model",
      detail: { param: "model" },
    });
  });
});

function faultOf(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}
