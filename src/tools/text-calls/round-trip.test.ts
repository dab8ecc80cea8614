import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../turn/turn.ts";
import { readUseTool, writeUseTool } from "./use-tool.ts";

const marks = ["<", ">", "&", '"', "'", " ", "\n", "\r", "\t", "\0", "\ud83d", "\ude00", "é", "名"];
const tags = ["&lt;", "&#10;", "&amp;", "</use_tool>", "<use_tool>", "<![CDATA[", "]]>", "</a>"];
const words = [
  "_x0041_",
  "_x",
  "_",
  "0041",
  "-1.0",
  "1e3",
  "true",
  "null",
  "[",
  "]",
  "{",
  "}",
  "\\",
];
const names = [
  "a",
  "b",
  "name",
  "args",
  "arguments",
  "_args",
  "input",
  "use_tool",
  "",
  "1",
  "0",
  "ключ",
];
const oddNames = [
  "__proto__",
  "constructor",
  "_x_",
  "_x0041_",
  "_xABCD ",
  "a b",
  "a:b",
  "<",
  "a.b-c",
];

/** Any text at all: halves of characters, controls, markup and what looks like an escape. */
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc
    .array(fc.nat({ max: 0xff_ff }), { maxLength: 8 })
    .map((codes) => String.fromCharCode(...codes)),
  fc
    .array(fc.constantFrom(...marks, ...tags, ...words), { maxLength: 8 })
    .map((parts) => parts.join("")),
);
const key = fc.oneof(text, fc.constantFrom(...names, ...oddNames));
const number = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom("12345678901234567890", "1.0", "1e3", "-0", "1E+400", "0.10"),
);
/** JSON text, with numbers and blanks as nobody's `stringify` has them. */
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text.map((one) => JSON.stringify(one)),
    number,
    fc.constantFrom("true", "false", "null", '"5"', '"null"', '"\\u0041\\/"', '"true"'),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 3 }).map((all) => `[${all.join(" , ")}]`),
  object: fc
    .array(fc.tuple(key, tie("value")), { maxLength: 3 })
    .map((all) => `{${all.map(([name, of]) => `${JSON.stringify(name)} :\n${of}`).join(",")}}`),
}));
const input = fc
  .array(fc.tuple(key, value), { maxLength: 5 })
  .map((all) => `{ ${all.map(([name, of]) => `${JSON.stringify(name)}:${of}`).join(", ")}\n}`);

const type = fc.constantFrom("string", "integer", "number", "boolean", "null", "array", "object");
const { schema: property } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<JsonSchema>(true, {}, { $ref: "#/$defs/one" }, { $ref: "#" }, { $ref: "#/%" }),
    type.map((one) => ({ type: one })),
    fc.array(type).map((all) => ({ type: all })),
    fc.array(fc.oneof(text, fc.integer(), fc.constant(null))).map((all) => ({ enum: all })),
    fc.oneof(text, fc.boolean()).map((one) => ({ const: one })),
    fc.constantFrom<JsonSchema>({ minLength: 1 }, { items: { type: "string" } }, { minimum: 0 }),
    fc.array(tie("schema"), { maxLength: 3 }).map((all) => ({ anyOf: all })),
    fc.array(tie("schema"), { maxLength: 3 }).map((all) => ({ oneOf: all, type: "string" })),
    fc.array(tie("schema"), { maxLength: 3 }).map((all) => ({ allOf: all, nullable: true })),
  ),
}));
const schema = fc.option(
  fc.oneof(
    fc.boolean(),
    fc
      .tuple(fc.dictionary(key, property), property, property)
      .map(([properties, one, additionalProperties]): JsonSchema => ({
        type: "object",
        properties,
        additionalProperties,
        $defs: { one },
      })),
    fc
      .dictionary(key, property)
      .map((properties): JsonSchema => ({ $ref: "#/$defs/it", $defs: { it: { properties } } })),
  ),
  { nil: undefined },
);

/** JSON text that says the same if, and only if, its value, its numbers and its order are the same. */
const canonical = (json: string): unknown => {
  const tokens: string[] = [];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"]+/gs))
    tokens.push(token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : token);
  return tokens.join("");
};

describe("a written call", () => {
  it("is read as it was, whatever its tool, arguments and schema are", () => {
    fc.assert(
      fc.property(text, input, schema, (name, given, declared) => {
        fc.pre(name !== "");
        const block = writeUseTool(name, given, declared);
        const read = readUseTool(block, (asked) =>
          asked === name ? { schema: declared } : undefined,
        );
        expect(read?.name).toBe(name);
        expect(canonical(read?.input ?? "")).toBe(canonical(given));
      }),
      { numRuns: 1000 },
    );
  });

  it("is read as it was if its input is no object", () => {
    fc.assert(
      fc.property(fc.oneof(text, value), schema, (given, declared) => {
        fc.pre(given.trim() !== "" && !given.trim().startsWith("{"));
        const block = writeUseTool("f", given, declared);
        expect(readUseTool(block, () => ({ schema: declared }))?.input).toBe(given);
      }),
    );
  });

  it("is read as it was if its tool takes any text", () => {
    fc.assert(
      fc.property(fc.oneof(text, input), (given) => {
        const block = writeUseTool("f", given, undefined, "custom");
        expect(readUseTool(block, () => ({ free: true }))).toEqual({ name: "f", input: given });
      }),
    );
  });

  it("holds the end of a block only once, and nothing that XML may not hold", () => {
    fc.assert(
      fc.property(text, input, schema, (name, given, declared) => {
        const block = writeUseTool(name, given, declared);
        expect(block.split("</use_tool>")).toHaveLength(2);
        expect(block.split("<use_tool")).toHaveLength(2);
        expect(block.isWellFormed()).toBe(true);
        expect(block).toMatch(/^[\t\n\u0020-\u{10ffff}]*$/u);
      }),
    );
  });
});
