import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timesAsLong } from "../../../test/support/growth.ts";
import { unwrapText } from "./decoder.ts";

function read(pieces: readonly string[], complete = true): string {
  const decoder = unwrapText("input");
  return pieces.map((piece) => decoder.each(piece)).join("") + decoder.end(complete);
}
const bySingle = (text: string): string[] => text.split("");

/** The text cut at the places given. */
const cut = (text: string, places: readonly number[]): string[] => {
  const at = [
    0,
    ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b),
    text.length,
  ];
  return at.slice(1).map((to, index) => text.slice(at[index], to));
};

/** Any text at all, halves of characters too. */
const text = fc.oneof(
  fc.string(),
  fc.array(fc.nat({ max: 0xff_ff })).map((codes) => String.fromCharCode(...codes)),
  fc
    .array(fc.constantFrom("\\", '"', "\n", "u", "\ud83d", "\ude00", "\0"))
    .map((parts) => parts.join("")),
);

describe("unwrapText", () => {
  it("says the text while it comes", () => {
    const decoder = unwrapText("input");
    expect(decoder.each('{"inp')).toBe("");
    expect(decoder.each('ut": "*** Be')).toBe("*** Be");
    expect(decoder.each("gin Patch\\")).toBe("gin Patch");
    expect(decoder.each('n+x"}')).toBe("\n+x");
    expect(decoder.end(true)).toBe("");
  });

  it.each([
    ["plain text", "*** Begin Patch\n+x", "*** Begin Patch\n+x"],
    ["text that begins with a brace", "{ const a = 1 }", "{ const a = 1 }"],
    ["a JSON string", '"say \\"hi\\""', 'say "hi"'],
    ["another object", '{"cmd": "ls"}', '{"cmd": "ls"}'],
    ["keys before the text", '{"why": 1, "input": "x"}', "x"],
    ["keys behind the text", '{"input": "x", "why": 1}', "x"],
    ["a value that is no text", '{"input": {"a": [1]}}', '{"a":[1]}'],
    ["no arguments at all", "{}", ""],
    ["nothing", "", ""],
    ["a raw line break", '{"input": "a\nb"}', "a\nb"],
    ["an unknown escape", '{"input": "\\d+\\q"}', "\\d+\\q"],
    ["a broken escape", '{"input": "\\u12zz"}', "\\u12zz"],
    ["half a character", '{"input": "\\ud83d!"}', "\ud83d!"],
    ["a string that never closes", '{"input": "a\\', "a\\"],
    ["something broken", '{"input": nope}', '{"input": nope}'],
  ])("takes %s", (_, text, wanted) => {
    expect(read([text])).toBe(wanted);
    expect(read(bySingle(text))).toBe(wanted);
  });

  it("does not complete what was cut off", () => {
    expect(read(['{"inp'], false)).toBe("");
    expect(read(['{"input": "rm -rf /tm'], false)).toBe("rm -rf /tm");
    expect(read(['{"input": "a\\u00'], false)).toBe("a");
  });

  it("does not send half of a character that is written as two escapes", () => {
    const decoder = unwrapText("input");
    expect(decoder.each('{"input": "\\ud83d')).toBe("");
    expect(decoder.each("\\ude0")).toBe("");
    expect(decoder.each('0"}')).toBe("😀");
  });

  it("gives back any text, in any pieces, however it was written", () => {
    fc.assert(
      fc.property(
        text,
        fc.array(fc.nat()),
        fc.boolean(),
        fc.nat({ max: 4 }),
        (wanted, places, ascii, space) => {
          let written = JSON.stringify({ input: wanted }, undefined, space);
          if (ascii)
            written = written.replaceAll(
              /[^\0-\x7f]/g,
              (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
            );
          expect(read(cut(written, places))).toBe(wanted);
        },
      ),
    );
  });

  it("reads anything the same in any pieces", () => {
    const start = fc.constantFrom(
      "",
      "{",
      '{"input"',
      '{"input":"',
      ' { "input" : "',
      '"',
      "{}",
      '{"a":',
    );
    fc.assert(
      fc.property(start, text, fc.array(fc.nat()), (head, tail, places) => {
        expect(read(cut(head + tail, places))).toBe(read([head + tail]));
      }),
    );
  });

  it("costs as much for each of 16,000 pieces as for each of 1,000", async () => {
    const piece = '+ const line = \\"twenty\\";\\n';
    const take = (count: number): void => {
      const decoder = unwrapText("input");
      decoder.each('{"input":"');
      for (let at = 0; at < count; at++) decoder.each(piece);
      decoder.end(true);
    };
    const once = (): void => take(16_000);
    const inParts = (): void => {
      for (let at = 0; at < 16; at++) take(1000);
    };
    expect(await timesAsLong(once, inParts, 4)).toBeLessThan(4);
  });
});
