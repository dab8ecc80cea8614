import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sizesOf, TextMask } from "./text-mask.ts";

const newMask = (seed: number): TextMask => {
  let state = 1 + seed;
  return new TextMask(() => (state = (state * 48271) % 0x7fffffff));
};
const seeds = fc.nat(1_000_000);

describe("the mask of a text", () => {
  it("keeps names apart that are not the same, so that keys of one object stay as many", () => {
    const letters = fc.constantFrom(...Array.from("abcxyzABC019éèß"));
    const words = fc.uniqueArray(fc.string({ unit: letters, minLength: 1, maxLength: 5 }));
    fc.assert(
      fc.property(words, seeds, (given, seed) => {
        const mask = newMask(seed);
        expect(new Set(given.map((word) => mask.name(word))).size).toBe(given.length);
      }),
    );
  });

  it("is as long in characters and bytes, and begins as the mask of its beginning", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), seeds, (text, seed) => {
        const mask = newMask(seed);
        const masked = mask.text(text);
        expect(sizesOf(masked)).toBe(sizesOf(text));
        expect(Buffer.byteLength(masked)).toBe(Buffer.byteLength(text));
        const [first = ""] = text.split(" ");
        expect(masked.startsWith(mask.text(first))).toBe(true);
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
        expect(sizesOf(masked)).toBe(sizesOf(text));
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

  it("keeps numbers of one digit apart", () => {
    const mask = newMask(5);
    const masked = Array.from("123456789", (digit) => mask.number(digit));
    expect(new Set(masked).size).toBe(9);
  });
});
