import { describe, expect, it } from "vitest";
import type { Fields, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";

const hi = [{ role: "user", content: "Hi" }];
const items = (...messages: Fields[]): Turn["items"] => readRequest({ model: "m", messages }).items;

describe("messages", () => {
  it("become items, with their names", () => {
    expect(
      items(
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "Really." }] },
        { role: "user", content: "Hi", name: "ann" },
        { role: "assistant", content: "Hello" },
      ),
    ).toEqual([
      { type: "message", role: "system", parts: [{ type: "text", text: "Be brief." }] },
      { type: "message", role: "developer", parts: [{ type: "text", text: "Really." }] },
      { type: "message", role: "user", parts: [{ type: "text", text: "Hi" }], name: "ann" },
      { type: "message", role: "assistant", parts: [{ type: "text", text: "Hello" }] },
    ]);
  });

  it("hold parts of every kind, and keep those we do not know", () => {
    const video = { type: "video_url", video_url: { url: "v" } };
    const content = [
      { type: "text", text: "a", cache_control: { type: "ephemeral" } },
      { type: "image_url", image_url: { url: "i", detail: "low", extra: 1 } },
      { type: "image_url", image_url: "j" },
      { type: "input_audio", input_audio: { data: "d", format: "wav" } },
      { type: "file", file: { file_data: "f", filename: "n.pdf" } },
      { type: "file", file: { file_id: "id" } },
      video,
    ];
    expect(items({ role: "user", content })).toEqual([
      {
        type: "message",
        role: "user",
        parts: [
          {
            type: "text",
            text: "a",
            extra: { dialect: "chat", fields: { cache_control: { type: "ephemeral" } } },
          },
          {
            type: "image",
            url: "i",
            detail: "low",
            extra: { dialect: "chat", fields: { image_url: { extra: 1 } } },
          },
          { type: "image", url: "j" },
          { type: "audio", data: "d", format: "wav" },
          { type: "file", data: "f", name: "n.pdf" },
          { type: "file", fileId: "id" },
          { type: "opaque", dialect: "chat", raw: video },
        ],
      },
    ]);
  });

  it("of an assistant hold reasoning, text and calls, in this order", () => {
    expect(
      items(
        ...hi,
        {
          role: "assistant",
          content: "Let me see.",
          refusal: null,
          annotations: [],
          audio: null,
          reasoning_content: "hm",
          tool_calls: [
            {
              id: "a",
              type: "function",
              function: { name: "f", arguments: "{ }" },
              extra_content: 1,
            },
            { id: "b", type: "custom", custom: { name: "g", input: "x" } },
          ],
        },
        { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "1" }] },
        { role: "tool", tool_call_id: "a", content: "2" },
      ).slice(1),
    ).toEqual([
      { type: "reasoning", summary: [], content: ["hm"] },
      { type: "message", role: "assistant", parts: [{ type: "text", text: "Let me see." }] },
      {
        type: "call",
        id: "a",
        kind: "function",
        name: "f",
        input: "{ }",
        extra: { dialect: "chat", fields: { extra_content: 1 } },
      },
      { type: "call", id: "b", kind: "custom", name: "g", input: "x" },
      { type: "result", call: "b", kind: "custom", parts: [{ type: "text", text: "1" }] },
      { type: "result", call: "a", kind: "function", parts: [{ type: "text", text: "2" }] },
    ]);
  });

  it.each([null, "", undefined])("with calls and content %j say nothing", (content) => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    expect(items({ role: "assistant", content, tool_calls: [call] })).toMatchObject([
      { type: "call", id: "a" },
    ]);
  });

  it("keep reasoning in all its spellings", () => {
    const details = [
      { type: "reasoning.text", text: "hm" },
      { type: "reasoning.encrypted", data: "x" },
    ];
    const thought = (more: Fields): unknown =>
      items({ role: "assistant", content: "a", ...more })[0];
    const plain = { type: "reasoning", summary: [], content: ["hm"] };
    expect(thought({ reasoning: "hm" })).toEqual(plain);
    expect(thought({ reasoning_content: "hm", reasoning: "hm" })).toEqual(plain);
    expect(thought({ reasoning_details: details })).toEqual({ ...plain, details });
  });

  it("say that nothing was thought only beside calls", () => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const silent = { role: "assistant", reasoning_content: "" };
    expect(items({ ...silent, content: "a" })).toMatchObject([{ type: "message" }]);
    expect(items({ ...silent, content: null, tool_calls: [call] })).toMatchObject([
      { type: "reasoning", content: [""] },
      { type: "call" },
    ]);
  });

  it("of tools may say the names of theirs", () => {
    expect(items({ role: "tool", tool_call_id: "a", name: "f", content: "1" })).toEqual([
      {
        type: "result",
        call: "a",
        kind: "function",
        name: "f",
        parts: [{ type: "text", text: "1" }],
      },
    ]);
  });

  it("refuse", () => {
    expect(items({ role: "assistant", content: null, refusal: "No." })).toMatchObject([
      { parts: [{ type: "refusal", text: "No." }] },
    ]);
    expect(
      items({ role: "assistant", content: [{ type: "refusal", refusal: "No." }] }),
    ).toMatchObject([{ parts: [{ type: "refusal", text: "No." }] }]);
  });

  it("of the old form pair calls and results by name", () => {
    expect(
      items(
        ...hi,
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "f", content: "1" },
      ).slice(1),
    ).toEqual([
      { type: "call", id: "call_1", kind: "function", name: "f", input: "{}" },
      { type: "result", call: "call_1", kind: "function", parts: [{ type: "text", text: "1" }] },
    ]);
  });

  it("keep the fields we do not know", () => {
    expect(items({ role: "user", content: "a", weight: 1 })[0]).toMatchObject({
      extra: { dialect: "chat", fields: { weight: 1 } },
    });
    expect(items({ role: "assistant", content: null, audio: { id: "x" } })).toEqual([
      {
        type: "message",
        role: "assistant",
        parts: [],
        extra: { dialect: "chat", fields: { audio: { id: "x" } } },
      },
    ]);
  });
});
