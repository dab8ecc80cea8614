import { expect, it } from "vitest";
import { modelAndEffort } from "./request.ts";

it.each([
  ["gpt-5.5", "gpt-5.5", undefined],
  ["gpt-5.5-L", "gpt-5.5", "low"],
  ["gpt-5.5-M", "gpt-5.5", "medium"],
  ["gpt-5.5-H", "gpt-5.5", "high"],
  ["gpt-5.5-XH", "gpt-5.5", "xhigh"],
  ["gpt-5.5-medium", "gpt-5.5", "medium"],
  ["gpt-5.5-codex", "gpt-5.5-codex", undefined],
  ["-high", "-high", undefined],
])("%s is %s with effort %s", (name, model, effort) => {
  expect(modelAndEffort(name)).toEqual(effort === undefined ? { model } : { model, effort });
});
