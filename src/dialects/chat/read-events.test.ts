import { describe, expect, it } from "vitest";
import {
  type Event,
  answerOf,
  args,
  calls,
  chunk,
  counted,
  delta,
  done,
  head,
  read,
  role,
  stop,
  text,
  summarize,
  usage,
} from "../../../test/support/chat-frames.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

describe("a stream of the OpenAI API", () => {
  const frames = [role, text("Hel"), text("lo"), stop, chunk([], { usage }), done];

  it("says its text, end and counts", () => {
    expect(read(frames).events).toEqual([
      { type: "turn-start", dialect: "chat", id: "chatcmpl-1", model: "m", created: 7 },
      { type: "text-delta", choice: 0, text: "Hel" },
      { type: "text-delta", choice: 0, text: "lo" },
      { type: "turn-end", choice: 0, stop: "end" },
      { type: "usage", usage: counted },
    ]);
  });

  it("is forwarded frame by frame", () => {
    expect(read(frames).frames).toEqual(
      frames.map((frame, at) => ({
        type: "frame",
        data: typeof frame === "string" ? frame : JSON.stringify(frame),
        forwardable: true,
        ends: [undefined, undefined, undefined, "terminal", undefined, "done"][at],
        usageOnly: at === 4 ? true : undefined,
      })),
    );
  });

  it("holds a frame back while the next may change its meaning", () => {
    const frame = (fields: readonly Fields[]): number => read(fields).frames.length;
    expect(frame([role])).toBe(0);
    expect(frame([role, text("a")])).toBe(2);
    expect(frame([role, head(0, "a", "f")])).toBe(0);
    expect(frame([role, head(0, "a", "f"), args(0, "{}")])).toBe(3);
    expect(frame([role, text("a"), stop])).toBe(2);
  });

  it("says its calls", () => {
    const frames = [role, head(0, "a", "f"), args(0, '{"x"'), args(0, ":1}"), calls, done];
    const { events, frames: seen } = read(frames);
    expect(events.slice(1)).toEqual([
      { type: "call-start", choice: 0, call: 0, id: "a", kind: "function", name: "f" },
      { type: "call-delta", choice: 0, call: 0, text: '{"x"' },
      { type: "call-delta", choice: 0, call: 0, text: ":1}" },
      { type: "turn-end", choice: 0, stop: "calls" },
    ]);
    expect(seen.every((frame) => frame.forwardable)).toBe(true);
  });

  it("may have several choices, which end one by one", () => {
    const of = (index: number, fields: Fields, finish: string | null = null): Fields =>
      chunk([{ index, delta: fields, finish_reason: finish }]);
    const { events, frames } = read([
      of(0, { role: "assistant", content: "a" }),
      of(1, { role: "assistant", content: "b" }),
      of(0, {}, "stop"),
      of(1, {}, "length"),
      done,
    ]);
    expect(answerOf(events).choices.map((choice) => choice.stop)).toEqual(["end", "length"]);
    expect(frames.map((frame) => frame.ends)).toEqual([
      undefined,
      undefined,
      undefined,
      "terminal",
      "done",
    ]);
  });

  it("carries probabilities, annotations and refusals", () => {
    const token = { token: "a", logprob: -1, bytes: [97], top_logprobs: [] };
    const citation = { url: "u", title: "t", start_index: 0, end_index: 1 };
    const { events, frames } = read([
      role,
      chunk([{ index: 0, delta: { content: "a" }, logprobs: { content: [token], refusal: null } }]),
      delta({ annotations: [{ type: "url_citation", url_citation: citation }] }),
      delta({ refusal: "no" }),
      stop,
      done,
    ]);
    expect(events.slice(1, 4)).toEqual([
      { type: "text-delta", choice: 0, text: "a", logprobs: [token] },
      { type: "text-note", choice: 0, annotation: { type: "url_citation", ...citation } },
      { type: "refusal-delta", choice: 0, text: "no" },
    ]);
    expect(frames.every((frame) => frame.forwardable)).toBe(true);
  });

  it("keeps what else was said of the answer", () => {
    const [start] = read([delta({ role: "assistant" }, null, { system_fingerprint: "fp" })]).events;
    expect(start).toMatchObject({ extra: { system_fingerprint: "fp" } });
  });
});

describe("a whole body", () => {
  const message = {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "a", type: "function", function: { name: "f", arguments: '{"x":1}' } },
      { id: "b", type: "custom", custom: { name: "g", input: "y" } },
    ],
  };
  const body = (more: Fields = {}): Fields => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 7,
    model: "m",
    choices: [{ index: 0, message, logprobs: null, finish_reason: "tool_calls" }],
    usage,
    ...more,
  });
  const readWhole = (text: string): Event[] => {
    const said: Event[] = [];
    const reader = readEvents({ newId: (prefix) => prefix, frames: true });
    reader.whole(text, (event) => void said.push(event));
    expect(reader.done()).toBe(true);
    return said;
  };

  it("is read like a stream", () => {
    const data = JSON.stringify(body());
    const events = readWhole(data);
    expect(answerOf(events)).toMatchObject({
      id: "chatcmpl-1",
      usage: counted,
      choices: [
        {
          stop: "calls",
          items: [
            { type: "call", id: "a", kind: "function", name: "f", input: '{"x":1}' },
            { type: "call", id: "b", kind: "custom", name: "g", input: "y" },
          ],
        },
      ],
    });
    expect(events.at(-1)).toEqual({
      type: "frame",
      data,
      forwardable: true,
      ends: "terminal",
      whole: true,
    });
  });

  it.each<[string, Fields]>([
    ["without an id", { id: undefined }],
    ["with another object", { object: "text" }],
    ["without a reason", { choices: [{ index: 0, message: { role: "assistant", content: "a" } }] }],
    [
      "with arguments as an object",
      {
        choices: [
          {
            index: 0,
            finish_reason: "tool_calls",
            message: {
              role: "assistant",
              tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: {} } }],
            },
          },
        ],
      },
    ],
    [
      "with a delta for a message",
      {
        choices: [{ index: 0, finish_reason: "stop", delta: { role: "assistant", content: "a" } }],
      },
    ],
  ])("%s is put right", (_, more) => {
    expect(readWhole(JSON.stringify(body(more))).at(-1)).toMatchObject({ forwardable: false });
  });

  it.each([1, 2])("with %i calls is forwarded if it is as the API sends it", (count) => {
    const calls = Array.from({ length: count }, (_, at) => ({
      id: `call_${at}`,
      type: "function",
      function: { name: "f", arguments: "{}" },
    }));
    const message = { role: "assistant", content: null, refusal: null, tool_calls: calls };
    const choices = [{ index: 0, finish_reason: "tool_calls", logprobs: null, message }];
    expect(readWhole(JSON.stringify(body({ choices }))).at(-1)).toMatchObject({
      forwardable: true,
    });
  });

  it("in a list is put right", () => {
    expect(readWhole(JSON.stringify([body()])).at(-1)).toMatchObject({ forwardable: false });
  });

  it.each([0, undefined])(
    "has as many calls as it lists, though each has the index %s",
    (index) => {
      const call = { id: "a", index, type: "function", function: { name: "f", arguments: "{}" } };
      const message = { role: "assistant", content: null, tool_calls: [call, call] };
      const choices = [{ index: 0, finish_reason: "tool_calls", message }];
      const [choice] = answerOf(readWhole(JSON.stringify(body({ choices })))).choices;
      expect(choice?.items).toMatchObject([{ input: "{}" }, { input: "{}" }]);
    },
  );

  it.each<[string, string, string]>([
    ["that is not JSON", "<html>", "upstream.malformed"],
    ["without choices", "{}", "upstream.malformed"],
    ["that is an error", '{"error":{"code":401,"message":"no"}}', "upstream.auth"],
    ["without a choice", '{"choices":[]}', "upstream.empty"],
  ])("%s fails", (_, text, code) => {
    expect(answerOf(readWhole(text)).fault?.code).toBe(code);
  });
});

it("forwards no end that has no delta: readers look into it", () => {
  const bare = chunk([{ index: 0, finish_reason: "stop" }]);
  const { frames } = read([role, text("a"), bare, done]);
  expect(frames.map(({ forwardable }) => forwardable).slice(0, 3)).toEqual([true, true, false]);
});

describe("a stream", () => {
  it.each<[string, (Fields | string)[], string]>([
    ["closes without an end", [role, text("a")], "upstream.cut"],
    ["closes in mid-arguments", [role, head(0, "a", "f", '{"x')], "upstream.cut"],
    ["is done in mid-arguments", [role, head(0, "a", "f", '{"x'), done], "upstream.cut"],
    ["says nothing", [], "upstream.empty"],
    ["says it is done and nothing else", [done], "upstream.empty"],
    ["says an error", [{ error: { message: "no", type: "server_error" } }], "upstream.failed"],
    [
      "says an error in mid-answer",
      [role, text("a"), { error: { message: "no" } }, done],
      "upstream.said_error",
    ],
    ["says an error as a sentence", [{ error: "no" }], "upstream.said_error"],
    [
      "says an error in a list",
      [[{ error: { code: 429 } }] as unknown as Fields],
      "upstream.rate_limited",
    ],
    [
      "says an error with a status",
      [{ error: { code: "503", message: "no" } }],
      "upstream.overloaded",
    ],
    [
      "says an error without a name",
      [{ object: "error", message: "no", code: 400 }],
      "upstream.refused",
    ],
    [
      "says an error with neither a name nor an answer beside it",
      [role, text("a"), { code: "1113", msg: "no" }, done],
      "upstream.said_error",
    ],
    [
      "says an error under its own status",
      [role, text("a"), { base_resp: { status_code: 1004, status_msg: "no" }, choices: null }],
      "upstream.said_error",
    ],
    [
      "says an error in a choice",
      [role, chunk([{ index: 0, delta: {}, error: { code: 502 }, finish_reason: "error" }])],
      "upstream.failed",
    ],
    [
      "ends in a call that could not be read",
      [role, text("a"), delta({}, "function_call_filter: MALFORMED_FUNCTION_CALL"), done],
      "upstream.said_error",
    ],
    ["ends in an error", [role, text("a"), delta({}, "error"), done], "upstream.said_error"],
    [
      "ends for want of resources",
      [role, delta({}, "insufficient_system_resource")],
      "upstream.overloaded",
    ],
    ["sends garbage", [role, text("a"), "<html>"], "upstream.malformed"],
    ["sends a number", [role, "5"], "upstream.malformed"],
    ["never names its call", [role, args(0, "{}"), calls], "upstream.malformed"],
  ])("that %s fails", (_, frames, code) => {
    expect(summarize(frames)).toBe(code);
  });

  it("takes a cut in the middle of a frame for a cut", () => {
    expect(summarize([role, text("a"), '{"id":"chatcmpl-1","choi'], true)).toBe("upstream.cut");
  });

  it("takes a last frame that was not closed", () => {
    expect(summarize([role, text("a"), stop], true)).toEqual(["a", "end"]);
  });

  it("keeps the words and the code of an error", () => {
    const said = { message: "Too much.", code: "context_length_exceeded", param: "messages" };
    expect(answerOf(read([{ error: said }]).events).fault).toMatchObject({
      message: "The upstream rejected the request: Too much.",
      detail: { upstreamCode: "context_length_exceeded", param: "messages" },
    });
  });

  it.each(['{"message":"no"}', "no"])("takes an event named error for one: %s", (data) => {
    const reader = readEvents({ newId: (prefix) => prefix, frames: false });
    const said: Event[] = [];
    reader.frame(data, "error", false, (event) => void said.push(event));
    const message = "The upstream reported an error: no. Check the request, or try another model.";
    const fault = { code: "upstream.said_error", message };
    expect(said).toMatchObject([{ type: "turn-fail", fault }]);
    expect(reader.done()).toBe(true);
  });

  it("may beat time", () => {
    const reader = readEvents({ newId: () => "", frames: false });
    const said: Event[] = [];
    for (const data of ["1700", "ping", "{}"])
      reader.frame(data, "ping", false, (event) => void said.push(event));
    expect(said).toEqual([]);
  });

  it("hears nothing after the sentinel", () => {
    expect(read([role, text("a"), stop, done, text("b"), "garbage"]).events.at(-1)).toEqual({
      type: "turn-end",
      choice: 0,
      stop: "end",
    });
  });
});
