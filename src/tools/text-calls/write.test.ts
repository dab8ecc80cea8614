import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../turn/turn.ts";
import { writeUseTool } from "./use-tool.ts";

/** What is written between the name and the end. */
const written = (input: string, schema?: JsonSchema, kind?: string): string =>
  writeUseTool("f", input, schema, kind)
    .replace("<use_tool>\n  <name>f</name>\n", "")
    .replace("\n</use_tool>", "");
const properties = (of: Record<string, JsonSchema>): JsonSchema => ({
  type: "object",
  properties: of,
});

describe("writing a call as text", () => {
  it("gives every argument an element, in their order", () => {
    const schema = properties({ query: { type: "string" }, limit: { type: "integer" } });
    expect(writeUseTool("localSearch", '{"query":"cats","limit":5}', schema)).toBe(
      "<use_tool>\n  <name>localSearch</name>\n  <query>cats</query>\n  <limit>5</limit>\n</use_tool>",
    );
    expect(written('{"b":1,"1":2,"a":3}')).toBe("  <b>1</b>\n  <_x0031_>2</_x0031_>\n  <a>3</a>");
  });

  it.each<[string, string, string, JsonSchema?]>([
    [
      "lists and objects as JSON",
      '{"a":[1, {"b": "c"}]}',
      "<a>[1,{&quot;b&quot;:&quot;c&quot;}]</a>",
    ],
    ["true, false and null as such", '{"a":null}', "<a>null</a>"],
    ["numbers to the last digit", '{"a":12345678901234567890}', "<a>12345678901234567890</a>"],
    ["numbers as they are written", '{"a":[1.0,1e3]}', "<a>[1.0,1e3]</a>"],
    [
      "a text that means something in XML",
      `{"a":"<b> & 'c' \\"d\\""}`,
      "<a>&lt;b&gt; &amp; &apos;c&apos; &quot;d&quot;</a>",
    ],
    ["white space at the ends", '{"a":" \\nb c\\n\\t"}', "<a>&#32;&#10;b c&#10;&#9;</a>"],
    ["a carriage return", '{"a":"b\\r\\nc"}', "<a>b&#13;\nc</a>"],
    ["what XML cannot hold", '{"a":"\\u0000\\ud83d!\\uffff"}', "<a>&#0;&#55357;!&#65535;</a>"],
    ["whole characters as they are", '{"a":"😀 名前 e\\u0301"}', "<a>😀 名前 e\u0301</a>"],
    ["an empty text", '{"a":""}', "<a></a>"],
    [
      "a declared text that looks like a number",
      '{"a":"5"}',
      "<a>5</a>",
      properties({ a: { type: "string" } }),
    ],
    ["another such text in quotes", '{"a":"5"}', "<a>&quot;5&quot;</a>"],
    ["a second name as an argument", '{"name":"x"}', "<name>x</name>"],
    ["the empty key", '{"":1}', "<_x_>1</_x_>"],
    ["a key with a blank", '{"a b":1}', "<a_x0020_b>1</a_x0020_b>"],
    ["a key that looks encoded", '{"_x0041_":1}', "<_x005F_x0041_>1</_x005F_x0041_>"],
    ["a key with markup", '{"<x>":1}', "<_x003C_x_x003E_>1</_x003C_x_x003E_>"],
    ["a key in other letters", '{"ключ":1}', "<ключ>1</ключ>"],
    ["a key that is the block's tag", '{"use_tool":1}', "<_x0075_se_tool>1</_x0075_se_tool>"],
    ["a key that is the tag for all", '{"args":1}', "<_x0061_rgs>1</_x0061_rgs>"],
    ["a declared key of that name", '{"args":1}', "<args>1</args>", properties({ args: {} })],
    ["no arguments", "{ }", "<args>{}</args>"],
    ["nothing", "", "<args>{}</args>"],
    [
      "no arguments where `args` is declared",
      "{}",
      "<arguments>{}</arguments>",
      properties({ args: {} }),
    ],
    [
      "no arguments where both are",
      "{}",
      "<_args>{}</_args>",
      properties({ args: {}, arguments: {} }),
    ],
    ["a list", "[1, 2]", "<args>[1, 2]</args>"],
    ["what is no JSON", '{"a": <', "<args>{&quot;a&quot;: &lt;</args>"],
    ["a key given twice", '{"a":1,"a":2}', "<args>{&quot;a&quot;:1,&quot;a&quot;:2}</args>"],
    [
      "what the schema would have read otherwise",
      '{"a": null}',
      "<args>{&quot;a&quot;: null}</args>",
      properties({ a: { type: "string" } }),
    ],
  ])("writes %s", (_, input, wanted, schema) => {
    expect(written(input, schema)).toBe(`  ${wanted}`);
  });

  it("writes the text of a tool that takes any as it is", () => {
    expect(written('{"a":1}', undefined, "custom")).toBe("  <args>{&quot;a&quot;:1}</args>");
    expect(written("", undefined, "custom")).toBe("  <args></args>");
  });

  it("escapes the name of a tool", () => {
    expect(writeUseTool("a<b", "{}", undefined)).toContain("<name>a&lt;b</name>");
  });
});
