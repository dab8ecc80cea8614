import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shapeOf, WordMask } from "./word-mask.ts";

const newMask = (seed: number): WordMask => {
  let state = 1 + seed;
  return new WordMask(() => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff);
};
const seeds = fc.nat(1_000_000);

describe("a word mask", () => {
  it("keeps words apart that are not the same, so that keys of one object stay as many", () => {
    const letters = fc.constantFrom(...Array.from("abcxyzABC019éèß"));
    const words = fc.uniqueArray(fc.string({ unit: letters, minLength: 1, maxLength: 5 }));
    fc.assert(
      fc.property(words, seeds, (given, seed) => {
        const mask = newMask(seed);
        expect(new Set(given.map((word) => mask.text(word))).size).toBe(given.length);
      }),
    );
  });

  it("leaves numbers as long, and written as they are read", () => {
    const numbers = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.integer().map((cents) => cents / 100),
    );
    fc.assert(
      fc.property(numbers, seeds, (number, seed) => {
        const text = JSON.stringify(number);
        const masked = newMask(seed).number(text);
        expect(shapeOf(masked)).toBe(shapeOf(text));
        expect(JSON.stringify(JSON.parse(masked))).toBe(masked);
      }),
      { numRuns: 1000 },
    );
  });

  it("leaves zeros behind a fraction, which nobody writes again", () => {
    const mask = newMask(3);
    expect(mask.number("12.3400")).toBe(`${mask.number("12.34")}00`);
    expect(mask.number("7.0")).toBe(`${mask.number("7")}.0`);
  });
});
