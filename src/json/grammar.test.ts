import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonErrorPosition } from "./grammar.ts";

describe("jsonFlaw", () => {
  it.each([
    ['{"a":1,}', 1, 8, "a key in double quotes"],
    ["{'a':1}", 1, 2, "a key in double quotes"],
    ['{"a" 1}', 1, 6, '":"'],
    ['{"a":1 "b"', 1, 8, '"," or "}"'],
    ["[1 2]", 1, 4, '"," or "]"'],
    ["[1,]", 1, 4, "a value"],
    ["{} {}", 1, 4, "the end of the text"],
    ['{\n  "a": True\n}', 2, 8, "a value"],
    ["[\r\n1,\r2,\n?]", 4, 1, "a value"],
    ["[nul]", 1, 5, "`null`"],
    ["01", 1, 2, "the end of the text"],
    ["[-]", 1, 3, "a digit"],
    ["[1.]", 1, 4, "a digit"],
    ["[1e+]", 1, 5, "a digit"],
    ['["a\nb"]', 1, 4, "an escape such as \\n for a line break or the like"],
    ['["\\x"]', 1, 4, 'one of " \\ / b f n r t u after a backslash'],
    ['["\\u12g4"]', 1, 7, "four hexadecimal digits after \\u"],
  ])("finds it in %j", (text, line, column, expected) => {
    expect(jsonErrorPosition(text)).toEqual({ line, column, expected, atEnd: false });
  });

  it.each(["", " ", "{", '{"a', '{"a"', '{"a":', '{"a":"\\', '["\\u1', "[", "[1", "tr", "-", "1e"])(
    "finds that %j is not all",
    (text) => {
      expect(jsonErrorPosition(text)).toMatchObject({ column: text.length + 1, atEnd: true });
    },
  );

  const nearly = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", '"', "\\", "}", "]", "{", "x", "0", "\n"))
    .map(([json, at, more]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + more + json.slice(place + (at % 2));
    });

  it("finds one exactly where the engine does not take the text", () => {
    fc.assert(
      fc.property(nearly, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(jsonErrorPosition(text) === undefined).toBe(isJson);
      }),
      { numRuns: 3000 },
    );
  });

  it("finds it where the engine does, as far as that says", () => {
    fc.assert(
      fc.property(nearly, (text) => {
        let said: string | undefined;
        try {
          JSON.parse(text);
        } catch (error) {
          said = / \(line (\d+ column \d+)\)/.exec(String(error))?.[1];
        }
        const flaw = jsonErrorPosition(text);
        expect(said ?? `${flaw?.line} column ${flaw?.column}`).toBe(
          `${flaw?.line} column ${flaw?.column}`,
        );
      }),
      { numRuns: 3000 },
    );
  });

  it("takes no longer for deep and for long texts", () => {
    expect(jsonErrorPosition("[".repeat(500_000))?.column).toBe(500_001);
    expect(jsonErrorPosition(`["${"x".repeat(2_000_000)}`)?.column).toBe(2_000_003);
  });
});
