import { expect, it } from "vitest";
import { memoizeByIdentity } from "./memoize.ts";

it("makes a thing of an object once, and of another object another", () => {
  const wrap = memoizeByIdentity((key: object) => ({ key }));
  const [one, other] = [{}, {}];
  expect(wrap(one)).toBe(wrap(one));
  expect(wrap(one)).not.toBe(wrap(other));
  expect(wrap(other).key).toBe(other);
});

it("keeps nothing that could not be made", () => {
  const first = memoizeByIdentity((list: string[]): string => {
    const [text] = list;
    if (text === undefined) throw new Error("nothing there");
    return text;
  });
  const list: string[] = [];
  expect(() => first(list)).toThrow("nothing there");
  list.push("made");
  expect(first(list)).toBe("made");
});
