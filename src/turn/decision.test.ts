import { expect, it } from "vitest";
import { bounded, isLossy, MOST_TOLD, type Decision } from "./decision.ts";

const many = (count: number, action: Decision["action"]): Decision[] =>
  Array.from({ length: count }, (_, at) => ({ path: `messages[${at}]`, action, reason: "odd" }));

it("tells of no more than may be told, and how much that leaves out", () => {
  const few = many(MOST_TOLD, "repaired");
  expect(bounded(few)).toBe(few);
  const told = bounded([...many(MOST_TOLD + 20, "repaired"), ...many(1, "dropped")]);
  expect(told).toHaveLength(MOST_TOLD + 1);
  expect(told.at(-1)).toEqual({
    path: "messages",
    action: "dropped",
    reason: "21 more decisions like these are not told one by one",
  });
  expect(bounded(many(MOST_TOLD + 1, "renamed")).some(isLossy)).toBe(false);
});

it("tells of every parameter, however much stands before it", () => {
  const last: Decision = { path: "temperature", action: "dropped", reason: "not taken" };
  expect(bounded([...many(3 * MOST_TOLD, "repaired"), last])).toContain(last);
});
