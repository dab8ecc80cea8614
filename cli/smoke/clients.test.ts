import { describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { type ReadAnswer, addressOf, readAnswer } from "./clients.ts";
import { type DoorName, scenes } from "./scene.ts";

it("looks at every door there is", () => {
  expect([...new Set(scenes.map(({ door }) => door))]).toEqual(
    builtinDialects.doors.map(({ name }) => name),
  );
});

/** A frame, as text or as a value, or a comment. */
type Piece = string | object | { readonly comment: string };

const encoder = new TextEncoder();

function sseText(piece: Piece): string {
  if (typeof piece === "string") return `data: ${piece}\n\n`;
  if ("comment" in piece) return `: ${piece.comment}\n\n`;
  const name = "type" in piece ? `event: ${String(piece.type)}\n` : "";
  return `${name}data: ${JSON.stringify(piece)}\n\n`;
}

const readStream = (door: DoorName, pieces: readonly Piece[]): ReadAnswer =>
  readAnswer(
    door,
    pieces.map((piece) => encoder.encode(sseText(piece))),
    {},
  );

const readWhole = (door: DoorName, body: object): ReadAnswer =>
  readAnswer(door, [encoder.encode(JSON.stringify(body))], {});

const comment: Piece = {
  comment: '{"tool_call_count":2,"tool_call_truncated":false,"stop_after_tools_mode":"burst"}',
};
const figures = { count: 2, truncated: false, mode: "burst" };
const calls = [
  { id: "c1", name: "a", arguments: '{"x":1}' },
  { id: "c2", name: "b", arguments: "{}" },
];
const done = "[DONE]";

describe("a chat stream", () => {
  const delta = (fields: object, finish: string | null = null): Piece => ({
    choices: [{ index: 0, delta: fields, finish_reason: finish }],
  });
  const fragment = (index: number, of: object, id?: string): Piece =>
    delta({ tool_calls: [{ index, ...(id !== undefined && { id }), function: of }] });
  const role = delta({ role: "assistant" });
  const finish = delta({}, "tool_calls");
  const usage: Piece = { choices: [], usage: { total_tokens: 3 } };
  const first = fragment(0, { name: "a", arguments: '{"x"' }, "c1");
  const second = fragment(1, { name: "b", arguments: "{}" }, "c2");
  const rest = fragment(0, { arguments: ":1}" });
  const good = [role, first, rest, second, finish, comment, usage, done];

  it("is read with its calls, its end and its figures", () => {
    const expected = { calls, text: "", finish: "tool_calls", figures, problems: [] };
    expect(readStream("chat", good)).toEqual(expected);
  });

  const error: Piece = { error: { code: "upstream.cut", message: "It broke off." } };
  const wrongs: [string, Piece[]][] = [
    ["the stream ends without [DONE]", good.slice(0, -1)],
    ["something follows [DONE]", [...good, usage]],
    ["the finish comes more than once", [role, first, finish, finish, comment, done]],
    ["the statistics comment comes before the finish", [role, first, comment, finish, done]],
    ["the statistics comment comes twice", [role, first, finish, comment, comment, done]],
    ["the statistics comment comes after [DONE]", [role, first, finish, done, comment]],
    ["the answer cannot be read: the frame is not JSON", [role, "{", finish, done]],
    ["the stream failed: upstream.cut: It broke off.", [role, first, error, done]],
  ];
  it.each(wrongs)("is wrong where %s", (problem, pieces) => {
    expect(readStream("chat", pieces).problems).toEqual([problem]);
  });

  it("takes other comments for nothing", () => {
    const alive: Piece = { comment: "keep-alive" };
    expect(readStream("chat", [alive, ...good.slice(0, -1), alive, done]).problems).toEqual([]);
  });
});

describe("a whole chat answer", () => {
  it("is read with its calls, and content that is null is no text", () => {
    const tool_calls = calls.map(({ id, ...called }) => ({
      id,
      type: "function",
      function: called,
    }));
    const message = { role: "assistant", content: null, tool_calls };
    expect(readWhole("chat", { choices: [{ message, finish_reason: "tool_calls" }] })).toEqual({
      calls,
      text: "",
      finish: "tool_calls",
      figures: undefined,
      problems: [],
    });
  });

  it.each(["chat", "responses", "messages", "gemini"] as const)(
    "is wrong without content: %s",
    (door) => {
      const { problems } = readWhole(door, { status: "completed" });
      expect(problems).toEqual([expect.stringMatching(/^the answer cannot be read: ./)]);
    },
  );
});

describe("a Responses stream", () => {
  type Event = Readonly<Record<string, unknown>>;
  const call = { type: "function_call", id: "fc1", call_id: "c1", name: "a", arguments: "{}" };
  const text = {
    type: "message",
    id: "m1",
    role: "assistant",
    content: [{ type: "output_text", text: "Hi" }],
  };
  const created: Event = { type: "response.created", response: { id: "r", output: [] } };
  const item: Event = { type: "response.output_item.added", item: { ...call, arguments: "" } };
  const closed: Event = { type: "response.output_item.done", item: call };
  const over: Event = {
    type: "response.completed",
    response: { id: "r", status: "completed", output: [call] },
  };
  const numbered = (...events: readonly Event[]): Event[] =>
    events.map((event, at) => Object.assign({ sequence_number: at }, event));

  it("is read with its calls, its end and its figures", () => {
    const added: Event = { type: "response.output_item.added", item: text };
    const ended: Event = { type: "response.output_item.done", item: text };
    const last = { ...over, response: { id: "r", status: "completed", output: [text, call] } };
    const stream = [...numbered(created, added, ended, item, closed, last), comment, done];
    expect(readStream("responses", stream)).toEqual({
      calls: [{ id: "c1", name: "a", arguments: "{}" }],
      text: "Hi",
      finish: "completed",
      figures,
      problems: [],
    });
  });

  const error = { type: "error", code: "upstream.cut", message: "It broke off." };
  const wrongs: [string, Piece[]][] = [
    ["the stream ends without [DONE]", numbered(created, item, closed, over)],
    ["something follows [DONE]", [...numbered(created, item, closed, over), done, done]],
    [
      "the answer cannot be read: the frame follows the end of the answer",
      [...numbered(item, closed, over, { type: "x" }), done],
    ],
    ["the stream failed: upstream.cut: It broke off.", [...numbered(item, closed, error), done]],
    [
      "the statistics comment comes before the finish",
      [...numbered(item), comment, ...numbered(item, closed, over).slice(1), done],
    ],
    ["the statistics comment comes after [DONE]", [...numbered(item, closed, over), done, comment]],
  ];
  it.each(wrongs)("is wrong where %s", (problem, pieces) => {
    expect(readStream("responses", pieces).problems).toEqual([problem]);
  });

  it("is wrong without a terminal event", () => {
    const { problems } = readStream("responses", [...numbered(created, item, closed), done]);
    expect(problems).toEqual([expect.stringMatching(/^the answer cannot be read: ./)]);
  });
});

describe("a Messages stream", () => {
  const start: Piece = {
    type: "message_start",
    message: { id: "m", role: "assistant", content: [] },
  };
  const begin = (index: number): Piece => ({
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: "c1", name: "a", input: {} },
  });
  const delta = (index: number): Piece => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json: '{"x":1}' },
  });
  const stop: Piece = { type: "content_block_stop", index: 0 };
  const finish: Piece = { type: "message_delta", delta: { stop_reason: "tool_use" } };
  const over: Piece = { type: "message_stop" };

  it("is read with its calls, its end and its figures", () => {
    const stream = [start, begin(0), delta(0), stop, finish, comment, over];
    const expected = {
      calls: calls.slice(0, 1),
      text: "",
      finish: "tool_use",
      figures,
      problems: [],
    };
    expect(readStream("messages", stream)).toEqual(expected);
  });

  const wrongs: [string, Piece[]][] = [
    ["the stream ends without message_stop", [start, begin(0), delta(0), stop, finish]],
    ["something follows message_stop", [start, begin(0), delta(0), stop, finish, over, over]],
  ];
  it.each(wrongs)("is wrong where %s", (problem, pieces) => {
    expect(readStream("messages", pieces).problems).toContain(problem);
  });
});

describe("a Gemini stream", () => {
  const chunk = (parts: readonly object[], finishReason?: string): Piece => ({
    candidates: [{ content: { role: "model", parts }, index: 0, finishReason }],
  });
  const called = (id: string, city: string) => ({
    functionCall: { id, name: "get_weather", args: { city } },
  });
  const good = [
    chunk([{ text: "Hm" }]),
    chunk([called("c1", "Paris"), called("c2", "Oslo")], "STOP"),
  ];

  it("is read with its calls and its end, and needs no figures", () => {
    expect(readStream("gemini", good)).toEqual({
      calls: [
        { id: "c1", name: "get_weather", arguments: '{"city":"Paris"}' },
        { id: "c2", name: "get_weather", arguments: '{"city":"Oslo"}' },
      ],
      text: "Hm",
      finish: "STOP",
      figures: undefined,
      problems: [],
    });
  });

  const wrongs: [string, Piece[]][] = [
    ["the stream ends without the finish", good.slice(0, 1)],
    ["something follows the finish", [...good, chunk([{ text: "more" }])]],
    ["the answer cannot be read: the frame is not JSON", ["{", ...good]],
    [
      "the stream failed: It broke off.",
      [{ error: { code: 502, message: "It broke off.", status: "UNAVAILABLE" } }],
    ],
  ];
  it.each(wrongs)("is wrong where %s", (problem, pieces) => {
    expect(readStream("gemini", pieces).problems).toEqual([problem]);
  });
});

it("asks each dialect where it serves a model", () => {
  expect(addressOf("messages", "up/m", true)).toEqual({
    path: "/v1/messages",
    named: { model: "up/m" },
  });
  expect(addressOf("gemini", "up/m 1", true)).toEqual({
    path: "/v1beta/models/up/m%201:streamGenerateContent?alt=sse",
    named: {},
  });
});
