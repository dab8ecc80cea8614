import { expect, it } from "vitest";
import { idAllocator, isValidId } from "./allocate.ts";

const nine = { chars: "A-Za-z0-9", max: 9, exact: true };

it("keeps an id that will do, and bends another in the same way each time", () => {
  const [one, other] = [idAllocator(nine), idAllocator(nine)];
  expect(one("abcdefghi")).toBe("abcdefghi");
  expect(one("call_1")).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(other("call_1")).toBe(idAllocator(nine)("call_1"));
});

it.each([undefined, nine])("gives each of many calls of one id another, and soon (%j)", (rule) => {
  const allocate = idAllocator(rule);
  const given = Array.from({ length: 20_000 }, () => allocate("call"));
  expect(new Set(given).size).toBe(given.length);
});

it.each([nine, { chars: "a-z", max: 12 }, { chars: "A-F_", max: 40 }, { chars: "0-9", max: 20 }])(
  "makes lawful ids of any (%j)",
  (rule) => {
    const allocate = idAllocator(rule);
    for (const id of ["", "call_1", "call_1", "ü", "x".repeat(99)])
      expect(isValidId(allocate(id), rule)).toBe(true);
  },
);
