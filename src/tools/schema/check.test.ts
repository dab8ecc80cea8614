import { expect, it } from "vitest";
import type { JsonSchema } from "../../turn/turn.ts";
import { errorsIn } from "./check.ts";

const placesIn = (value: unknown, schema: JsonSchema): readonly string[] | undefined =>
  errorsIn(value, schema, JSON.stringify(value).length)?.map((error) => error.keywordLocation);

it("names the rule that a value breaks", () => {
  const schema = { type: "object", properties: { a: { type: "string", pattern: "^x" } } };
  expect(placesIn({ a: "xy" }, schema)).toEqual([]);
  expect(placesIn({ a: "y" }, schema)?.at(-1)).toBe("#/properties/a/pattern");
  expect(placesIn([1, 1], { uniqueItems: true })?.at(-1)).toBe("#/uniqueItems");
});

it("is told of nothing by a schema that refers to itself, or to nothing", () => {
  expect(placesIn({}, { $ref: "#" })).toBeUndefined();
  expect(placesIn({}, { $ref: "#/$defs/none" })).toBeUndefined();
});

it("gives up where references ask for more than anybody can wait for", () => {
  const double = (to: string): JsonSchema => ({ allOf: [{ $ref: to }, { $ref: to }] });
  const names = Array.from({ length: 40 }, (_, at) => `d${at}`);
  const $defs = Object.fromEntries(names.map((name, at) => [name, double(`#/$defs/d${at + 1}`)]));
  const schema = { $ref: "#/$defs/d0", $defs: { ...$defs, d40: { type: "object" } } };
  expect(placesIn({}, schema)).toBeUndefined();
});

it("gives up where each level of a value asks for twice as much", () => {
  const again = { properties: { x: { $ref: "#" } } };
  let value = {};
  for (let depth = 0; depth < 60; depth++) value = { x: value };
  expect(placesIn(value, { allOf: [again, { ...again }] })).toBeUndefined();
});

it("compares no long list with itself, nor one with many values, and holds the rest", () => {
  const list = Array.from({ length: 20_000 }, (_, at) => at);
  expect(placesIn(list, { uniqueItems: true, maxItems: 3 })?.at(-1)).toBe("#/maxItems");
  expect(placesIn(list, { items: { enum: list.toReversed() } })).toBeUndefined();
});
