import { expect, it } from "vitest";
import { kept } from "./memoize.ts";

it("makes a thing of an object once, and of another object another", () => {
  const wrap = kept((key: object) => ({ key }));
  const [one, other] = [{}, {}];
  expect(wrap(one)).toBe(wrap(one));
  expect(wrap(one)).not.toBe(wrap(other));
  expect(wrap(other).key).toBe(other);
});

it("keeps nothing that could not be made", () => {
  const first = kept((list: string[]): string => {
    const [text] = list;
    if (text === undefined) throw new Error("nothing there");
    return text;
  });
  const list: string[] = [];
  expect(() => first(list)).toThrow("nothing there");
  list.push("made");
  expect(first(list)).toBe("made");
});
