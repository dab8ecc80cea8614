import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patternWork } from "./pattern-work.ts";
import { cpuTime } from "../../test/support/cpu-time.ts";

const SOON = 50_000;

describe("a pattern from a client", () => {
  it.each([
    ["^[a-z]+$", 10_000],
    ["\\S", 10_000],
    ["[a-z]+$", 100],
    ["^\\d{4}-\\d{2}-\\d{2}$", 1000],
    ["^[a-z0-9]+(?:-[a-z0-9]+)*$", 4000],
    ["^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$", 2000],
    ["^https?://[^\\s/]+(?:/\\S*)?$", 200],
    ["^(?:\\d{1,3}\\.){3}\\d{1,3}$", 1000],
    ["^(?:25[0-5]|2[0-4]\\d|1?\\d{1,2})(?:\\.(?:25[0-5]|2[0-4]\\d|1?\\d{1,2})){3}$", 100],
    ["^(foo|bar)$", 1000],
    ["^(?:a|b|c)*$", 4000],
    ["^(?:\\/[^/]+)+$", 4000],
    ["((a+)+){0}", 1000],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", 200],
    ["^#(?:[0-9a-fA-F]{3}){1,2}$", 1000],
    ["^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", 400],
    ["^\\p{L}+$", 10_000],
    ["^[а-я]+(?: [а-я]+)*$", 4000],
    ["^(?<year>\\d{4})$", 1000],
    ["^[^()[\\]]*$", 10_000],
    ["^(?!foo).*$", 4000],
    ["^.*a.*$", 100],
    ["", 10_000],
  ])("%j is done soon with a text of %i signs", (pattern, length) => {
    expect(patternWork(pattern)(length)).toBeLessThan(SOON);
  });

  it.each([
    ["[a-z]+$", 4000],
    ["^.*.*=$", 1000],
    [".*.*.*.*=", 100],
    [".*.*.*.*.*.*.*=.*", 40],
    ["^(?:a*b?){3}$", 100],
    ["^a{0,900}a{0,900}b$", 1000],
    ["^(a?a?a?){16}$", 20],
    ["^(.*a){5}$", 100],
    [`^${"a?".repeat(40)}${"a".repeat(40)}$`, 40],
  ])("%j might not be, with %i", (pattern, length) => {
    expect(patternWork(pattern)(length)).toBeGreaterThan(SOON);
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
    "^(?:;[a-z]+=\\d*)*$",
    "^(\\w|\\d)+$",
    "^(a)\\1$",
    "^(?<x>a)\\k<x>$",
    "^a(ba?a*)+-[ab]$",
    "^(ba*a*)+$",
    "^(ba?.c?)+$",
    "^(?:a.b?.)+$",
    "^(?:б[а-я]*)+$",
    "^(?:\\u2003\\s*)+$",
    "^(?:\\r[\\r\\n]*)+$",
    "^(?:\\p{L}\\w*)+$",
    "^(?:\\ud83d\\ude00*)+$",
    "^(?:😀[😀]*)+$",
    "(?<=a)b",
    "(",
    "[",
    "a)",
    "*",
  ])("%j might never be", (pattern) => {
    expect(patternWork(pattern)(30)).toBe(Infinity);
  });

  it("is told of in no time itself", () => {
    expect(patternWork("(".repeat(100_000))(1)).toBe(Infinity);
    const signs = Array.from({ length: 300 }, (_, at) => String.fromCodePoint(0x4e00 + 2 * at));
    for (const by of ["|", "?", "*"]) {
      const started = cpuTime();
      patternWork(`^(?:${signs.join(by)})*$`)(100);
      expect(cpuTime() - started).toBeLessThan(5_000);
    }
  });
});

/** A pattern as a tree, written out for the engine and walked by the test. */
type Node =
  | { readonly is: "sign"; readonly source: string }
  | { readonly is: "times"; readonly of: Node; readonly least: number; readonly most: number }
  | { readonly is: "all" | "any"; readonly of: readonly Node[] };

function written(node: Node): string {
  switch (node.is) {
    case "sign":
      return node.source;
    case "times": {
      const most = node.most === Infinity ? "" : node.most;
      return `(?:${written(node.of)}){${node.least},${most}}`.replace(
        /^\(\?:(.|\[[^\]]*\])\)/,
        "$1",
      );
    }
    case "all":
      return node.of.map(written).join("");
    default:
      return `(?:${node.of.map(written).join("|")})`;
  }
}

/** Holds a text against a pattern as engines do, trying every way, and counts the signs looked at. */
function stepsTaken(node: Node, text: string, most: number): number {
  let steps = 0;
  const walk = (at: Node, from: number, then: (to: number) => boolean): boolean => {
    switch (at.is) {
      case "sign":
        if (++steps > most) throw new RangeError(`more than ${most} steps`);
        return from < text.length && new RegExp(`^${at.source}`).test(text[from] ?? "")
          ? then(from + 1)
          : false;
      case "all": {
        const [first, ...rest] = at.of;
        return first === undefined
          ? then(from)
          : walk(first, from, (to) => walk({ is: "all", of: rest }, to, then));
      }
      case "any":
        return at.of.some((one) => walk(one, from, then));
      default: {
        const again = { ...at, least: Math.max(at.least - 1, 0), most: at.most - 1 };
        const goesOn = (to: number): boolean =>
          to === from && at.least === 0 ? false : walk(again, to, then);
        return (at.most > 0 && walk(at.of, from, goesOn)) || (at.least === 0 && then(from));
      }
    }
  };
  walk(node, 0, (to) => to === text.length);
  return steps;
}

const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc
      .constantFrom("a", "b", "c", ".", "[ab]", "[^a]", "-")
      .map((source) => ({ is: "sign", source }) as const),
    fc
      .record({
        of: tie("tree"),
        least: fc.nat(2),
        more: fc.constantFrom(0, 1, 2, Infinity, Infinity),
      })
      .map(({ of, least, more }) => ({ is: "times", of, least, most: least + more }) as const),
    fc.array(tie("tree"), { minLength: 1, maxLength: 4 }).map((of) => ({ is: "all", of }) as const),
    fc.array(tie("tree"), { minLength: 2, maxLength: 3 }).map((of) => ({ is: "any", of }) as const),
  ),
}));

it("takes no more steps than it was said to, whatever it is held against", () => {
  const text = fc
    .tuple(
      fc.array(fc.constantFrom("a", "b", "c", "ab", "ba", "abc", "-", "aab-"), { maxLength: 4 }),
      fc.nat(12),
    )
    .map(([parts, times]) => `${parts.join("").repeat(times)}!`);
  let held = 0;
  fc.assert(
    fc.property(tree, text, (node, said) => {
      const bound = patternWork(`^${written(node)}$`)(said.length);
      if (bound > 1_000_000) return;
      held++;
      expect(stepsTaken(node, said, bound)).toBeLessThanOrEqual(bound);
    }),
    { numRuns: 5000 },
  );
  expect(held).toBeGreaterThan(1000);
});
