import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Fault } from "../../turn/fault.ts";
import { BodyReader } from "./body.ts";
import { defaultCounts, type CountLimits } from "./request-counts.ts";

const times = (count: number, piece: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => piece(at)).join(",");

/** Blanks that make a body long enough to be looked over before it is parsed. */
const BLANKS = " ".repeat(2 * defaultCounts.values_each);

function faultOf(text: string, limits?: Partial<CountLimits>): Fault {
  try {
    new BodyReader().read(text, { ...defaultCounts, ...limits });
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("no fault");
}

describe("the counts of a body", () => {
  const { values, values_each, schemas, fields, tools, items, parts } = defaultCounts;
  const list = (entry: string, count: number): string => `[${times(count, () => entry)}]`;

  it.each([
    ["tools", `{"tools":${list("{}", tools + 1)}}`, "tools", `tools\` has ${tools + 1} tools`],
    ["tools", `{"functions":${list("1", tools + 1)}}`, "functions", `has ${tools + 1} tools`],
    [
      "tools",
      `{"tools":[{"type":"namespace","tools":${list("1", tools)}}]}`,
      "tools",
      `has ${tools + 1} tools`,
    ],
    [
      "tools",
      `{"input":[{"tools":[{"tools":${list("1", tools)}}]}]}`,
      "input",
      `has ${tools + 1} tools`,
    ],
    ["items", `{"messages":${list("{}", items + 1)}}`, "messages", `has ${items + 1} entries`],
    ["items", `{"input":${list('""', items + 1)}}`, "input", `has ${items + 1} entries`],
    ["parts", `{"stop":${list('""', parts + 1)}}`, "stop", `has ${parts + 1} parts`],
    [
      "parts",
      `{"messages":${list(`{"content":${list("0", 1000)}}`, parts / 1000 + 1)}}`,
      "messages",
      `has ${parts + 1000} parts`,
    ],
    [
      "parts",
      `{"messages":${list(`{"content":[{"content":${list("0", 999)}}]}`, parts / 1000 + 1)}}`,
      "messages",
      `has ${parts + 1000} parts`,
    ],
    ["fields", `{${times(fields + 1, (at) => `"k${at}":0`)}}`, undefined, `${fields + 1} fields`],
    [
      "values_each",
      `{"x":{"a":${list("0", values_each)}}}`,
      "x",
      `has ${values_each + 1} JSON values`,
    ],
    [
      "values_each",
      `{"tools":[0,{"a":${list("0", values_each)}}]}`,
      "tools[1]",
      `has ${values_each + 1} JSON values`,
    ],
    [
      "schemas",
      `{"tools":${list(`{"a":${list("0", 999)}}`, schemas / 1000 + 1)}}`,
      "tools",
      `JSON values`,
    ],
    [
      "values",
      `{"y":0,"x":${list(list("0", 20), values / 20)}}`,
      "x",
      `has ${values + values / 20 + 2} JSON values`,
    ],
  ] as const)("are limited by `server.counts.%s`: %#", (setting, text, param, said) => {
    const { code, message, detail } = faultOf(text);
    expect(code).toBe("request.invalid");
    expect(detail.param).toBe(param);
    expect(message).toContain(said);
    expect(message).toContain(`may have ${defaultCounts[setting]};`);
    expect(message).toContain(`raise \`server.counts.${setting}\``);
  });

  it("count what stands under escaped names, and nothing in texts", () => {
    const text = `{"\\u0074ools":${list("0", tools + 1)}${BLANKS}}`;
    expect(faultOf(text).detail.param).toBe("tools");
    const said = JSON.stringify({ messages: [{ content: '[{,"\\'.repeat(500_000) }] });
    expect(new BodyReader().read(said)).toEqual(JSON.parse(said));
  });

  it("are what an agent with very many tools and a very long conversation stays below", () => {
    const properties = times(12, (at) => `"field_${at}":{"type":"string","description":"Which."}`);
    const schema = `{"type":"object","properties":{${properties}},"required":["field_0"]}`;
    const tool = (at: number): string =>
      `{"type":"function","function":{"name":"server__tool_${at}","parameters":${schema}}}`;
    const call = (at: number): string =>
      `{"id":"call_${at}","type":"function","function":{"name":"server__tool_1","arguments":"{}"}}`;
    const step = (at: number): string =>
      `{"role":"assistant","content":null,"tool_calls":[${call(at)}]},{"role":"tool","tool_call_id":"call_${at}","content":"Done."}`;
    const body = `{"model":"m","messages":[${times(10_000, step)}],"tools":[${times(2000, tool)}]}`;
    expect(() => new BodyReader().read(body)).not.toThrow();
  });

  it("are limits that a configuration may set otherwise", () => {
    const text = `{"tools":${list("0", tools + 1)}}`;
    expect(() => new BodyReader().read(text, { ...defaultCounts, tools: tools + 1 })).not.toThrow();
    expect(faultOf(`{"messages":[0,0,0]}`, { items: 2 }).message).toContain("may have 2;");
  });
});

describe("a long body", () => {
  /** By these any body is long, and ten values are a portion. */
  const limits = { ...defaultCounts, values_each: 50 };
  const isLong = (text: string): boolean => text.length > 2 * limits.values_each;
  const read = (text: string): string => {
    try {
      return JSON.stringify(new BodyReader().read(text, limits));
    } catch (error) {
      if (error instanceof Fault) return `refused by ${error.code}`;
      throw error;
    }
  };
  const parsed = (text: string): string => {
    try {
      return JSON.stringify(JSON.parse(text));
    } catch {
      return "refused by request.not_json";
    }
  };
  /** Lists of enough values to be parsed in portions, and fields beside them. */
  const bodies = fc
    .record({
      entries: fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 4 }),
      more: fc.dictionary(fc.constantFrom("tools", "messages", "a", "__proto__"), fc.jsonValue()),
      keys: fc.subarray(["messages", "a", "\\u0061", "tools", "__proto__"], { minLength: 1 }),
    })
    .map(({ entries, more, keys }) => {
      const every = entries.map((entry) => JSON.stringify(entry)).join(" , ");
      const long = `[${times(Math.ceil(40 / entries.length), () => every)}]`;
      const fields = keys.map((key) => `"${key}":${long}`);
      const rest = JSON.stringify(more).slice(1, -1);
      return `{${[...fields, ...(rest === "" ? [] : [rest]), ...fields].join(" , ")}}`;
    })
    .filter((text) => isLong(text) && !/[0-9.]{16}|e[+-]?[0-9]{3}/.test(text));

  it("is read as JSON has it", () => {
    fc.assert(
      fc.property(bodies, (text) => {
        expect(["refused by request.invalid", parsed(text)]).toContain(read(text));
      }),
      { numRuns: 100 },
    );
  });

  it("is refused where it is no JSON, wherever that shows", () => {
    const edits = fc.record({
      text: bodies,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      put: fc.constantFrom("", ",", "]", "[", "}", "{", '"', ":", "1", ",,", "]["),
      removed: fc.nat(2),
    });
    fc.assert(
      fc.property(edits, ({ text, at, put, removed }) => {
        const from = Math.floor(at * text.length);
        const edited = text.slice(0, from) + put + text.slice(from + removed);
        expect(["refused by request.invalid", parsed(edited)]).toContain(read(edited));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["a comma at the end", (entries: string) => `{"a":[${entries},]}`],
    ["a comma at the beginning", (entries: string) => `{"a":[,${entries}]}`],
    ["a brace at the end of a list", (entries: string) => `{"a":[${entries}}}`],
    ["a second list", (entries: string) => `{"a":[${entries}][]}`],
    ["no name", (entries: string) => `{[${entries}]}`],
    ["no colon", (entries: string) => `{"a"[${entries}]}`],
    ["something behind it", (entries: string) => `{"a":[${entries}]}]`],
    ["a list in its place", (entries: string) => `[${entries}]`],
  ])("is refused with %s", (_, body) => {
    expect(read(body(times(100, () => "1000")))).toMatch(/^refused/);
  });

  it("takes several steps, and gives the very same tools for the same text", () => {
    const tools = `[${times(100, (at) => `{"type":"function","name":"f${at}"}`)}]`;
    const body = (salt: string): string =>
      `{"model":"${salt}","tools":${tools},"input":[${times(100, () => '{"a":1}')}]}`;
    const reader = new BodyReader();
    expect([...reader.steps(body("a"), limits)].length).toBeGreaterThan(10);
    const [first, second] = [reader.read(body("b"), limits), reader.read(body("c"), limits)];
    expect(second.tools).toBe(first.tools);
    expect(second).toEqual(JSON.parse(body("c")));
  });
});
