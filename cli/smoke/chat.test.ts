import { describe, expect, it } from "vitest";
import { readChatBody, readChatStream } from "./chat.ts";
import type { StreamPiece } from "./seen.ts";

const frame = (value: unknown): StreamPiece => ({ type: "frame", data: JSON.stringify(value) });
const delta = (fields: object, finish: string | null = null): StreamPiece =>
  frame({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
const fragment = (index: number, of: object, id?: string): StreamPiece =>
  delta({ tool_calls: [{ index, ...(id !== undefined && { id }), function: of }] });
const comment: StreamPiece = {
  type: "comment",
  text: '{"tool_call_count":2,"tool_call_truncated":false,"stop_after_tools_mode":"burst"}',
};
const role = delta({ role: "assistant" });
const finish = delta({}, "tool_calls");
const usage = frame({ choices: [], usage: { total_tokens: 3 } });
const done: StreamPiece = { type: "frame", data: "[DONE]" };
const first = fragment(0, { name: "a", arguments: '{"x"' }, "c1");
const second = fragment(1, { name: "b", arguments: "{}" }, "c2");
const rest = fragment(0, { arguments: ":1}" });

const good = [role, first, rest, second, finish, comment, usage, done];

describe("a chat stream", () => {
  it("is read with its calls, its end and its figures", () => {
    expect(readChatStream(good)).toEqual({
      calls: [
        { id: "c1", name: "a", arguments: '{"x":1}' },
        { id: "c2", name: "b", arguments: "{}" },
      ],
      text: "",
      finish: "tool_calls",
      figures: { count: 2, truncated: false, mode: "burst" },
      problems: [],
    });
  });

  const error = frame({ error: { code: "upstream.cut", message: "It broke off." } });
  const wrongs: [string, StreamPiece[]][] = [
    ["the stream ends without [DONE]", good.slice(0, -1)],
    ["something follows [DONE]", [...good, usage]],
    ["something is said before the role", [first, second, finish, comment, done]],
    ["something is said after the finish", [role, first, finish, comment, second, done]],
    ["the finish comes more than once", [role, first, finish, finish, comment, done]],
    ["the statistics comment comes before the finish", [role, first, comment, finish, done]],
    ["the statistics comment comes after the usage", [role, first, finish, usage, comment, done]],
    ["the statistics comment comes twice", [role, first, finish, comment, comment, done]],
    ["the statistics comment comes after [DONE]", [role, first, finish, done, comment]],
    ["a call has index 1 where 0 is next", [role, second, finish, comment, done]],
    [
      "call 0 changes its id or name",
      [role, first, fragment(0, { arguments: "" }, "c9"), finish, comment, done],
    ],
    ["a frame is not JSON", [role, { type: "frame", data: "{" }, finish, done]],
    ["the stream failed: upstream.cut: It broke off.", [role, first, error, done]],
  ];
  it.each(wrongs)("is wrong where %s", (problem, said) => {
    expect(readChatStream(said).problems).toEqual([problem]);
  });

  it("takes other comments for nothing", () => {
    const alive: StreamPiece = { type: "comment", text: "keep-alive" };
    expect(readChatStream([alive, ...good.slice(0, -1), alive, done]).problems).toEqual([]);
  });
});

describe("a whole chat answer", () => {
  it("is read with its calls, and content that is null is no text", () => {
    const call = { id: "c1", type: "function", function: { name: "a", arguments: "{}" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    expect(readChatBody({ choices: [{ message, finish_reason: "tool_calls" }] })).toEqual({
      calls: [{ id: "c1", name: "a", arguments: "{}" }],
      text: "",
      finish: "tool_calls",
      problems: [],
    });
  });

  it("is wrong without a message", () => {
    expect(readChatBody(undefined).problems).toEqual(["the answer has no message"]);
  });
});
