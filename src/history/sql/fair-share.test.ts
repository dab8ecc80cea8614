import { expect, it } from "vitest";
import { fairShares } from "./drop.ts";

it("takes nothing while there is room", () => {
  expect(fairShares(new Map([["ann", 60]]), 60)).toEqual(new Map());
});

it("takes from those that hold most, down to the same share for each", () => {
  const held = new Map([
    ["ann", 1000],
    ["bob", 10],
    ["eve", 500],
  ]);
  expect(fairShares(held, 320)).toEqual(
    new Map([
      ["eve", 145],
      ["ann", 145],
    ]),
  );
});
