import { describe, expect, it } from "vitest";
import { readResponsesBody, readResponsesStream } from "./responses.ts";
import type { StreamPiece } from "./seen.ts";

type Event = Readonly<Record<string, unknown>>;
const call = { type: "function_call", id: "fc1", call_id: "c1", name: "a", arguments: "{}" };
const said = { type: "message", id: "m1", content: [{ type: "output_text", text: "Hi" }] };
const created: Event = { type: "response.created" };
const added: Event = { type: "response.output_item.added", item: { ...call, arguments: "" } };
const delta: Event = {
  type: "response.function_call_arguments.delta",
  item_id: "fc1",
  delta: "{}",
};
const closed: Event = { type: "response.output_item.done", item: call };
const over: Event = {
  type: "response.completed",
  response: { status: "completed", output: [said, call] },
};
const comment: StreamPiece = {
  type: "comment",
  text: '{"tool_call_count":1,"tool_call_truncated":true,"stop_after_tools_mode":"first"}',
};
const done: StreamPiece = { type: "frame", data: "[DONE]" };

const numbered = (...events: readonly Event[]): StreamPiece[] =>
  events.map((event, at) => ({
    type: "frame",
    data: JSON.stringify({ sequence_number: at, ...event }),
  }));

describe("a Responses stream", () => {
  it("is read with its calls, its end and its figures", () => {
    const stream = [...numbered(created, added, delta, closed, over), comment, done];
    expect(readResponsesStream(stream)).toEqual({
      calls: [{ id: "c1", name: "a", arguments: "{}" }],
      text: "Hi",
      finish: "completed",
      figures: { count: 1, truncated: true, mode: "first" },
      problems: [],
    });
  });

  const other = { status: "completed", output: [said] };
  const error = { type: "error", code: "upstream.cut", message: "It broke off." };
  const wrongs: [string, StreamPiece[]][] = [
    ["the stream has no terminal event", [...numbered(created, added, delta, closed), done]],
    ["the stream ends without [DONE]", numbered(created, added, closed, over)],
    ["something follows [DONE]", [...numbered(created, added, closed, over), done, done]],
    ["an event follows the terminal", [...numbered(added, closed, over, delta), done]],
    [
      "sequence number 9 stands where 1 is next",
      [...numbered(added, { ...closed, sequence_number: 9 }, over), done],
    ],
    ["item fc1 is done and was never added", [...numbered(created, closed, over), done]],
    [
      "the deltas of call c1 do not add up to its arguments",
      [...numbered(added, delta, delta, closed, over), done],
    ],
    [
      "the response at the end has other calls than the stream",
      [...numbered(added, closed, { ...over, response: other }), done],
    ],
    [
      "the stream failed: upstream.cut: It broke off.",
      [...numbered(added, closed, error, over), done],
    ],
    [
      "the statistics comment comes before the terminal",
      [...numbered(added), comment, ...numbered(added, closed, over).slice(1), done],
    ],
    [
      "the statistics comment comes after [DONE]",
      [...numbered(added, closed, over), done, comment],
    ],
  ];
  it.each(wrongs)("is wrong where %s", (problem, stream) => {
    expect(readResponsesStream(stream).problems).toEqual([problem]);
  });
});

it("a whole response without output is wrong", () => {
  expect(readResponsesBody({ status: "completed" }).problems).toEqual(["the answer has no output"]);
});
