import { describe, expect, it } from "vitest";
import type { Fields } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

const ask = (more: Fields = {}) =>
  readRequest({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }], ...more });

describe("a Messages request", () => {
  it("is read with its system prompt as instructions", () => {
    const { items, places, params } = ask({ system: [{ type: "text", text: "Be brief." }] });
    expect(items).toEqual([
      {
        type: "message",
        role: "system",
        parts: [{ type: "text", text: "Be brief." }],
        instructions: true,
      },
      { type: "message", role: "user", parts: [{ type: "text", text: "Hi" }] },
    ]);
    expect(places).toEqual([0, 0]);
    expect(params).toEqual({ maxTokens: 9 });
  });

  it("holds results, their failure and what follows them", () => {
    const { items } = ask({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: { x: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: "no", is_error: true },
            { type: "text", text: "Go on." },
          ],
        },
      ],
    });
    expect(items.slice(1)).toEqual([
      { type: "call", id: "a", kind: "function", name: "f", input: '{"x":1}' },
      {
        type: "result",
        call: "a",
        kind: "function",
        parts: [{ type: "text", text: "no" }],
        isError: true,
      },
      { type: "message", role: "user", parts: [{ type: "text", text: "Go on." }] },
    ]);
  });

  it("reads thoughts with what they are signed with, and those that nobody signed", () => {
    const { items } = ask({
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm", signature: "s" },
            { type: "redacted_thinking", data: "d" },
            { type: "thinking", thinking: "So", signature: "patchbay:unsigned" },
          ],
        },
      ],
    });
    expect(items).toMatchObject([
      { type: "reasoning", summary: ["Hm"], encrypted: "s" },
      { type: "reasoning", summary: [], encrypted: "d" },
      { type: "reasoning", summary: ["So"] },
    ]);
    expect(items[2]).not.toHaveProperty("encrypted");
  });

  it("knows a tool by its family, whatever its version", () => {
    const { tools, items } = ask({
      tools: [
        { type: "bash_20250124", name: "bash" },
        { type: "text_editor_20990101", name: "edit" },
        { type: "novelty_1", name: "n" },
      ],
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "bash", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
      ],
    });
    expect(tools).toMatchObject([
      { type: "builtin", kind: "bash", name: "bash" },
      { type: "builtin", kind: "text_editor", name: "edit" },
      { type: "builtin", kind: "novelty_1", name: "n" },
    ]);
    expect(items.slice(1)).toMatchObject([{ kind: "bash" }, { kind: "bash", parts: [] }]);
  });

  it("holds back deferred tools until a result refers to them", () => {
    const tools = [
      { name: "search", input_schema: {} },
      { name: "later", input_schema: {}, defer_loading: true },
    ];
    const deferred = (more: Fields): unknown[] =>
      ask({ tools, ...more }).tools.map((tool) => "deferred" in tool && tool.deferred);
    expect(deferred({})).toEqual([false, true]);
    const content = [
      {
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "tool_reference", tool_name: "later" }],
      },
    ];
    expect(deferred({ messages: [{ role: "user", content }] })).toEqual([false, false]);
    const found = { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" };
    expect(deferred({ tools: [...tools, found] })).toEqual([false, false, false]);
  });

  it.each([
    [{ thinking: { type: "disabled" } }, { thinking: "disabled", effort: "none" }],
    [
      { thinking: { type: "enabled", budget_tokens: 5000 } },
      { thinking: "enabled", thinkingBudget: 5000, effort: "medium" },
    ],
    [
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "max" } },
      { thinking: "adaptive", effort: "max", reasoningSummary: "auto" },
    ],
    [
      { stop_sequences: ["</b>"], top_k: 3 },
      { stop: ["</b>"], topK: 3 },
    ],
    [{ service_tier: "standard_only" }, { serviceTier: "default" }],
    [{ metadata: { user_id: "u" } }, { user: "u" }],
    [{ tool_choice: { type: "auto", disable_parallel_tool_use: true } }, { parallelCalls: false }],
  ])("reads %j", (said, params) => {
    expect(ask(said).params).toEqual({ maxTokens: 9, ...params });
  });

  it("takes the effort of the last system message for that of the turn", () => {
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content: "Now", output_config: { effort: "low" } },
    ];
    const { params, items } = ask({ messages, output_config: { effort: "high" } });
    expect(params.effort).toBe("low");
    expect(items[1]).toMatchObject({ role: "system", extra: { fields: {} } });
  });

  it("keeps what it does not know, and what bears on cost apart from it", () => {
    const { extra } = ask({
      container: "c",
      cache_control: { type: "ephemeral" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    });
    expect(extra).toEqual({
      dialect: "messages",
      fields: { container: "c" },
      hints: {
        cache_control: { type: "ephemeral" },
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      },
    });
  });

  it.each([
    [{ messages: 5 }, "messages"],
    [{ messages: [{ role: "tool", content: "x" }] }, "messages[0].role"],
    [
      { messages: [{ role: "user", content: [{ type: "tool_result" }] }] },
      "messages[0].content[0].tool_use_id",
    ],
    [{ tool_choice: { type: "tool" } }, "tool_choice.name"],
    [{ tools: [{ description: "x" }] }, "tools[0].name"],
  ])("names what is wrong in %j", (more, param) => {
    expect(() => ask(more)).toThrow(expect.objectContaining({ detail: { param } }) as Error);
  });
});
