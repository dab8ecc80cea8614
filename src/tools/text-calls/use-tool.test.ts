import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../turn/turn.ts";
import { readUseTool } from "./use-tool.ts";

const schema: JsonSchema = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    on: { type: "boolean" },
    list: { type: "array", items: { type: "integer" } },
    map: { type: "object" },
    place: {
      type: "object",
      properties: { city: { type: "string" }, floor: { type: "integer" } },
    },
    places: { type: "array", items: { $ref: "#/properties/place" } },
    none: { type: ["integer", "null"] },
    maybe: { type: ["string", "null"] },
    either: { anyOf: [{ type: "string" }, { $ref: "#/$defs/count" }] },
    mode: { enum: ["1", "2"] },
    far: { $ref: "#/$defs/word" },
    any: {},
  },
  $defs: { word: { type: "string" }, count: { type: "integer" } },
};
const read = (block: string): unknown => {
  const call = readUseTool(block, (name) => (name === "f" ? { schema } : undefined));
  return call === undefined ? undefined : JSON.parse(call.input);
};
/** The arguments that the inside of a block makes. */
const inside = (body: string): unknown => read(`<use_tool>\n<name>f</name>\n${body}\n</use_tool>`);

describe("reading a call in text", () => {
  it.each([
    [
      "a declared text as it is",
      "<text>5</text><far>true</far><mode>1</mode>",
      { text: "5", far: "true", mode: "1" },
    ],
    [
      "declared types",
      "<count>5</count><ratio>.5</ratio><on>true</on>",
      { count: 5, ratio: ".5", on: true },
    ],
    [
      "lists and objects",
      '<list>[1, 2]</list><map>{"a": "<b>"}</map>',
      { list: [1, 2], map: { a: "<b>" } },
    ],
    ["a list that is none as text", "<list>1, 2</list>", { list: "1, 2" }],
    ["a text that may be null", "<maybe>null</maybe>", { maybe: null }],
    ["a number where a text may be null", "<maybe>5</maybe>", { maybe: "5" }],
    ["quotes where a text may be null", '<maybe>"so"</maybe>', { maybe: '"so"' }],
    ["a number where there may be one", "<either>5</either>", { either: 5 }],
    ["a text in quotes where it would be a number", '<either>"5"</either>', { either: "5" }],
    [
      "JSON where anything may be",
      '<any>"5"</any><other>[true]</other>',
      { any: "5", other: [true] },
    ],
    ["text where anything may be", "<any>5 apples</any>", { any: "5 apples" }],
    [
      "entities",
      "<text>&lt;a&gt; &amp;amp; &#x1F600;&#128512; &quot;&apos;</text>",
      { text: "<a> &amp; 😀😀 \"'" },
    ],
    [
      "unknown entities as they are",
      "<text>&nbsp; AT&T; & &#x110000; &</text>",
      { text: "&nbsp; AT&T; & &#x110000; &" },
    ],
    [
      "markup that is not escaped",
      "<text>if a < b && <i>c</i> > d</text>",
      { text: "if a < b && <i>c</i> > d" },
    ],
    [
      "markup of the same name",
      "<text>a <text>b</text> c</text><count>1</count>",
      { text: "a <text>b</text> c", count: 1 },
    ],
    [
      "a tag that is only spoken of",
      "<text>the <text> tag</text><count>1</count>",
      { text: "the <text> tag", count: 1 },
    ],
    ["character data", "<text> <![CDATA[ </text> &lt; ]]> </text>", { text: " </text> &lt; " }],
    ["character data between words", "<text>a&lt;<![CDATA[<b>]]>c</text>", { text: "a<<b>c" }],
    ["a line with white space around it", "<text>\n    so  so\n  </text>", { text: "so  so" }],
    [
      "lines with the white space in them",
      "<text>\n    a\n  b\n\n  </text>",
      { text: "    a\n  b\n" },
    ],
    ["a text of nothing but blanks", "<text> </text>", { text: " " }],
    ["repeated tags as a list", "<text>1</text><text>2</text>", { text: ["1", "2"] }],
    [
      "elements as the list has them",
      "<list>1</list><count>0</count><list>2</list>",
      { list: [1, 2], count: 0 },
    ],
    ["an empty element", "<text/><count>1</count>", { text: "", count: 1 }],
    ["attributes", '<text type="string">a</text>', { text: "a" }],
    ["a second name", "<name>x</name>", { name: "x" }],
    ["no arguments", "", {}],
    ["all arguments at once", '<args>{"text": "a"}</args>', { text: "a" }],
    ["elements in the tag for all", "<args>\n<text>5</text>\n</args>", { text: "5" }],
    ["JSON behind the name", '{"text": "<count>1</count>"}', { text: "<count>1</count>" }],
    [
      "fields as elements",
      "<place><city>5</city><floor>5</floor></place>",
      { place: { city: "5", floor: 5 } },
    ],
    [
      "members as elements",
      "<list><item>1</item><item>2</item></list><places><p><city>Rome</city></p></places>",
      { list: [1, 2], places: [{ city: "Rome" }] },
    ],
    ["elements of a free object", "<map><a>1</a><b>x</b></map>", { map: { a: 1, b: "x" } }],
    ["escaped markup where none can be as text", "<map>&lt;a/&gt;</map>", { map: "<a/>" }],
    [
      "words of other languages",
      "<on>True</on><none>None</none><text>True</text>",
      { on: true, none: null, text: "True" },
    ],
    ["JSON in what models call arguments", '<arguments>{"count": 1}</arguments>', { count: 1 }],
    [
      "elements in what models call parameters",
      "<parameters><count>1</count></parameters>",
      { count: 1 },
    ],
    ["text in a tag that is only named so", "<input>so</input>", { input: "so" }],
    ["encoded keys", "<a_x0020_b>1</a_x0020_b>", { "a b": 1 }],
  ])("takes %s", (_, body, wanted) => {
    expect(inside(body)).toEqual(wanted);
  });

  it.each([
    ["its name in the tag", '<use_tool name="f"><text>a</text></use_tool>', { text: "a" }],
    ["its name in the tag and JSON", "<use_tool name='f' >{\"count\": 1}</use_tool>", { count: 1 }],
    ["an argument of that name", '<use_tool name="f"><name>g</name></use_tool>', { name: "g" }],
    [
      "white space everywhere",
      " <use_tool >\n\n <name> f </name> <text > a </text >\n</use_tool > ",
      { text: "a" },
    ],
    ["its name last", "<use_tool><text>a</text><name>f</name></use_tool>", { text: "a" }],
    ["nothing but JSON", '<use_tool>{"name":"f","arguments":{"count":1}}</use_tool>', { count: 1 }],
    ["parameters", '<use_tool>\n{"name":"f","parameters":{"count":1}}\n</use_tool>', { count: 1 }],
    ["input", '<use_tool>{"name":"f","input":{"count":1}}</use_tool>', { count: 1 }],
    [
      "arguments as text",
      '<use_tool>{"name":"f","arguments":"{\\"count\\":1}"}</use_tool>',
      { count: 1 },
    ],
    ["arguments beside the name", '<use_tool>{"name":"f","count":1}</use_tool>', { count: 1 }],
    ["no arguments in JSON", '<use_tool>{"name":"f","arguments":null}</use_tool>', {}],
  ])("takes a block with %s", (_, block, wanted) => {
    expect(read(block)).toEqual(wanted);
  });

  it.each([
    ["a block without a name", "<use_tool><text>a</text></use_tool>"],
    ["an empty name", "<use_tool><name></name></use_tool>"],
    ["a tool that nobody declared", "<use_tool><name>g</name></use_tool>"],
    ["a tool of JSON that nobody declared", '<use_tool>{"name":"g"}</use_tool>'],
    ["words that are no arguments", '<use_tool name="f">look for cats</use_tool>'],
    ["a block that is not closed", "<use_tool><name>f</name>"],
    [
      "a block that another one closes",
      "<use_tool><name>f</name><use_tool><name>f</name></use_tool>",
    ],
    ["an argument that is not closed", "<use_tool name='f'><text>a <b>c</b></use_tool>"],
    ["arguments in the tag", `<use_tool name="f" count="5"><on>true</on></use_tool>`],
    ["a block without an end tag", '<use_tool name="f"/>'],
    ["escaped JSON", "<use_tool name='f'>{&quot;count&quot;: 1}</use_tool>"],
    ["another tag", "<use_tools><name>f</name></use_tools>"],
    ["a tag with nonsense in it", "<use_tool f><name>f</name></use_tool>"],
    ["nothing", ""],
  ])("makes no call of %s", (_, block) => {
    expect(read(block)).toBeUndefined();
  });

  it("looks for elements within elements only so deep", () => {
    const tree = { type: "object", properties: { in: { $ref: "#" } } };
    const block = `<use_tool name="f">${"<in>".repeat(5000)}${"</in>".repeat(5000)}</use_tool>`;
    const { input = "" } = readUseTool(block, () => ({ schema: tree })) ?? {};
    expect(input.slice(0, 100)).toBe('{"in":'.repeat(17).slice(0, 100));
    expect(input.length).toBeGreaterThan(block.length - 500);
  });

  it("keeps what JSON would lose", () => {
    const block = (body: string): string => `<use_tool><name>f</name>${body}</use_tool>`;
    const input = (body: string): string | undefined =>
      readUseTool(block(body), () => ({ schema }))?.input;
    expect(input("<ratio>1.0</ratio><count>12345678901234567890</count>")).toBe(
      '{"ratio":1.0,"count":12345678901234567890}',
    );
    expect(input("<__proto__>1</__proto__><constructor>a</constructor>")).toBe(
      '{"__proto__":1,"constructor":"a"}',
    );
    expect(input("<args>not { JSON</args>")).toBe("not { JSON");
  });

  it.each([
    ["in an element", "<args>a &lt; b</args>", "a < b"],
    ["in another element", "<input>\n*** Begin\n+<b>x</b>\n</input>", "*** Begin\n+<b>x</b>"],
    ["by itself", "\n*** Begin\n+<b>x</b>\n", "*** Begin\n+<b>x</b>"],
    ["that is JSON", '{"a": 1}', '{"a": 1}'],
  ])("takes any text %s for a tool that takes it", (_, body, wanted) => {
    const block = `<use_tool><name>f</name>${body}</use_tool>`;
    expect(readUseTool(block, () => ({ free: true }))?.input).toBe(wanted);
  });

  it.each(['{"name":"f","input":"a b"}', '{"name":"f","arguments":{"input":"a b"}}'])(
    "takes text out of %s",
    (body) => {
      const block = `<use_tool>${body}</use_tool>`;
      expect(readUseTool(block, () => ({ free: true }))?.input).toBe("a b");
    },
  );

  // Each of them takes minutes if the text is gone through again for each of its parts.
  it.each([
    ["tags that are never closed", "<a>".repeat(300_000)],
    ["tags that close too little", "<a><a></a>".repeat(100_000)],
    ["tags that never end", "<a ".repeat(300_000)],
    ["sections that never end", `<text>${"<![CDATA[".repeat(100_000)}`],
    ["sections", `<text>${"<![CDATA[]]>".repeat(100_000)}</text>`],
    ["ampersands", `<text>${"&#".repeat(300_000)}</text>`],
    ["blanks", `<text>a${" ".repeat(500_000)}b${"\n".repeat(500_000)}</text>`],
    ["quotes", `<any>${'["\\"'.repeat(100_000)}</any>`],
    ["brackets", `<any>${"[".repeat(100_000)}${"]".repeat(100_000)}</any>`],
  ])("is soon done with many %s", (_, body) => {
    expect(() =>
      readUseTool(`<use_tool><name>f</name>${body}</use_tool>`, () => ({ schema })),
    ).not.toThrow();
  });
});
