import { expect, it } from "vitest";
import { readAnswerPart } from "./answer-fields.ts";

const hm = { type: "reasoning", text: "hm" };

it.each([
  ["a text", { type: "text", text: "a" }, { type: "text", text: "a" }],
  [
    "a text by its name in Responses",
    { type: "output_text", text: "a" },
    { type: "text", text: "a" },
  ],
  [
    "a text that says it is no thought",
    { type: "text", text: "a", thinking: null },
    { type: "text", text: "a" },
  ],
  ["a bare text", "a", { type: "text", text: "a" }],
  ["a refusal", { type: "refusal", refusal: "no" }, { type: "refusal", text: "no" }],
  ["thinking", { type: "thinking", thinking: "hm" }, hm],
  ["thinking in parts", { type: "thinking", thinking: [{ type: "text", text: "hm" }] }, hm],
  ["reasoning as a text", { type: "reasoning", text: "hm" }, hm],
  ["reasoning by its own name", { type: "reasoning", reasoning: "hm" }, hm],
  ["a summary", { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] }, hm],
  ["something else", { type: "reference", reference_ids: [1] }, { type: "text", text: "" }],
])("knows %s", (_, part, said) => {
  expect(readAnswerPart(part)).toEqual(said);
});

it.each([
  { type: "thinking", thinking: "hm", signature: "s" },
  { type: "redacted_thinking", data: "s3al" },
])("keeps a thought that is signed as it is: %j", (part) => {
  expect(readAnswerPart(part)).toMatchObject({ type: "reasoning", signed: part });
});
