import { expect, it } from "vitest";
import { references } from "./references.ts";

const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
const found = new Map([["msg_1", { json: JSON.stringify(message) }]]);

it("puts items in the place of references that are known, with a type or without", () => {
  const user = { role: "user", content: "Hi", id: "msg_1" };
  const unknown = { type: "item_reference", id: "msg_2" };
  const input = [user, { type: "item_reference", id: "msg_1" }, { id: "msg_1" }, unknown, null];
  const body = { input, model: "m" };
  expect(references.idsIn(body)).toEqual(["msg_1", "msg_1", "msg_2"]);
  expect(references.resolve(body, found)).toEqual({
    input: [user, message, message, unknown, null],
    model: "m",
  });
});

it("leaves a request alone that has none", () => {
  for (const body of [{ input: "Hi" }, { input: [message] }, { messages: [{ id: "msg_1" }] }])
    expect(references.idsIn(body)).toEqual([]);
});
