import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonScanner, membersOf, valueEnd } from "./scan.ts";
import { cpuTime } from "../../test/support/cpu-time.ts";

const containers = fc.oneof(
  fc.array(fc.jsonValue()),
  fc.dictionary(fc.string(), fc.jsonValue()),
  fc.string(),
);

/** Where a value that comes in pieces is over, in all of its text. */
function endOf(pieces: readonly string[]): number {
  const scanner = new JsonScanner();
  let before = 0;
  for (const piece of pieces) {
    const end = scanner.scan(piece);
    if (end !== -1) return before + end;
    before += piece.length;
  }
  return -1;
}

describe("the scanner", () => {
  it("finds the end of a value however its text is split", () => {
    fc.assert(
      fc.property(containers, fc.nat(4), fc.string(), (value, size, behind) => {
        const text = JSON.stringify(value);
        const whole = text + behind;
        const pieces = size === 0 ? [whole] : whole.match(new RegExp(`.{1,${size}}`, "gsu"));
        expect(endOf(pieces ?? [])).toBe(text.length);
        expect(endOf([text.slice(0, -1)])).toBe(-1);
      }),
    );
  });

  it.each([
    ['{"a":"\\\\"}', 10],
    ['{"a":"\\\\\\""}x', 12],
    ['["]", "\\"]"] ', 12],
    ["x {}", 4],
    ["}", 1],
    ["", -1],
    ["12", -1],
    ['{"a":"', -1],
  ])("finds the end of %j at %d", (text, end) => {
    expect(endOf([text])).toBe(end);
    expect(endOf(text.split(""))).toBe(end);
  });

  it("knows whether brackets are open, also behind a value that is over", () => {
    const scanner = new JsonScanner();
    const states = ["", '"{"', '{"a":[', "]} x", '{} "}" [', "]", "}"].map((piece) => {
      scanner.follow(piece);
      return scanner.isOpen() ? "open" : scanner.isClosed() ? "closed" : "none";
    });
    expect(states).toEqual(["none", "none", "open", "closed", "open", "closed", "closed"]);
  });

  it("looks at every character once, in any number of pieces", () => {
    const scanner = new JsonScanner();
    const started = cpuTime();
    expect(scanner.scan('{"a":"')).toBe(-1);
    for (let count = 0; count < 400_000; count++) scanner.scan("\\\\");
    expect(scanner.scan("\\".repeat(2_000_000))).toBe(-1);
    expect(scanner.scan('"}')).toBe(2);
    expect(cpuTime() - started).toBeLessThan(2_000);
  });
});

describe("JSON text", () => {
  it("has its members where a parser finds them", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const found = [...membersOf(text)].map(({ key, from, end }) => [
          key,
          JSON.parse(text.slice(from, end)) as unknown,
        ]);
        const parsed = JSON.parse(text) as object;
        expect(found).toEqual(Object.keys(value).map((key) => [key, Reflect.get(parsed, key)]));
      }),
    );
  });

  it("has a value under its key, of a key that is there twice the last", () => {
    const text = '{"a": 1, "\\u0061": [0, {"b": "x\\"y"}], "c": {"a": 2}}';
    const at = (key: string): string | undefined => {
      const span = [...membersOf(text)].findLast((member) => member.key === key);
      return span && text.slice(span.from, span.end);
    };
    expect(at("a")).toBe('[0, {"b": "x\\"y"}]');
    expect(at("c")).toBe('{"a": 2}');
    expect(at("d")).toBe(undefined);
  });

  it.each(["", "{", '{"a"', '{"a":', "[", "[1,", "[,", '{"a":[', '"a', "x"])(
    "that breaks off as %j does is walked to its end",
    (text) => {
      expect([...membersOf(text)].length).toBeLessThan(3);
      expect(valueEnd(text, 0)).toBeLessThanOrEqual(text.length);
    },
  );
});
