import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isWithin, ordered } from "./json.ts";

const text = (value: unknown): string => JSON.stringify(ordered(value));

it("gives equal values one text, whatever the order of their keys", () => {
  expect(text({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(text(value)).toBe(text(JSON.parse(text(value))));
      expect(JSON.parse(text(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it.each([
  [{ a: 1 }, [["a", 1]]],
  [
    [1, 2],
    [2, 1],
  ],
  [1, "1"],
])("tells %j from %j", (one, other) => {
  expect(text(one)).not.toBe(text(other));
});

it("counts how deep a value is nested", () => {
  expect([isWithin(1, 0), isWithin([], 0), isWithin([[1]], 1), isWithin([{ a: 1 }], 2)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});
