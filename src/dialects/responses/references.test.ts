import { expect, it } from "vitest";
import { storedAnswers } from "./history.ts";

const { references } = storedAnswers;

const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
const found = new Map([["msg_1", { json: JSON.stringify(message) }]]);

it("puts items in the place of references that are known, with a type or without", () => {
  const user = { role: "user", content: "Hi", id: "msg_1" };
  const unknown = { type: "item_reference", id: "msg_2" };
  const input = [user, { type: "item_reference", id: "msg_1" }, { id: "msg_1" }, unknown, null];
  const body = { input, model: "m" };
  expect(references.idsIn(body, false)).toEqual(["msg_1", "msg_1", "msg_2"]);
  expect(references.resolve(body, found, false)).toEqual({
    body: { input: [user, message, message, null], model: "m" },
    missing: [{ id: "msg_2", isIdle: false }],
  });
});

it("takes items that say nothing but their id for references where it is told to", () => {
  const thought = { type: "reasoning", id: "msg_1", summary: [], encrypted_content: null };
  const picture = { type: "image_generation_call", id: "ig_1", status: "completed", size: "auto" };
  const words = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] };
  const body = { input: [thought, picture, words, { ...thought, id: "rs_2" }] };
  expect(references.idsIn(body, false)).toEqual([]);
  expect(references.idsIn(body, true)).toEqual(["msg_1", "ig_1", "rs_2"]);
  expect(references.resolve(body, found, true)).toEqual({
    body: { input: [message, words] },
    missing: [
      { id: "ig_1", isIdle: false },
      { id: "rs_2", isIdle: true },
    ],
  });
});

it("leaves a request alone that has none", () => {
  for (const body of [{ input: "Hi" }, { input: [message] }, { messages: [{ id: "msg_1" }] }])
    expect(references.idsIn(body, true)).toEqual([]);
});
