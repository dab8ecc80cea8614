import { describe, expect, it } from "vitest";
import { storedAnswers } from "./history.ts";

const newId = (prefix: string): string => `${prefix}_new`;

it("gives every item of the input an id, and leaves those that have one", () => {
  const input = [
    { role: "user", content: "Hi" },
    { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" },
    { type: "reasoning", summary: [] },
    { type: "function_call_output", call_id: "c", output: "done" },
  ];
  const kept = storedAnswers.inputOf({ input }, newId);
  expect(kept.map(({ id }) => id)).toEqual(["msg_new0000", "fc_1", "rs_new0001", "item_new0002"]);
  expect(kept.map(({ json }) => JSON.parse(json) as unknown)).toMatchObject(input);
  expect(storedAnswers.inputOf({ input: "Hi" }, newId)).toHaveLength(1);
  expect(storedAnswers.inputOf({}, newId)).toEqual([]);
});

it("takes the answer out of a body and out of the last event of a stream", () => {
  const response = {
    status: "completed",
    output: [{ id: "msg_1", type: "message" }],
    id: "resp_1",
  };
  const kept = {
    json: '{"id":"resp_1","object":"response","status":"completed"}',
    items: [{ id: "msg_1", json: '{"id":"msg_1","type":"message"}' }],
  };
  expect(storedAnswers.answerIn(JSON.stringify(response))).toEqual(kept);
  expect(storedAnswers.answerIn(JSON.stringify({ type: "response.completed", response }))).toEqual(
    kept,
  );
  expect(storedAnswers.answerIn("no JSON")).toBeUndefined();
  const items = kept.items.map(({ json }) => json);
  expect(JSON.parse(storedAnswers.shownAnswer({ json: kept.json, items }))).toMatchObject(response);
});

it("knows its own answers from what else is kept", () => {
  expect(storedAnswers.isOwn('{"id":"a\\"b","object":"response","status":"completed"}')).toBe(true);
  expect(storedAnswers.isOwn('{"type":"thread","root":"msg_1"}')).toBe(false);
  expect(storedAnswers.isOwn('{"id":"chatcmpl-1","object":"chat.completion"}')).toBe(false);
});

describe("the id of an answer that an upstream sent", () => {
  const ids = { id: "resp_ours", previous: "resp_before" };

  it.each([
    ['{"id":"a","object":"response"}', '{"id":"resp_ours","object":"response"}'],
    [' {\n "id" : "a\\"b", "x": 1}', ' {\n "id" : "resp_ours", "x": 1}'],
    [
      '{"type":"response.created","sequence_number":0,"response":{"id":"a","output":[{"id":"a"}]}}',
      '{"type":"response.created","sequence_number":0,"response":{"id":"resp_ours","output":[{"id":"a"}]}}',
    ],
    [
      '{"response": {"id": "a", "previous_response_id": "b"}, "type": "response.completed"}',
      '{"response": {"id": "resp_ours", "previous_response_id": "resp_before"}, "type": "response.completed"}',
    ],
    [
      '{"id":"a","instructions":"\\"previous_response_id\\":\\"b\\"","previous_response_id":"b"}',
      '{"id":"resp_ours","instructions":"\\"previous_response_id\\":\\"b\\"","previous_response_id":"resp_before"}',
    ],
  ])("is replaced where the API writes it: %s", (sent, shown) => {
    expect(storedAnswers.relabel(sent, ids)).toBe(shown);
  });

  it.each([
    '{"object":"response","id":"a"}',
    '{"type":"response.created","response":{"object":"response","id":"a"}}',
    '{"id":null}',
    "[]",
  ])("is looked for nowhere else: %s", (sent) => {
    expect(storedAnswers.relabel(sent, ids)).toBeUndefined();
  });
});
