import { expect, it } from "vitest";
import { memory } from "./memory.ts";

it("keeps the last values and forgets the first", () => {
  const kept = memory<number>(10);
  for (let at = 0; at < 100; at++) kept.remember(`key ${at}`, at);
  for (let at = 90; at < 100; at++) expect(kept.recall(`key ${at}`)).toBe(at);
  expect(kept.recall("key 79")).toBeUndefined();
});

it("gives the later of two values for a key", () => {
  const kept = memory<number>(1);
  kept.remember("key", 1);
  kept.remember("key", 2);
  expect(kept.recall("key")).toBe(2);
});
