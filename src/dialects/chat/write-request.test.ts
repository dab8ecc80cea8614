import { describe, expect, it } from "vitest";
import { fromChat, write } from "../../../test/support/chat-requests.ts";
import type { Fields } from "../../turn/turn.ts";

const called = (id: string): Fields => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
});

describe("a chat request that crosses", () => {
  const body = {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "developer", content: "Really." },
      {
        role: "user",
        name: "ann",
        content: [
          { type: "text", text: "a", cache_control: 1 },
          { type: "image_url", image_url: { url: "i", detail: "low" } },
          { type: "input_audio", input_audio: { data: "d", format: "wav" } },
          { type: "file", file: { file_data: "f", filename: "n" } },
          { type: "video_url", video_url: { url: "v" } },
        ],
        weight: 1,
      },
      {
        role: "assistant",
        content: "Let me see.",
        reasoning_content: "hm",
        tool_calls: [
          { ...called("a"), extra_content: { signature: "s" } },
          { id: "b", type: "custom", custom: { name: "g", input: "x" } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "assistant", content: null, refusal: "No." },
    ],
    tools: [
      { type: "function", function: { name: "f", parameters: { type: "object" }, strict: true } },
      {
        type: "custom",
        custom: {
          name: "g",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
        },
      },
      { type: "web_search", filters: {} },
      { type: "function", cache_control: 1, function: { name: "k", note: 2 } },
    ],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
    },
    response_format: { type: "json_schema", json_schema: { name: "n", schema: {}, strict: true } },
    temperature: 1,
    max_completion_tokens: 5,
    stop: ["x"],
    logprobs: true,
    top_logprobs: 2,
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    top_k: 3,
  };

  it("says the same", () => {
    expect(write(fromChat(body))).toEqual({ body: { ...body, model: "up" }, decisions: [] });
  });

  it("says the same forms of choice and format", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    for (const tool_choice of ["auto", "none", "required", tools[0], { type: "web_search" }])
      expect(write(fromChat({ tools, tool_choice })).body).toMatchObject({ tool_choice });
    for (const response_format of [{ type: "json_object" }, { type: "grammar", grammar: "x" }])
      expect(write(fromChat({ response_format })).body).toMatchObject({ response_format });
  });

  it("writes parameters that are just true or false as the object that they stand for", () => {
    const tools = [true, false].map((parameters) => ({
      type: "function",
      function: { name: `f_${parameters}`, parameters },
    }));
    expect(write(fromChat({ tools })).body).toMatchObject({
      tools: [
        {
          function: { parameters: { type: "object", properties: {}, additionalProperties: true } },
        },
        { function: { parameters: { not: {} } } },
      ],
    });
  });

  it("asks for probabilities without alternatives", () => {
    const { body } = write(fromChat({ logprobs: true }));
    expect(body).toMatchObject({ logprobs: true });
    expect(body).not.toHaveProperty("top_logprobs");
  });

  it("leaves out what means nothing without tools", () => {
    const turn = fromChat({ tools: [], tool_choice: "none", parallel_tool_calls: false });
    const { body, decisions } = write(turn);
    expect(Object.keys(body)).toEqual(["model", "messages"]);
    expect(turn.repairs?.map(({ path, action }) => [path, action])).toEqual([
      ["tools", "repaired"],
      ["tool_choice", "repaired"],
      ["parallel_tool_calls", "repaired"],
    ]);
    expect(decisions).toEqual([]);
  });

  it("calls parameters what the upstream calls them, and reports those it has not", () => {
    const turn = fromChat({ max_completion_tokens: 5, seed: 1 });
    const { body, decisions } = write(turn, { params: { maxTokens: "max_tokens", seed: null } });
    expect(body).toMatchObject({ max_tokens: 5 });
    expect(decisions).toMatchObject([{ path: "seed", action: "dropped" }]);
  });

  it("does not ask for counts where the upstream would refuse", () => {
    const asked = fromChat({ stream: true, stream_options: { include_usage: true } });
    const { body, decisions } = write(asked, { streamUsage: false });
    expect(body).not.toHaveProperty("stream_options");
    expect(decisions).toMatchObject([{ path: "stream_options.include_usage", action: "dropped" }]);
  });

  it("keeps messages apart that the client kept apart", () => {
    const messages = [
      { role: "assistant", content: "a" },
      { role: "assistant", content: "b", reasoning_content: "hm" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "c" },
          { type: "text", text: "d" },
        ],
      },
    ];
    expect(write(fromChat({ messages })).body.messages).toEqual(messages);
  });
});

describe("what an upstream must be told in every request", () => {
  const fields = { split: true, thinking: { keep: "all" }, seed: null };

  it.each([true, false])("is said unless the client says it, straight: %s", (straight) => {
    const sent = (body: Fields): Fields => write(fromChat(body), { fields }, straight).body;
    expect(sent({})).toMatchObject({ split: true, thinking: { keep: "all" } });
    expect(sent({})).not.toHaveProperty("seed");
    expect(sent({ split: false, thinking: {} })).toMatchObject({ split: false, thinking: {} });
    expect(sent({ split: null })).toMatchObject({ split: true });
    expect(write(fromChat({}), { fields }, straight).decisions).toEqual([]);
  });
});

describe("a chat request on the straight lane", () => {
  it("is the client's own under another model", () => {
    const body = {
      tools: [{ odd: 1, type: "x" }],
      tool_choice: "any",
      messages: [{ role: "user", content: "" }],
    };
    expect(write(fromChat(body), {}, true)).toEqual({
      body: { ...body, model: "up" },
      decisions: [],
    });
    expect(write(fromChat({ tools: null }), {}, true).body.tools).toBeNull();
  });

  it("asks for counts in a stream, so that there are some", () => {
    const turn = fromChat({ stream: true, stream_options: { include_obfuscation: false } });
    expect(write(turn, {}, true).body.stream_options).toEqual({
      include_obfuscation: false,
      include_usage: true,
    });
    expect(write(turn, { streamUsage: false }, true).body.stream_options).toEqual({
      include_obfuscation: false,
    });
  });
});
