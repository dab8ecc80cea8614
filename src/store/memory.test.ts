import { expect, it } from "vitest";
import { memory } from "./memory.ts";

it("keeps the last values and forgets the first", () => {
  const kept = memory<number>(10);
  for (let at = 0; at < 100; at++) kept.remember("ann", `key ${at}`, at);
  for (let at = 90; at < 100; at++) expect(kept.recall("ann", `key ${at}`)).toBe(at);
  expect(kept.recall("ann", "key 79")).toBeUndefined();
});

it("keeps what weighs as much as it is told", () => {
  const kept = memory<string>(10, (value) => value.length);
  const keys = ["a", "b", "c", "d", "e", "f"];
  for (const key of keys) kept.remember("ann", key, key.repeat(5));
  expect(keys.filter((key) => kept.recall("ann", key) !== undefined)).toEqual(["c", "d", "e", "f"]);
});

it("gives the later of two values for a key", () => {
  const kept = memory<number>(1);
  kept.remember("ann", "key", 1);
  kept.remember("ann", "key", 2);
  expect(kept.recall("ann", "key")).toBe(2);
});

it("gives nobody the value of another under the same id", () => {
  const kept = memory<number>(10);
  kept.remember("ann", "key", 1);
  kept.remember("bob", "key", 2);
  expect(["ann", "bob", "eve"].map((tenant) => kept.recall(tenant, "key"))).toEqual([
    1,
    2,
    undefined,
  ]);
});
