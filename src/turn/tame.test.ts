import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTame } from "./tame.ts";

describe("a pattern from a client", () => {
  it.each([
    "^[a-z]+$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    "^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$",
    "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
    "^(foo|bar)$",
    "^(?:a|b|c)*$",
    "^(?:\\/[^/]+)+$",
    "^(?:;[a-z]+=\\d*)*$",
    "^#(?:[0-9a-fA-F]{3}){1,2}$",
    "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
    "^\\p{L}+$",
    "^(?<year>\\d{4})$",
    "^[^()[\\]]*$",
    "^(?!foo).*$",
    "",
  ])("%j is done soon, whatever it is held against", (pattern) => {
    expect(isTame(pattern)).toBe(true);
  });

  it.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(x+x+)+y",
    "^(\\w+\\s?)*$",
    "^(.*a){20}$",
    "^((a)*)*$",
    "^(a?)*b$",
    "(a*)*",
    "^(\\w|\\d)+$",
    "^(a)\\1$",
    "^(?<x>a)\\k<x>$",
    ".*.*.*.*.*.*.*=.*",
    "^a(ba?a*)+-[ab]$",
    "^(ba*a*)+$",
    "^(ba?.c?)+$",
    "^(a?a?a?){16}$",
    `^${"a?".repeat(40)}${"a".repeat(40)}$`,
    "(",
    "[",
    "a)",
    "*",
    "(".repeat(100_000),
  ])("%j might not be", (pattern) => {
    expect(isTame(pattern)).toBe(false);
  });

  it("is done soon wherever it is taken for tame", () => {
    const piece = fc.constantFrom("a", "b", "a*", "b+", "(a|b)", "(a+)", ".", "-", "[ab]", "a?");
    const group = fc
      .tuple(fc.array(piece, { minLength: 1, maxLength: 3 }), fc.constantFrom("", "*", "+", "{2,}"))
      .map(([pieces, often]) => `(${pieces.join("")})${often}`);
    const pattern = fc
      .array(fc.oneof(piece, group), { maxLength: 4 })
      .map((all) => `^${all.join("")}$`);
    fc.assert(
      fc.property(pattern, fc.constantFrom("a", "b", "ab", "a-", "-"), (source, text) => {
        if (!isTame(source)) return;
        const started = performance.now();
        new RegExp(source, "u").test(`${text.repeat(100)}!`);
        expect(performance.now() - started).toBeLessThan(500);
      }),
      { numRuns: 2000 },
    );
  });
});
