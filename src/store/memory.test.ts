import { expect, it } from "vitest";
import { memory } from "./memory.ts";

it("keeps the last values and forgets the first", () => {
  const kept = memory<number>(10);
  for (let at = 0; at < 100; at++) kept.remember(`key ${at}`, at);
  for (let at = 90; at < 100; at++) expect(kept.recall(`key ${at}`)).toBe(at);
  expect(kept.recall("key 79")).toBeUndefined();
});

it("keeps what weighs as much as it is told", () => {
  const kept = memory<string>(10, (value) => value.length);
  const keys = ["a", "b", "c", "d", "e", "f"];
  for (const key of keys) kept.remember(key, key.repeat(5));
  expect(keys.filter((key) => kept.recall(key) !== undefined)).toEqual(["c", "d", "e", "f"]);
});

it("gives the later of two values for a key", () => {
  const kept = memory<number>(1);
  kept.remember("key", 1);
  kept.remember("key", 2);
  expect(kept.recall("key")).toBe(2);
});
