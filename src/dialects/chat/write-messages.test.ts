import { describe, expect, it } from "vitest";
import { fromChat, fromElsewhere, write } from "../../../test/support/chat-requests.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Extra, Fields, Item } from "../../turn/turn.ts";

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

  it("says that nothing was thought where that is known, and what was where anything was", () => {
    const [silent, , thoughtful] = messagesOf(
      thought(""),
      call("a"),
      result("a"),
      thought(" "),
      text("So."),
      thought("two"),
      call("b"),
    );
    expect(silent).toMatchObject({ reasoning_content: "" });
    expect(thoughtful).toMatchObject({ reasoning_content: "two", content: "So." });
  });

  it("has the names of tools with their results if they are given", () => {
    const named = messagesOf(call("a"), { ...result("a", "1"), name: "f" } as Item<UpstreamName>);
    expect(named[1]).toEqual({ role: "tool", tool_call_id: "a", name: "f", content: "1" });
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

  it("leaves in a result what the plan has left there", () => {
    const seen: Item<UpstreamName> = {
      type: "result",
      call: "a",
      kind: "function",
      parts: [{ type: "image", url: "data:x" }],
    };
    expect(messagesOf(call("a"), seen)[1]).toEqual({
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
        {
          role: "user",
          content: [
            "(Here was image content that cannot be shown.)",
            "(Here was file content that cannot be shown.)",
            "(Here was content that cannot be shown.)",
            "a",
          ].join("\n\n"),
        },
      ],
    });
    expect(decisions.map(({ path, action }) => `${action} ${path}`)).toEqual([
      "dropped input[0].odd",
      "dropped input[0].content",
      "dropped input[0].content",
      "dropped input[0].content",
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

  it.each<[Profile["reasoning"], Fields, string[]]>([
    ["reasoning_content", { reasoning_content: "hm", reasoning_details: details }, []],
    ["reasoning", { reasoning: "hm" }, ["dropped"]],
    ["reasoning_details", { reasoning_details: details }, []],
  ])("goes back as %s, and its signature where that is not too much", (reasoning, field, told) => {
    const item: Item<UpstreamName> = { type: "reasoning", summary: [], content: ["hm"], details };
    const { body, decisions } = write(fromElsewhere([item, call("a")]), { reasoning });
    expect(body.messages).toEqual([
      { role: "assistant", content: null, ...field, tool_calls: [called("a")] },
    ]);
    expect(decisions.map(({ action }) => action)).toEqual(told);
  });

  it("goes back with what else came with it, whatever form the upstream takes", () => {
    const extra: Extra = { dialect: "chat", fields: { reasoning_opaque: "s" } };
    const item: Item<UpstreamName> = { type: "reasoning", summary: [], content: [], extra };
    const { body, decisions } = write(fromElsewhere([item, call("a")]), { reasoning: "none" });
    expect(body.messages).toMatchObject([{ reasoning_opaque: "s", tool_calls: [called("a")] }]);
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
