import { expect, it } from "vitest";
import { boundDecisions, isLossy, MAX_DECISIONS, type Decision } from "./decision.ts";

const many = (count: number, action: Decision["action"]): Decision[] =>
  Array.from({ length: count }, (_, at) => ({ path: `messages[${at}]`, action, reason: "odd" }));

it("tells of no more than may be told, and how much that leaves out", () => {
  const few = many(MAX_DECISIONS, "repaired");
  expect(boundDecisions(few)).toBe(few);
  const told = boundDecisions([...many(MAX_DECISIONS + 20, "repaired"), ...many(1, "dropped")]);
  expect(told).toHaveLength(MAX_DECISIONS + 1);
  expect(told.at(-1)).toEqual({
    path: "messages",
    action: "dropped",
    reason: "21 more decisions like these are not listed",
  });
  expect(boundDecisions(many(MAX_DECISIONS + 1, "renamed")).some(isLossy)).toBe(false);
});

it("tells of every parameter, however much stands before it", () => {
  const last: Decision = { path: "temperature", action: "dropped", reason: "not taken" };
  expect(boundDecisions([...many(3 * MAX_DECISIONS, "repaired"), last])).toContain(last);
});
