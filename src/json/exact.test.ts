import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRawNumber, parseExactly } from "./exact.ts";

const valueOf = (source: string): unknown =>
  (parseExactly(`{"a": ${source}}`) as { readonly a: unknown }).a;

describe("numbers of a request", () => {
  it.each([
    "12345678901234567890",
    "-12345678901234567890",
    "9007199254740993",
    "18446744073709551615",
    "0.12345678901234567890123",
    "3.14159265358979323846",
    "123456789.1234567891",
    "1e400",
    "-1E+400",
    "1e-400",
    "4.9e-324",
    "12345678901234567891e3",
  ])("that JavaScript would round are written as they were: %s", (source) => {
    const value = valueOf(source);
    expect(isRawNumber(value)).toBe(true);
    expect(JSON.stringify({ value })).toBe(`{"value":${source}}`);
  });

  it.each([
    ["1", 1],
    ["9007199254740992", 2 ** 53],
    ["100000000000000000000", 1e20],
    ["0.10000000000000000", 0.1],
    ["1.50000000000000000e3", 1500],
    ["0.1234567890123456", 0.1234567890123456],
    ["1e300", 1e300],
    ["5e-324", 5e-324],
  ])("that JavaScript holds are numbers: %s", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });

  it("are kept wherever they stand, and texts that look like them are texts", () => {
    const text = `[1,{"b":[9007199254740993,"9007199254740993",-9007199254740993]},"1e400"]`;
    expect(JSON.stringify(parseExactly(text))).toBe(text);
    expect(parseExactly(`{"id": "12345678901234567890", "at": [1.5]}`)).toEqual({
      id: "12345678901234567890",
      at: [1.5],
    });
  });

  it("are never changed by being read and written", () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{0,40}$/);
    const fraction = fc.option(fc.stringMatching(/^[0-9]{1,40}$/));
    const exponent = fc.option(fc.stringMatching(/^[+-]?[0-9]{1,4}$/));
    const number = fc
      .tuple(fc.constantFrom("", "-"), digits, fraction, exponent)
      .map(
        ([sign, whole, behind, power]) =>
          `${sign}${whole}${behind === null ? "" : `.${behind}`}${power === null ? "" : `e${power}`}`,
      );
    fc.assert(
      fc.property(fc.array(number), fc.string(), (numbers, pad) => {
        const text = `{${JSON.stringify(pad)}:[${numbers.join(" , ")}]}`;
        const again = JSON.stringify(parseExactly(text));
        const written = again.slice(JSON.stringify(pad).length + 3, -2);
        const others = written === "" ? [] : written.split(",");
        expect(others.length).toBe(numbers.length);
        for (const [at, other] of others.entries())
          expect(exact(other)).toEqual(exact(numbers[at]));
      }),
      { numRuns: 500 },
    );
  });
});

/** A decimal as a whole number and a power of ten. */
function exact(source = ""): readonly [bigint, number] {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const bare = `${whole}${fraction}`.replace(/0+$/, "");
  const zeros = whole.length + fraction.length - bare.length;
  return [BigInt(`${sign}${bare === "" ? "0" : bare}`), Number(power) - fraction.length + zeros];
}
