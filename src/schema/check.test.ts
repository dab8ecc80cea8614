import { expect, it } from "vitest";
import type { JsonSchema } from "../turn/turn.ts";
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

it("holds what else a schema asks for where a pattern might never be done", () => {
  const wild = { type: "string", pattern: "^(a+)+$" };
  const schema = { type: "object", required: ["b"], properties: { a: wild, b: { pattern: "^x" } } };
  const a = `${"a".repeat(40)}!`;
  expect(placesIn({ a }, schema)?.at(-1)).toBe("#/required");
  expect(placesIn({ a, b: "y" }, schema)?.at(-1)).toBe("#/properties/b/pattern");
  expect(placesIn({ a, b: "x" }, schema)).toEqual([]);
});

it("blames nobody for a pattern that was not held", () => {
  const wild = { pattern: "^(a+)+$" };
  const a = `${"a".repeat(40)}!`;
  expect(placesIn(a, { not: wild })).toEqual([]);
  expect(placesIn(a, { oneOf: [wild, { type: "string" }] })).toEqual([]);
  expect(placesIn(a, { if: wild, else: false })).toEqual([]);
  expect(placesIn(a, { if: { not: wild }, else: false })).toEqual([]);
  const named = { patternProperties: { "^(a+)+$": true }, additionalProperties: false };
  expect(placesIn({ aaa: 1 }, named)).toEqual([]);
  expect(placesIn({ aaa: 1 }, { allOf: [named], unevaluatedProperties: false })).toEqual([]);
  expect(placesIn({ pattern: wild.pattern }, { const: { pattern: wild.pattern } })).toEqual([]);
  const list = Array.from({ length: 3000 }, (_, at) => at);
  expect(placesIn([...list, 0], { not: { uniqueItems: true } })).toEqual([]);
});

it.each([
  ["in many ways", ".*.*.*.*=", 100_000],
  ["from every place", "[a-z]+=", 1_000_000],
  ["as it likes", "^(?:б[а-я]*)+$", 100_000],
])("waits for no pattern that goes through a long text %s", (_, pattern, length) => {
  const text = "б".repeat(length) + "a".repeat(length);
  expect(placesIn(text, { pattern, maxLength: 3 })?.at(-1)).toBe("#/maxLength");
});

it("holds a text against many patterns only as long as anybody can wait", () => {
  const pattern = "^[a-z]*[a-z]*$";
  const allOf = Array.from({ length: 1000 }, () => ({ pattern }));
  expect(placesIn(`${"a".repeat(30)}!`, { pattern })?.at(-1)).toBe("#/pattern");
  expect(placesIn("a".repeat(30), { allOf })).toBeUndefined();
  expect(placesIn("a".repeat(1000), { allOf })).toEqual([]);
});

it("takes `url` for the unknown format it is", () => {
  expect(placesIn(`http://${"a".repeat(60)}!`, { format: "url" })).toEqual([]);
  expect(placesIn("no date", { format: "date" })?.at(-1)).toBe("#/format");
});

it("counts looks whatever a schema says itself", () => {
  const own = { $recursiveRef: {}, properties: { x: { $ref: "#" } } };
  let value = {};
  for (let depth = 0; depth < 60; depth++) value = { x: value };
  expect(placesIn(value, { ...own, allOf: [own, { ...own }] })).toBeUndefined();
});
