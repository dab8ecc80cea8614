import { describe, expect, it } from "vitest";
import { newId } from "./ids.ts";

describe("an id", () => {
  it("is its prefix and 24 letters and digits", () => {
    expect(newId("call")).toMatch(/^call_[a-z2-7]{24}$/);
  });

  it("is never the same twice", () => {
    const ids = Array.from({ length: 10_000 }, () => newId("x"));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("uses every letter about as often", () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 4000; round++)
      for (const letter of newId("").slice(1)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).toBe(32);
    expect(Math.min(...counts.values())).toBeGreaterThan(2500);
  });
});
