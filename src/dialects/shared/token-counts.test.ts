import { expect, it } from "vitest";
import { counted } from "./token-counts.ts";

const usage = { input: 5, output: 7, total: 12 };

it.each([
  ["chat's words", { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 }],
  ["the words of Responses", { input_tokens: 5, output_tokens: 7, total_tokens: 12 }],
  ["no total", { prompt_tokens: 5, completion_tokens: 7 }],
  ["no output", { prompt_tokens: 5, total_tokens: 12 }],
  ["no input", { output_tokens: 7, total_tokens: 12 }],
  ["texts", { prompt_tokens: "5", completion_tokens: "7", total_tokens: "12" }],
])("counts in %s", (_, said) => {
  expect(counted(said)).toEqual(usage);
});

it("counts what was cached and what was thought", () => {
  const more = { ...usage, cached: 2, reasoning: 3 };
  const cached_tokens = 2;
  const reasoning_tokens = 3;
  expect([
    counted({
      prompt_tokens: 5,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens },
      completion_tokens_details: { reasoning_tokens },
    }),
    counted({
      input_tokens: 5,
      output_tokens: 7,
      input_tokens_details: { cached_tokens },
      output_tokens_details: { reasoning_tokens },
    }),
  ]).toEqual([more, more]);
});

it.each([undefined, null, {}, { cost: 1 }, "12"])("takes %j for no count", (said) => {
  expect(counted(said)).toBeUndefined();
});

it("takes a number below nothing for one that was not counted", () => {
  expect(counted({ prompt_tokens: -1, completion_tokens: 4, total_tokens: 9 })).toMatchObject({
    input: 5,
    output: 4,
    total: 9,
  });
  expect(counted({ prompt_tokens: -1, completion_tokens: -1 })).toBeUndefined();
});
