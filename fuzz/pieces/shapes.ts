/** Request bodies of very many tiny pieces, by door. */

import { defaultCounts } from "../../src/dialects/shared/request-counts.ts";

/** The kind of pieces of a shape. The gateway limits the number of each. */
type Of = "tools" | "items" | "entry";

/** Many pieces with commas between them; `items`: the number of items in one piece. */
type Many = {
  (piece: (at: number) => string, items?: number): string;
  /** Their length together. */
  readonly bytes: number;
};

export type Shape = { readonly name: string; readonly body: (door: Door, bytes: number) => string };

type Write = (door: Door, many: Many) => string;

/** The number of values in a piece: commas and opening brackets outside of texts. */
const costOf = (piece: string): number =>
  (piece.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").match(/[,[{]/g) ?? []).length + 1;

/** A little room for the pieces of the body that are not counted here. */
const ROOM = 50;

/** The number of pieces that a gateway takes. */
function mostOf(of: Of, piece: string, items: number): number {
  const cost = costOf(piece);
  const { tools, schemas, values, values_each } = defaultCounts;
  switch (of) {
    case "tools":
      return Math.min(tools, schemas / cost) - ROOM;
    case "items":
      return Math.min(defaultCounts.items / items, values / cost) - ROOM;
    case "entry":
      return values_each / cost - ROOM;
    default:
      return of satisfies never;
  }
}

/** Pieces up to a length; with `of`, no more than a gateway takes. */
function manyOf(bytes: number, of?: Of): Many {
  const many = (piece: (at: number) => string, items = 1): string => {
    const most = of === undefined ? Infinity : mostOf(of, piece(0), items);
    const pieces: string[] = [];
    for (let length = 0, at = 0; length < bytes && at < most; at++) {
      const one = piece(at);
      pieces.push(one);
      length += one.length + 1;
    }
    return pieces.join(",");
  };
  return Object.assign(many, { bytes });
}

/** A shape of the wanted length, and one with as many pieces as a gateway takes. */
const both = (name: string, of: Of, write: Write): readonly Shape[] => [
  { name, body: (door, bytes) => write(door, manyOf(bytes)) },
  {
    name: `${name}, as many as there may be`,
    body: (door, bytes) => write(door, manyOf(bytes, of)),
  },
];

/** The JSON of the parts of a request, in the words of one door. */
type Form = {
  /** The fields of every request, without its items and tools. */
  readonly head: string;
  /** The field with the items. */
  readonly items: string;
  /** A message of the user or the model; `more`: further fields. */
  readonly message: (role: "user" | "assistant", text: string, more?: string) => string;
  /** A message of the user with these parts. */
  readonly user: (parts: string) => string;
  readonly text: string;
  readonly image: string;
  /** A tool as an entry of `tools`; `more`: further fields. */
  readonly tool: (name: string, schema?: string, more?: string) => string;
  readonly tools: (list: string) => string;
  /** One call, and the items that hold calls. */
  readonly call: (id: string, name: string, input?: string) => string;
  readonly calls: (list: string) => string;
  /** One result, whose text is JSON, and the items that hold results. */
  readonly result: (id: string, text?: string) => string;
  readonly results: (list: string) => string;
  readonly thought: (at: number) => string;
  /** The field with instructions of text parts; left out: instructions are messages. */
  readonly instructions?: (list: string) => string;
  /** The fields that ask for an answer of a schema, and for stop texts. */
  readonly format: (schema: string) => string;
  readonly stop: (list: string) => string;
};

const plainMessage: Form["message"] = (role, text, more = "") =>
  `{"role":"${role}","content":${JSON.stringify(text)}${more}}`;
const inContent = (role: string, parts: string): string =>
  `{"role":"${role}","content":[${parts}]}`;
const inParts = (role: string, parts: string): string => `{"role":"${role}","parts":[${parts}]}`;
const textPart = '{"type":"text","text":"a"}';
const alone = (list: string): string => list;
/** A field, unless it has no value. */
const given = (name: string, value?: string): string =>
  value === undefined ? "" : `,"${name}":${value}`;

type Door = "chat" | "responses" | "messages" | "gemini";

const forms: Readonly<Record<Door, Form>> = {
  chat: {
    head: '"model":"m"',
    items: "messages",
    message: plainMessage,
    user: (parts) => inContent("user", parts),
    text: textPart,
    image: '{"type":"image_url","image_url":{"url":"https://a.b/c"}}',
    tool: (name, schema, more = "") =>
      `{"type":"function","function":{"name":"${name}"${given("parameters", schema)}${more}}}`,
    tools: alone,
    call: (id, name, input = "{}") =>
      `{"id":"${id}","type":"function","function":{"name":"${name}","arguments":${JSON.stringify(input)}}}`,
    calls: (list) => `{"role":"assistant","tool_calls":[${list}]}`,
    result: (id, text = '"x"') => `{"role":"tool","tool_call_id":"${id}","content":${text}}`,
    results: alone,
    thought: () => '{"role":"assistant","content":"b","reasoning_content":"t"}',
    format: (schema) =>
      `"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":${schema}}}`,
    stop: (list) => `"stop":[${list}]`,
  },
  responses: {
    head: '"model":"m","store":false',
    items: "input",
    message: plainMessage,
    user: (parts) => inContent("user", parts),
    text: '{"type":"input_text","text":"a"}',
    image: '{"type":"input_image","image_url":"https://a.b/c"}',
    tool: (name, schema, more = "") =>
      `{"type":"function","name":"${name}"${given("parameters", schema)}${more}}`,
    tools: alone,
    call: (id, name, input = "{}") =>
      `{"type":"function_call","call_id":"${id}","name":"${name}","arguments":${JSON.stringify(input)}}`,
    calls: alone,
    result: (id, text = '"x"') =>
      `{"type":"function_call_output","call_id":"${id}","output":${text}}`,
    results: alone,
    thought: (at) =>
      `{"type":"reasoning","id":"rs_${at}","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"e${at}"}`,
    format: (schema) =>
      `"text":{"format":{"type":"json_schema","name":"x","strict":true,"schema":${schema}}}`,
    stop: (list) => `"stop":[${list}]`,
  },
  messages: {
    head: '"model":"m","max_tokens":9',
    items: "messages",
    message: plainMessage,
    user: (parts) => inContent("user", parts),
    text: textPart,
    image: '{"type":"image","source":{"type":"url","url":"https://a.b/c"}}',
    tool: (name, schema, more = "") => `{"name":"${name}"${given("input_schema", schema)}${more}}`,
    tools: alone,
    call: (id, name, input = "{}") =>
      `{"type":"tool_use","id":"${id}","name":"${name}","input":${input}}`,
    calls: (list) => inContent("assistant", list),
    result: (id, text = '"x"') => `{"type":"tool_result","tool_use_id":"${id}","content":${text}}`,
    results: (list) => inContent("user", list),
    thought: (at) =>
      inContent("assistant", `{"type":"thinking","thinking":"t","signature":"s${at}"}`),
    instructions: (list) => `"system":[${list}]`,
    format: (schema) => `"output_config":{"format":{"type":"json_schema","schema":${schema}}}`,
    stop: (list) => `"stop_sequences":[${list}]`,
  },
  gemini: {
    head: '"model":"m"',
    items: "contents",
    message: (role, text, more = "") =>
      `{"role":"${role === "user" ? "user" : "model"}","parts":[{"text":${JSON.stringify(text)}}]${more}}`,
    user: (parts) => inParts("user", parts),
    text: '{"text":"a"}',
    image: '{"fileData":{"mimeType":"image/png","fileUri":"https://a.b/c"}}',
    tool: (name, schema, more = "") =>
      `{"name":"${name}"${given("parametersJsonSchema", schema)}${more}}`,
    tools: (list) => `{"functionDeclarations":[${list}]}`,
    call: (id, name, input = "{}") =>
      `{"functionCall":{"id":"${id}","name":"${name}","args":${input}}}`,
    calls: (list) => inParts("model", list),
    result: (id, text = '"x"') =>
      `{"functionResponse":{"id":"${id}","name":"f","response":{"output":${text}}}}`,
    results: (list) => inParts("user", list),
    thought: (at) =>
      inParts("model", `{"text":"t","thought":true,"thoughtSignature":"${btoa(String(at))}"}`),
    instructions: (list) => `"systemInstruction":{"parts":[${list}]}`,
    format: (schema) =>
      `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":${schema}}`,
    stop: (list) => `"generationConfig":{"stopSequences":[${list}]}`,
  },
};

export const doors = Object.keys(forms) as Door[];

const OBJECT = '{"type":"object"}';
const user = (door: Door): string => forms[door].message("user", "hi");

const withItems = (door: Door, items: string, rest = ""): string =>
  `{${forms[door].head},"${forms[door].items}":[${items}]${rest}}`;
const withField = (door: Door, field: string): string => withItems(door, user(door), `,${field}`);
const withTools = (door: Door, list: string): string =>
  withField(door, `"tools":[${forms[door].tools(list)}]`);

const tool = (door: Door, name: string, schema = OBJECT, more = ""): string =>
  forms[door].tool(name, schema, more);

/** Items with one call, and with one result. */
const call = (door: Door, id: string, name: string, input?: string): string =>
  forms[door].calls(forms[door].call(id, name, input));
const result = (door: Door, id: string, text?: string): string =>
  forms[door].results(forms[door].result(id, text));

/** All the calls of one answer, and the results of all. */
function burst(door: Door, many: Many): string {
  const form = forms[door];
  const calls = form.calls(many((at) => form.call(`c${at}`, "f")));
  return withItems(door, `${calls},${form.results(many((at) => form.result(`c${at}`)))}`);
}

function instructions(door: Door, many: Many): string {
  const form = forms[door];
  if (form.instructions !== undefined)
    return withField(door, form.instructions(many(() => form.text)));
  return withItems(door, `${many(() => '{"role":"system","content":"a"}')},${user(door)}`);
}

/** A field whose value is no list: all of its pieces count for one place. */
const field = (name: string, value: (many: Many) => string): readonly Shape[] =>
  both(`an unknown field: ${name}`, "entry", (door, many) =>
    withField(door, `"x":{"a":${value(many)}}`),
  );
/** A list among the fields of the body. */
const unknown = (name: string, piece: (at: number) => string): readonly Shape[] =>
  both(`an unknown list: ${name}`, "items", (door, many) =>
    withField(door, `"x":[${many(piece)}]`),
  );
const tools = (name: string, piece: (door: Door, at: number) => string, last = "") =>
  both(`tools: ${name}`, "tools", (door, many) =>
    withTools(door, many((at) => piece(door, at)) + last),
  );
const items = (
  name: string,
  piece: (door: Door, at: number) => string,
  { each = 1, last = "" } = {},
) =>
  both(`items: ${name}`, "items", (door, many) =>
    withItems(door, many((at) => piece(door, at), each) + last),
  );
const parts = (name: string, piece: (door: Door, at: number) => string) =>
  both(`parts: ${name}`, "entry", (door, many) =>
    withItems(door, forms[door].user(many((at) => piece(door, at)))),
  );
const schema = (name: string, value: (many: Many) => string) =>
  both(`a schema: ${name}`, "entry", (door, many) => withTools(door, tool(door, "f", value(many))));

const nested = (bytes: number, open: string, close: string, inner: string): string => {
  const depth = Math.floor(bytes / (open.length + close.length));
  return open.repeat(depth) + inner + close.repeat(depth);
};

/** A last entry that is an error. */
const BAD = ',{"type":7}';
const STRING = '{"type":"string"}';
const properties = (many: Many): string =>
  `{"type":"object","properties":{${many((at) => `"p${at}":${STRING}`)}}}`;

/** The request of an agent with very many tools and a very long conversation. */
function agent(door: Door, bytes: number): string {
  const some = Array.from(
    { length: 12 },
    (_, at) => `"field_${at}":{"type":"string","description":"Which."}`,
  );
  const schemaText = `{"type":"object","properties":{${some.join(",")}},"required":["field_0"]}`;
  const all = Array.from({ length: 2000 }, (_, at) =>
    tool(door, `server_${at % 50}__tool_${at}`, schemaText, ',"description":"Does what it says."'),
  ).join(",");
  const steps = 5000;
  const words = "It says so. ".repeat(Math.max(1, (bytes - all.length) / steps / 12 - 15));
  const conversation = Array.from(
    { length: steps },
    (_, at) =>
      `${call(door, `call_${at}`, "server_1__tool_1")},${result(door, `call_${at}`, JSON.stringify(words))}`,
  ).join(",");
  return withItems(door, `${user(door)},${conversation}`, `,"tools":[${forms[door].tools(all)}]`);
}

export const shapes: readonly Shape[] = [
  ...unknown("numbers", () => "1"),
  ...unknown("one long number among many", (at) => (at === 0 ? "12345678901234567890" : "1")),
  ...unknown("long numbers", (at) => `0.1234567890123456789${at}`),
  ...unknown("exponents", (at) => (at === 0 ? "1e-300" : "1e0")),
  ...unknown("empty texts", () => '""'),
  ...unknown("short texts", (at) => `"${at.toString(36)}"`),
  ...unknown("null", () => "null"),
  ...unknown("empty lists", () => "[]"),
  ...unknown("empty objects", () => "{}"),
  ...unknown("small objects", () => '{"a":1}'),
  ...unknown("different objects", (at) => `{"k${at}":1}`),
  ...unknown("escaped texts", () => '"\\n"'),
  ...unknown("lists of tools", () => '{"tools":[]}'),
  ...field("numbers", (many) => `[${many(() => "1")}]`),
  ...field(
    "one long number among many",
    (many) => `[${many((at) => (at === 0 ? "12345678901234567890" : "1"))}]`,
  ),
  ...field("long numbers", (many) => `[${many((at) => `0.1234567890123456789${at}`)}]`),
  ...field("exponents", (many) => `[1e-300,${many(() => "1.5e+0001")}]`),
  ...field("different objects", (many) => `[${many((at) => `{"k${at}":1}`)}]`),
  ...field("many keys", (many) => `{${many((at) => `"k${at}":1`)}}`),
  ...field("one key again and again", (many) => `{${many(() => '"a":1')}}`),
  ...field("numbered keys", (many) => `{${many((at) => `"${at * 7}":1`)}}`),
  ...field("lists in lists", ({ bytes }) => nested(Math.min(bytes, 90_000), "[", "]", "1")),
  ...field("objects in objects", ({ bytes }) =>
    nested(Math.min(bytes, 270_000), '{"a":', "}", "1"),
  ),
  ...field("escapes", ({ bytes }) => `"${"\\u0041".repeat(bytes / 6)}"`),
  ...field("escaped quotes", ({ bytes }) => `"${'\\"'.repeat(bytes / 2)}"`),
  ...field("one long text", ({ bytes }) => `"${"a b c ".repeat(bytes / 6)}"`),
  ...field("one long text of wide letters", ({ bytes }) => `"${"\u4f60\u597d".repeat(bytes / 6)}"`),
  ...field("one long number", ({ bytes }) => "1".repeat(bytes)),
  ...field("blanks", ({ bytes }) => " ".repeat(bytes) + "1"),
  ...both("cut off", "items", (door, many) => `{${forms[door].head},"x":[${many(() => '{"a":1}')}`),
  ...both("no JSON", "items", (_, many) => `{"a":[${many(() => "1")},?]}`),
  ...both("a list", "items", (_, many) => `[${many(() => "1")}]`),

  ...tools("functions", (door, at) => tool(door, `f${at}`)),
  ...tools("functions without a schema", (door, at) => forms[door].tool(`f${at}`)),
  ...tools("functions that end in an error", (door, at) => tool(door, `f${at}`), BAD),
  ...tools("functions of one name", (door) => tool(door, "f")),
  ...tools("functions whose names collide", (door, at) =>
    tool(door, `f.${at % 2 === 0 ? "_" : "."}${at >> 1}`, OBJECT),
  ),
  ...tools("functions with a foreign field", (door, at) => tool(door, `f${at}`, OBJECT, ',"x":1')),
  ...tools("functions with a description", (door, at) =>
    tool(door, `f${at}`, OBJECT, ',"description":"d"'),
  ),
  ...tools("functions with properties", (door, at) =>
    tool(
      door,
      `f${at}`,
      `{"type":"object","properties":{${Array.from({ length: 20 }, (_, n) => `"p${n}":${STRING}`).join(",")}}}`,
    ),
  ),
  ...tools("strict functions", (door, at) =>
    tool(door, `f${at}`, `{"type":"object","properties":{"a":${STRING}}}`, ',"strict":true'),
  ),
  ...tools("empty objects", () => "{}"),
  ...tools("null", () => "null"),
  ...tools("searches", () => '{"type":"web_search"}'),
  ...tools("searches of a version", (_, at) => `{"type":"web_search_20250305","name":"s${at}"}`),
  ...tools("unknown kinds", (_, at) => `{"type":"k${at}"}`),
  ...tools(
    "servers",
    (_, at) => `{"type":"mcp","server_label":"l${at}","server_url":"https://a.b"}`,
  ),
  ...tools("custom tools", (door, at) =>
    door === "chat"
      ? `{"type":"custom","custom":{"name":"c${at}"}}`
      : `{"type":"custom","name":"c${at}"}`,
  ),
  ...tools(
    "namespaces",
    (_, at) => `{"type":"namespace","name":"n${at}","tools":[{"type":"function","name":"f"}]}`,
  ),
  ...both("tools: one namespace", "tools", (door, many) =>
    withTools(
      door,
      `{"type":"namespace","name":"n","tools":[${many((at) => `{"type":"function","name":"f${at}"}`)}]}`,
    ),
  ),
  ...tools("deferred functions", (door, at) =>
    tool(door, `f${at}`, OBJECT, ',"defer_loading":true'),
  ),
  ...both("tools: a choice among many", "tools", (door, many) =>
    withField(
      door,
      `"tools":[${forms[door].tools(many((at) => tool(door, `f${at}`)))}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[${many((at) => `{"type":"function","name":"f${at}"}`)}]}`,
    ),
  ),

  ...schema("properties", properties),
  ...schema(
    "empty properties",
    (many) => `{"type":"object","properties":{${many((at) => `"p${at}":{}`)}}}`,
  ),
  ...schema("optional properties in depth", (many) =>
    nested(300 * 36, '{"type":"object","properties":{"a":', "}}", properties(many)),
  ),
  ...schema(
    "branches",
    (many) => `{"type":"object","properties":{"a":{"anyOf":[${many(() => STRING)}]}}}`,
  ),
  ...schema(
    "branches that are objects",
    (many) =>
      `{"type":"object","properties":{"a":{"oneOf":[${many((at) => `{"type":"object","properties":{"k${at}":{"const":1}},"required":["k${at}"]}`)}]}}}`,
  ),
  ...schema(
    "all of",
    (many) => `{"type":"object","allOf":[${many((at) => `{"properties":{"a${at}":{}}}`)}]}`,
  ),
  ...schema(
    "values of an enum",
    (many) => `{"type":"object","properties":{"a":{"enum":[${many((at) => `"v${at}"`)}]}}}`,
  ),
  ...schema(
    "required names",
    (many) => `{"type":"object","required":[${many((at) => `"p${at}"`)}]}`,
  ),
  ...schema(
    "definitions",
    (many) =>
      `{"type":"object","$defs":{${many((at) => `"d${at}":{"$ref":"#/$defs/d${at + 1}"}`)}},"$ref":"#/$defs/d0"}`,
  ),
  ...schema(
    "references",
    (many) =>
      `{"type":"object","$defs":{"d":${STRING}},"properties":{${many((at) => `"p${at}":{"$ref":"#/$defs/d"}`)}}}`,
  ),
  ...schema(
    "patterns",
    (many) =>
      `{"type":"object","properties":{${many((at) => `"p${at}":{"type":"string","pattern":"^a+$"}`)}}}`,
  ),
  ...schema(
    "lists of types",
    (many) =>
      `{"type":"object","properties":{${many((at) => `"p${at}":{"type":["object","array","null"],"items":{}}`)}}}`,
  ),
  ...schema("unknown keywords", (many) => `{"type":"object",${many((at) => `"x-${at}":1`)}}`),
  ...both("a schema of the answer: properties", "entry", (door, many) =>
    withField(door, forms[door].format(properties(many))),
  ),
  ...both("a schema of the answer: properties in depth", "entry", (door, many) =>
    withField(
      door,
      forms[door].format(
        nested(300 * 36, '{"type":"object","properties":{"a":', "}}", properties(many)),
      ),
    ),
  ),

  ...items("messages", (door, at) => forms[door].message(at % 2 === 0 ? "user" : "assistant", "a")),
  ...items("messages of the user", (door) => forms[door].message("user", "a")),
  ...items("messages with a foreign field", (door) => forms[door].message("user", "a", ',"x":1')),
  ...items("messages that end in an error", (door) => forms[door].message("user", "a"), {
    last: BAD,
  }),
  ...items("empty messages", (door) => forms[door].user("")),
  ...items("unknown roles", () => '{"role":"x","content":"a"}'),
  ...items("unknown types", (_, at) => `{"type":"t${at}"}`),
  ...items("empty objects", () => "{}"),
  ...items("thoughts", (door, at) => forms[door].thought(at)),
  ...items(
    "calls and results",
    (door, at) => `${call(door, `c${at}`, "f")},${result(door, `c${at}`)}`,
    { each: 2 },
  ),
  ...items(
    "calls and results of many tools",
    (door, at) => `${call(door, `c${at}`, `f${at}`)},${result(door, `c${at}`)}`,
    { each: 2 },
  ),
  ...items("calls without results", (door, at) => call(door, `c${at}`, "f")),
  ...items("results without calls", (door, at) => result(door, `c${at}`)),
  ...items("calls of one id", (door) => `${call(door, "c", "f")},${result(door, "c")}`, {
    each: 2,
  }),
  ...items("references", (_, at) => `{"type":"item_reference","id":"msg_${at}"}`),
  ...items(
    "old calls",
    (_, at) =>
      `{"role":"assistant","content":null,"function_call":{"name":"f${at}","arguments":"{}"}},{"role":"function","name":"f${at}","content":"x"}`,
    { each: 2 },
  ),
  ...items("old results without calls", () => '{"role":"function","name":"f","content":"x"}'),
  ...both("items: tools that were found", "tools", (door, many) =>
    withItems(
      door,
      many(
        (at) =>
          `{"type":"tool_search_output","call_id":"s${at}","tools":[{"type":"function","name":"f${at}"}]}`,
      ),
    ),
  ),
  ...both("items: many tools that were found at once", "tools", (door, many) =>
    withItems(
      door,
      `{"type":"tool_search_output","call_id":"s","tools":[${many((at) => `{"type":"function","name":"f${at}"}`)}]}`,
    ),
  ),
  ...both("items: calls at once", "entry", burst),
  ...both("items: instructions", "items", instructions),
  ...parts("texts", (door) => forms[door].text),
  ...parts("images", (door) => forms[door].image),
  ...parts("unknown", (_, at) => `{"type":"t${at}"}`),
  ...items("messages of one part", (door) => forms[door].user(forms[door].text)),
  ...both("a call: the members of its input", "entry", (door, many) => {
    const one = call(door, "c", "f", `{"a":[${many(() => "1")}]}`);
    return withItems(door, `${user(door)},${one},${result(door, "c")}`);
  }),
  ...both("stop texts", "items", (door, many) =>
    withField(door, forms[door].stop(many((at) => `"s${at}"`))),
  ),
  ...both("metadata", "entry", (door, many) =>
    withField(door, `"metadata":{${many((at) => `"k${at}":"v"`)}}`),
  ),
  ...both("fields of the body", "entry", (door, many) =>
    withField(
      door,
      many((at) => `"k${at}":1`),
    ),
  ),
  { name: "an agent of 2,000 tools and 5,000 calls", body: agent },
];
