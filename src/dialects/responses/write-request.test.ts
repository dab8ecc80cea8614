import { chatTraits } from "../chat/traits.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Fields, Turn } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";
import { writeRequest } from "./write-request.ts";

const profile: Profile = {
  name: "test",
  dialect: "responses",
  tools: {
    kinds: { "*": "native" },
    max: 128,
    names: { chars: "A-Za-z0-9_-", max: 64 },
    choice: ["auto", "none", "required", "function", "allowed"],
    parallel: true,
    declares: "turn",
    deferred: false,
    cached: true,
  },
  params: {},
  formats: ["text", "json", "schema"],
  reasoning: "items",
  streamUsage: false,
};

/** The client's names are the upstream's here. */
const turnOf = (body: Fields): Turn<UpstreamName> =>
  readRequest({ model: "m", input: "Hi", ...body }) as unknown as Turn<UpstreamName>;

function write(turn: Turn<UpstreamName>, more: Partial<Profile> = {}) {
  const to = { profile: { ...profile, ...more }, model: "up", straight: false };
  const { text, decisions } = writeRequest(turn, to);
  return { body: JSON.parse(text) as Fields, decisions };
}

/** A turn of a Chat client. */
const chatTurn = (more: Partial<Turn<UpstreamName>> = {}): Turn<UpstreamName> => ({
  ...turnOf({}),
  dialect: "chat",
  traits: chatTraits,
  extra: { dialect: "chat", fields: {} },
  ...more,
});

describe("a request on the straight lane", () => {
  it("is the client's own but for the model", () => {
    const body = {
      model: "m",
      input: [{ odd: 1 }],
      tools: [{ type: "function", name: "f" }],
      x: 1,
    };
    const turn = { ...turnOf({}), body };
    const { text, decisions } = writeRequest(turn, { profile, model: "up", straight: true });
    expect(JSON.parse(text)).toEqual({ ...body, model: "up" });
    expect(decisions).toEqual([]);
  });

  it.each([true, false])("says what its upstream must be told, straight: %s", (straight) => {
    const to = { profile: { ...profile, fields: { a: 1, b: 2 } }, model: "up", straight };
    const { text } = writeRequest(turnOf({ b: 3, tools: [] }), to);
    expect(JSON.parse(text)).toMatchObject({ a: 1, b: 3 });
  });

  it("needs no tools to be so", () => {
    const turn = { ...turnOf({}), body: { model: "m", tools: null } };
    const { text } = writeRequest(turn, { profile, model: "up", straight: true });
    expect(JSON.parse(text)).toEqual({ model: "up", tools: null });
  });
});

describe("a request to a Responses upstream", () => {
  it("means what a client of the same dialect said", () => {
    const body = {
      model: "up",
      instructions: "Be brief.",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      tools: [
        { type: "function", name: "f", parameters: { type: "object" }, defer_loading: true },
        {
          type: "namespace",
          name: "n",
          description: "N",
          tools: [{ type: "custom", name: "c", format: { type: "text" } }],
        },
        { type: "web_search" },
      ],
      tool_choice: { type: "function", name: "f" },
      text: { format: { type: "json_object" }, verbosity: "low", more: 1 },
      reasoning: { effort: "low", context: "all" },
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      top_logprobs: 2,
      stream: true,
      stream_options: { include_obfuscation: false },
      metadata: { a: "b" },
      previous_response_id: "resp_1",
      prompt_cache_options: { mode: "explicit" },
    };
    expect(write(turnOf({ ...body, model: "m" }))).toEqual({ body, decisions: [] });
  });

  it("lets a function mean what it did where saying nothing means something else", () => {
    const tools = [{ type: "function" as const, name: upstreamName("f") }];
    expect(write(chatTurn({ tools })).body.tools).toEqual([
      { type: "function", name: "f", strict: false },
    ]);
    expect(write({ ...turnOf({}), tools: [...tools] }).body.tools).toEqual([
      { type: "function", name: "f" },
    ]);
  });

  it("is not stored for clients that expect it not to be", () => {
    expect(write(chatTurn()).body.store).toBe(false);
    expect(write(chatTurn({ params: { store: true } })).body.store).toBe(true);
    expect(write(chatTurn(), { params: { store: null } }).body).not.toHaveProperty("store");
    expect(write(turnOf({})).body).not.toHaveProperty("store");
  });

  it("asks for logprobs where Chat would", () => {
    expect(write(chatTurn({ params: { logprobs: 0 } })).body).toMatchObject({
      top_logprobs: 0,
      include: ["message.output_text.logprobs"],
    });
  });

  it("reports what only Chat can say", () => {
    const { decisions } = write(
      chatTurn({
        params: { n: 2, stop: ["x"], seed: 1 },
        extra: { dialect: "chat", fields: { odd: 1 } },
        items: [
          { type: "message", role: "user", name: "ann", parts: [{ type: "text", text: "a" }] },
          { type: "message", role: "user", name: "bob", parts: [{ type: "text", text: "b" }] },
          { type: "opaque", dialect: "chat", raw: { role: "odd" } },
          { type: "reasoning", summary: [], content: ["c"], details: [1] },
        ],
        tools: [
          { type: "builtin", kind: "odd", name: upstreamName("o"), dialect: "chat", raw: {} },
        ],
        format: { type: "opaque", dialect: "chat", raw: {} },
      }),
    );
    expect(decisions.map(({ path, action }) => `${path} ${action}`)).toEqual([
      "n dropped",
      "stop reshaped",
      "seed dropped",
      "messages[0] dropped",
      "messages[1] dropped",
      "messages[2] dropped",
      "messages[3] dropped",
      "response_format dropped",
      "odd dropped",
      "tools[0] dropped",
    ]);
  });

  it("leaves out reasoning of which a Chat client says that there was none", () => {
    const nothing = { type: "reasoning", summary: [], content: [""] } as const;
    for (const reasoning of ["items", "none"] as const) {
      const { body, decisions } = write(chatTurn({ items: [nothing] }), { reasoning });
      expect(body.input).toEqual([]);
      expect(decisions).toEqual([]);
    }
  });

  it("leaves out past reasoning for upstreams that take none", () => {
    const { body, decisions } = write(
      turnOf({ instructions: "x", input: [{ type: "reasoning", summary: [] }] }),
      { reasoning: "none" },
    );
    expect(body.input).toEqual([]);
    expect(decisions).toMatchObject([{ path: "input[0]", action: "dropped" }]);
  });

  it("says the same tools in the same text", () => {
    const { tools } = turnOf({ tools: [{ type: "function", name: "f" }] });
    const once = write({ ...turnOf({}), tools });
    expect(write({ ...turnOf({ input: "again" }), tools }).body.tools).toEqual(once.body.tools);
  });

  it("puts a foreign result where the kind has its own form", () => {
    const parts = [{ type: "text" as const, text: "done" }];
    const { body } = write(
      chatTurn({
        items: [
          { type: "result", call: "c1", kind: "shell", parts },
          { type: "result", call: "c2", kind: "local_shell", parts },
          { type: "result", call: "c3", kind: "unheard_of", parts },
          { type: "call", id: "c3", kind: "unheard_of", name: upstreamName("u"), input: "{}" },
        ],
      }),
    );
    expect(body.input).toEqual([
      {
        type: "shell_call_output",
        call_id: "c1",
        output: [{ stdout: "done", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
      { type: "local_shell_call_output", id: "c2", output: "done" },
      { type: "function_call_output", call_id: "c3", output: "done" },
      { type: "function_call", call_id: "c3", name: "u", arguments: "{}" },
    ]);
  });
});

const id = fc.stringMatching(/^[a-z]{2,3}_[a-z0-9]{1,8}$/);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const status = optional(fc.constantFrom("in_progress", "completed", "incomplete"));
const unknownField = optional(fc.jsonValue().filter((value) => value !== null));
const inputPart = fc.oneof(
  fc.record({ type: fc.constant("input_text"), text: fc.string(), extra: unknownField }),
  fc.record({
    type: fc.constant("input_image"),
    image_url: fc.webUrl(),
    detail: optional(fc.constantFrom("low", "high", "auto")),
  }),
  fc.record({ type: fc.constant("input_file"), file_id: id, filename: optional(fc.string()) }),
  fc.record({ type: fc.constant("input_novelty"), value: fc.jsonValue() }),
);
const outputPart = fc.oneof(
  fc.record({
    type: fc.constant("output_text"),
    text: fc.string(),
    annotations: fc.array(fc.record({ type: fc.constant("url_citation"), url: fc.webUrl() })),
  }),
  fc.record({ type: fc.constant("refusal"), refusal: fc.string() }),
);
const action = fc.dictionary(fc.string(), fc.jsonValue());
const output = fc.oneof(fc.string(), fc.array(inputPart, { minLength: 2, maxLength: 3 }));
const common = { id: optional(id), status, novelty: unknownField };
const item = (type: string, fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ type: fc.constant(type), ...common, ...fields });
const client = { execution: fc.constant("client") };

/** Items in the full form, of every type we take apart and of one that we do not know. */
const items = fc.oneof(
  item("message", {
    role: fc.constantFrom("user", "system", "developer"),
    content: fc.array(inputPart, { maxLength: 3 }),
  }),
  item("message", {
    role: fc.constant("assistant"),
    content: fc.array(outputPart, { maxLength: 3 }),
    phase: optional(fc.constantFrom("commentary", "final_answer")),
  }),
  item("reasoning", {
    summary: fc.array(fc.record({ type: fc.constant("summary_text"), text: fc.string() })),
    content: optional(
      fc.array(fc.record({ type: fc.constant("reasoning_text"), text: fc.string() }), {
        minLength: 1,
      }),
    ),
    encrypted_content: optional(fc.string({ minLength: 1 })),
  }),
  item("function_call", {
    call_id: id,
    name: fc.string({ minLength: 1 }),
    namespace: optional(fc.string({ minLength: 1 })),
    arguments: fc.string(),
  }),
  item("function_call_output", { call_id: id, output }),
  item("custom_tool_call", { call_id: id, name: fc.string({ minLength: 1 }), input: fc.string() }),
  item("custom_tool_call_output", { call_id: id, output }),
  item("local_shell_call", { call_id: id, action }),
  item("local_shell_call_output", { id, output: fc.string() }),
  item("local_shell_call_output", { call_id: id, output: fc.string() }),
  item("shell_call", { call_id: id, action }),
  item("shell_call_output", { call_id: id, output: fc.array(action) }),
  item("apply_patch_call", { call_id: id, operation: action }),
  item("apply_patch_call_output", {
    call_id: id,
    output: optional(fc.string()),
    status: fc.constantFrom("completed", "failed"),
  }),
  item("tool_search_call", { call_id: id, arguments: action, ...client }),
  item("tool_search_output", { call_id: id, tools: fc.array(action), ...client }),
  item("novelty", { anything: fc.jsonValue() }),
);

describe("reasoning of a client of another dialect", () => {
  const effort = { effort: "low" };

  it("is asked for in a form that can be given back", () => {
    expect(write(chatTurn({ params: effort })).body).toMatchObject({
      reasoning: effort,
      include: ["reasoning.encrypted_content"],
      store: false,
    });
  });

  it("is not asked for where the model may have none, or where it cannot be asked for or given back", () => {
    const asked = (params: Turn["params"], more: Partial<Profile> = {}) =>
      write(chatTurn({ params }), more).body["include"];
    expect(asked({})).toBeUndefined();
    expect(asked({}, { reasons: true })).toEqual(["reasoning.encrypted_content"]);
    expect(asked(effort, { reasoning: "none" })).toBeUndefined();
    expect(asked(effort, { params: { include: null } })).toBeUndefined();
    expect(write(turnOf({ reasoning: effort })).body["include"]).toBeUndefined();
  });
});

describe("items of a client of the same dialect", () => {
  it("keep keys that mean something to the language we are written in", () => {
    const operation = JSON.parse('{"__proto__":[],"constructor":1}') as Fields;
    const input = [{ type: "apply_patch_call", call_id: "c", operation }];
    expect(JSON.stringify(write(turnOf({ input })).body.input)).toContain(
      '{"__proto__":[],"constructor":1}',
    );
  });

  it("arrive as they were sent", () => {
    fc.assert(
      fc.property(fc.array(items, { maxLength: 4 }), (input) => {
        const { body, decisions } = write(turnOf({ input }));
        // Through JSON, as everything comes: what is undefined was never sent.
        expect(body.input).toEqual(JSON.parse(JSON.stringify(input)));
        expect(decisions).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
