import { describe, expect, it } from "vitest";
import type { Answer } from "../../stream/fold.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import type { Fields, Item } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";
import { writeAnswer } from "./write-events.ts";

const context = { id: "chatcmpl-own", created: 5, now: () => 6, newId: (prefix: string) => prefix };

function write(
  items: readonly Item[],
  more: Partial<Answer<ClientName>> = {},
  asked: Fields = {},
): unknown {
  const turn = readRequest({
    model: "asked",
    messages: [{ role: "user", content: "Hi" }],
    ...asked,
  });
  const answer = { choices: [{ index: 0, items, stop: "end" as const }], ...more };
  return JSON.parse(writeAnswer(answer, turn, context));
}
const message = (items: readonly Item[], asked?: Fields): unknown =>
  (write(items, {}, asked) as { choices: { message: unknown }[] }).choices[0]?.message;
const text = (words: string, more: Fields = {}): Item => ({
  type: "message",
  role: "assistant",
  parts: [{ type: "text", text: words, ...more }],
});
const call = (id: string, kind = "function", more: Partial<Item> = {}): Item =>
  ({
    type: "call",
    id,
    kind,
    name: clientName("f"),
    input: "{}",
    status: "completed",
    ...more,
  }) as Item;
const bare = { role: "assistant", content: null, refusal: null, annotations: [] };

describe("a chat answer", () => {
  it("is a whole body", () => {
    const usage = { input: 3, output: 2, total: 5, cached: 1, reasoning: 2 };
    const extra = { system_fingerprint: "fp", citations: ["u"] };
    expect(
      write([text("Hello")], { dialect: "chat", id: "up", model: "m", created: 7, usage, extra }),
    ).toEqual({
      id: "up",
      object: "chat.completion",
      created: 7,
      model: "m",
      ...extra,
      choices: [
        { index: 0, message: { ...bare, content: "Hello" }, logprobs: null, finish_reason: "stop" },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        total_tokens: 5,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it("shows no ids and fields of another dialect", () => {
    const said = write([text("a")], { dialect: "responses", id: "resp_1", extra: { odd: 1 } });
    expect(said).toMatchObject({ id: "chatcmpl-own", created: 5, model: "asked" });
    expect(said).not.toHaveProperty("odd");
    expect(said).not.toHaveProperty("usage");
  });

  it("holds calls, and no text where there is none", () => {
    expect(message([call("a"), call("b", "custom"), call("c", "local_shell")])).toEqual({
      ...bare,
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
        { id: "b", type: "custom", custom: { name: "f", input: "{}" } },
        { id: "c", type: "function", function: { name: "f", arguments: "{}" } },
      ],
    });
  });

  it("withholds calls that were cut off", () => {
    const items = [text("a"), call("a", "function", { status: "incomplete" })];
    expect(write(items, { choices: [{ index: 0, items, stop: "length" }] })).toMatchObject({
      choices: [{ message: { ...bare, content: "a" }, finish_reason: "length" }],
    });
    expect(message(items)).not.toHaveProperty("tool_calls");
  });

  it("holds one call in the old form for those who declared it so", () => {
    expect(message([call("a")], { functions: [{ name: "f" }] })).toEqual({
      ...bare,
      function_call: { name: "f", arguments: "{}" },
    });
  });

  it("holds reasoning, refusals, annotations and probabilities", () => {
    const token = { token: "a", logprob: -1 };
    const citation = { url: "u", title: "t", start_index: 0, end_index: 1 };
    const said = write([
      { type: "reasoning", summary: [], content: ["hm"], details: [{ type: "x" }] },
      text("a", { logprobs: [token], annotations: [{ type: "url_citation", ...citation }] }),
      { type: "message", role: "assistant", parts: [{ type: "refusal", text: "no" }] },
    ]);
    expect(said).toMatchObject({
      choices: [
        {
          message: {
            content: "a",
            refusal: "no",
            annotations: [{ type: "url_citation", url_citation: citation }],
            reasoning_content: "hm",
            reasoning_details: [{ type: "x" }],
          },
          logprobs: { content: [token], refusal: null },
        },
      ],
    });
  });

  it("says an empty text where nothing was said", () => {
    expect(message([])).toEqual({ ...bare, content: "" });
  });
});
