import { expect, it } from "vitest";
import { addUsage } from "../../turn/event.ts";
import { writeUsage as writeChatUsage } from "../chat/answer-fields.ts";
import { writeUsage as writeResponsesUsage } from "../responses/resource.ts";
import { counted } from "./loose.ts";

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

it.each([
  { prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 4 } },
  { prompt_tokens_details: { cached_tokens: 2, cache_creation_tokens: 4 } },
  { cache_read_input_tokens: 2, cache_creation_input_tokens: 4 },
])("counts what was written to a cache: %j", (said) => {
  const read = counted({ prompt_tokens: 5, completion_tokens: 7, ...said });
  expect(read).toEqual({ ...usage, cached: 2, cacheWrite: 4 });
});

it("says what was written to a cache in either dialect, where somebody counted", () => {
  const more = { ...usage, cached: 2, cacheWrite: 4 };
  expect(counted(writeChatUsage(more))).toMatchObject(more);
  expect(counted(writeResponsesUsage(more))).toMatchObject(more);
  expect(writeChatUsage({ ...usage, cacheWrite: 4 })).toMatchObject({
    prompt_tokens_details: { cache_write_tokens: 4 },
  });
  expect(JSON.stringify([writeChatUsage(usage), writeResponsesUsage(usage)])).not.toContain(
    "write",
  );
});

it("adds up what was written to a cache", () => {
  const [some, none] = [{ ...usage, cacheWrite: 4 }, usage];
  expect(addUsage(some, some).cacheWrite).toBe(8);
  expect(addUsage(some, none).cacheWrite).toBe(4);
  expect(addUsage(none, none).cacheWrite).toBeUndefined();
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
