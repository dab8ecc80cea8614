import { describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { upstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Item, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";
import { writeRequest } from "./write-request.ts";

const profile: Profile = {
  name: "test",
  dialect: "chat",
  tools: {
    kinds: { "*": "native" },
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: false,
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "reasoning_content",
  streamUsage: true,
};
type Body = Fields & { readonly messages: readonly Fields[] };

function write(
  turn: Turn<UpstreamName>,
  more: Partial<Profile> = {},
  straight = false,
): { body: Body; decisions: readonly Decision[] } {
  const { text, decisions } = writeRequest(turn, {
    profile: { ...profile, ...more },
    model: "up",
    straight,
  });
  return { body: JSON.parse(text) as Body, decisions };
}

/** A turn as a chat client sends it, with names that need no change. */
const fromChat = (body: Fields): Turn<UpstreamName> =>
  readRequest({
    model: "m",
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  }) as unknown as Turn<UpstreamName>;

/** A turn as a client of another dialect sends it. */
const fromElsewhere = (
  items: readonly Item<UpstreamName>[],
  more: Partial<Turn<UpstreamName>> = {},
): Turn<UpstreamName> => ({
  dialect: "responses",
  model: "m",
  items,
  tools: [],
  params: {},
  stream: false,
  usageWanted: true,
  extra: { dialect: "responses", fields: {} },
  body: { input: [] },
  ...more,
});
const text = (words: string): Item<UpstreamName> => ({
  type: "message",
  role: "assistant",
  parts: [{ type: "text", text: words }],
});
const thought = (words: string): Item<UpstreamName> => ({
  type: "reasoning",
  summary: [],
  content: [words],
});
const call = (id: string, kind = "function"): Item<UpstreamName> => ({
  type: "call",
  id,
  kind,
  name: upstreamName("f"),
  input: "{}",
});
const result = (id: string, ...words: string[]): Item<UpstreamName> => ({
  type: "result",
  call: id,
  kind: "function",
  parts: words.map((one) => ({ type: "text", text: one })),
});
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

  it("asks for probabilities without alternatives", () => {
    const { body } = write(fromChat({ logprobs: true }));
    expect(body).toMatchObject({ logprobs: true });
    expect(body).not.toHaveProperty("top_logprobs");
  });

  it("leaves out what means nothing without tools", () => {
    const { body, decisions } = write(
      fromChat({ tool_choice: "none", parallel_tool_calls: false }),
    );
    expect(Object.keys(body)).toEqual(["model", "messages"]);
    expect(decisions.map(({ path, action }) => [path, action])).toEqual([
      ["tool_choice", "repaired"],
      ["parallel_tool_calls", "repaired"],
    ]);
  });

  it("calls parameters what the upstream calls them, and reports those it has not", () => {
    const turn = fromChat({ max_completion_tokens: 5, seed: 1 });
    const { body, decisions } = write(turn, { params: { maxTokens: "max_tokens", seed: null } });
    expect(body).toMatchObject({ max_tokens: 5 });
    expect(decisions).toMatchObject([{ path: "seed", action: "dropped" }]);
  });

  it("asks an upstream for what it can do of a format", () => {
    const response_format = { type: "json_schema", json_schema: { name: "n", schema: {} } };
    const turn = fromChat({ response_format });
    const json = write(turn, { formats: ["text", "json"] });
    expect(json.body.response_format).toEqual({ type: "json_object" });
    expect(json.decisions).toMatchObject([{ path: "response_format", action: "changed" }]);
    const none = write(turn, { formats: ["text"] });
    expect(none.body).not.toHaveProperty("response_format");
    expect(none.decisions).toMatchObject([{ path: "response_format", action: "dropped" }]);
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

describe("a request of another dialect", () => {
  const messagesOf = (...items: Item<UpstreamName>[]): readonly Fields[] =>
    write(fromElsewhere(items)).body.messages;

  it("has what an assistant says in one go in one message, and results right behind", () => {
    expect(
      messagesOf(
        thought("one"),
        text("Let me see."),
        thought("two"),
        call("a"),
        thought("three"),
        call("b"),
        result("a", "1", "2"),
        result("b", "3"),
        thought("four"),
        text("Done."),
      ),
    ).toEqual([
      {
        role: "assistant",
        content: "Let me see.",
        reasoning_content: "one\n\ntwo\n\nthree",
        tool_calls: [called("a"), called("b")],
      },
      { role: "tool", tool_call_id: "a", content: "1\n2" },
      { role: "tool", tool_call_id: "b", content: "3" },
      { role: "assistant", content: "Done.", reasoning_content: "four" },
    ]);
  });

  it("has text that stands between calls and results beside the calls", () => {
    const { body, decisions } = write(fromElsewhere([call("a"), text("wait"), result("a", "1")]));
    expect(body.messages).toEqual([
      { role: "assistant", content: "wait", tool_calls: [called("a")] },
      { role: "tool", tool_call_id: "a", content: "1" },
    ]);
    expect(decisions).toMatchObject([{ path: "input[1]", action: "repaired" }]);
  });

  it("has its text as one string", () => {
    const parts = [{ type: "text", text: "a" } as const, { type: "text", text: "b" } as const];
    expect(messagesOf({ type: "message", role: "user", parts })).toEqual([
      { role: "user", content: "a\n\nb" },
    ]);
  });

  it("has calls of other kinds as calls of functions", () => {
    expect(messagesOf(call("a", "local_shell"), call("b", "custom"))).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [called("a"), { id: "b", type: "custom", custom: { name: "f", input: "{}" } }],
      },
    ]);
  });

  it("shows images of results behind the results", () => {
    const image = { type: "image", url: "data:x" } as const;
    const seen: Item<UpstreamName> = {
      type: "result",
      call: "a",
      kind: "function",
      parts: [image],
    };
    const items = [call("a"), call("b"), seen, result("b", "2"), text("Done.")];
    const { body, decisions } = write(fromElsewhere(items));
    expect(body.messages.slice(1)).toEqual([
      { role: "tool", tool_call_id: "a", content: "The result is in the next user message." },
      { role: "tool", tool_call_id: "b", content: "2" },
      {
        role: "user",
        content: [
          { type: "text", text: "Result of call a:" },
          { type: "image_url", image_url: { url: "data:x" } },
        ],
      },
      { role: "assistant", content: "Done." },
    ]);
    expect(decisions).toMatchObject([{ path: "input[2]", action: "changed" }]);
    expect(
      write(fromElsewhere(items), { history: { resultMedia: ["image"] } }).body.messages[1],
    ).toEqual({
      role: "tool",
      tool_call_id: "a",
      content: [{ type: "image_url", image_url: { url: "data:x" } }],
    });
  });

  it("reports what chat cannot say", () => {
    const { body, decisions } = write(
      fromElsewhere(
        [
          {
            type: "message",
            role: "system",
            parts: [{ type: "text", text: "x" }],
            instructions: true,
          },
          {
            type: "message",
            role: "user",
            parts: [
              { type: "image", fileId: "f" },
              { type: "file", url: "u" },
              { type: "opaque", dialect: "responses", raw: {} },
              { type: "text", text: "a" },
            ],
            extra: { dialect: "responses", fields: { odd: 1 } },
          },
          { type: "opaque", dialect: "responses", raw: { type: "item_reference" } },
        ],
        {
          tools: [
            {
              type: "builtin",
              kind: "mcp",
              name: upstreamName("mcp"),
              dialect: "responses",
              raw: {},
            },
            { type: "namespace", name: "ns", tools: [] },
          ],
          format: { type: "opaque", dialect: "responses", raw: {} },
          extra: { dialect: "responses", fields: { client_metadata: {} } },
        },
      ),
    );
    expect(body).toEqual({
      model: "up",
      messages: [
        { role: "system", content: "x" },
        { role: "user", content: [{ type: "text", text: "a" }] },
      ],
    });
    expect(decisions.map(({ path, action }) => `${action} ${path}`)).toEqual([
      "dropped input[0].odd",
      "dropped input[0].content[0]",
      "dropped input[0].content[1]",
      "dropped input[0].content[2]",
      "dropped input[1]",
      "dropped tools[0]",
      "dropped tools[1]",
      "dropped text.format",
      "dropped client_metadata",
    ]);
  });
});

describe("reasoning", () => {
  const details = [{ type: "reasoning.text", text: "hm", signature: "s" }];
  const sealed: Item<UpstreamName> = {
    type: "reasoning",
    summary: [],
    content: [],
    encrypted: "x",
  };

  it.each<[Profile["reasoning"], Fields]>([
    ["reasoning_content", { reasoning_content: "hm" }],
    ["reasoning", { reasoning: "hm" }],
    ["reasoning_details", { reasoning_details: details }],
  ])("goes back as %s", (reasoning, field) => {
    const item: Item<UpstreamName> = { type: "reasoning", summary: [], content: ["hm"], details };
    const { body, decisions } = write(fromElsewhere([item, call("a")]), { reasoning });
    expect(body.messages).toEqual([
      { role: "assistant", content: null, ...field, tool_calls: [called("a")] },
    ]);
    expect(decisions).toEqual([]);
  });

  it("is made into details, and found in summaries", () => {
    const item: Item<UpstreamName> = { type: "reasoning", summary: ["a", "b"], content: [] };
    const turn = fromElsewhere([item, text("x")]);
    expect(write(turn, { reasoning: "reasoning_details" }).body.messages[0]).toMatchObject({
      reasoning_details: [{ type: "reasoning.text", text: "a\n\nb" }],
    });
  });

  it("is dropped openly, unless nobody could have read it", () => {
    const { body, decisions } = write(fromElsewhere([thought("hm"), sealed, text("a")]), {
      reasoning: "none",
    });
    expect(body.messages).toEqual([{ role: "assistant", content: "a" }]);
    expect(decisions).toMatchObject([{ path: "input[0]", action: "dropped" }]);
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

it("finds a client's words for what it did to them", () => {
  const turn = fromChat({
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b", reasoning: "hm", tool_calls: [called("a")] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "assistant", content: "c", reasoning: "hm" },
    ],
  });
  expect(write(turn, { reasoning: "none" }).decisions.map(({ path }) => path)).toEqual([
    "messages[1]",
    "messages[3]",
  ]);
});
