import { expect, it } from "vitest";
import { recallItems } from "./references.ts";

const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
const find = (id: string) => (id === "msg_1" ? message : undefined);

it("puts items in the place of references that are known, with a type or without", () => {
  const user = { role: "user", content: "Hi", id: "msg_1" };
  const unknown = { type: "item_reference", id: "msg_2" };
  const input = [user, { type: "item_reference", id: "msg_1" }, { id: "msg_1" }, unknown, null];
  expect(recallItems({ input, model: "m" }, find)).toEqual({
    input: [user, message, message, unknown, null],
    model: "m",
  });
});

it("leaves a request alone that has none", () => {
  for (const body of [{ input: "Hi" }, { input: [message] }, { messages: [{ id: "msg_1" }] }])
    expect(recallItems(body, find)).toBe(body);
});
