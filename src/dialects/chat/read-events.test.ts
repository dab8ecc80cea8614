import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blocks } from "../../stream/blocks.ts";
import { fold, type Answer } from "../../stream/fold.ts";
import { runStage } from "../../stream/stage.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

type Event = TurnEvent<UpstreamName>;

function read(
  frames: readonly (Fields | string)[],
  { fast = true, cut = false } = {},
): { events: Event[]; frames: Frame[] } {
  let made = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_new${made++}`, frames: true }, fast);
  const said: Event[] = [];
  for (const [at, frame] of frames.entries()) {
    const data = typeof frame === "string" ? frame : JSON.stringify(frame);
    const partial = cut && at === frames.length - 1;
    reader.frame(data, undefined, partial, (event) => void said.push(event));
  }
  return {
    events: said.filter((event) => event.type !== "frame"),
    frames: said.filter((event) => event.type === "frame"),
  };
}

const answerOf = (events: readonly Event[]): Answer<UpstreamName> =>
  fold(runStage(blocks<UpstreamName>(), events));

/** An answer, as short as it can be said. */
function told(frames: readonly (Fields | string)[], cut = false): unknown {
  const { choices, usage, fault } = answerOf(read(frames, { cut }).events);
  if (fault !== undefined) return fault.code;
  const said = choices.map(({ items, stop }) => [
    ...items.map((item) => {
      switch (item.type) {
        case "message":
          return item.parts.map((part) => ("text" in part ? part.text : part.type)).join("|");
        case "reasoning":
          return `(${item.content.join("|")})`;
        case "call":
          return `${item.name}#${item.id}${item.input}${item.status === "completed" ? "" : "..."}`;
        default:
          return item.type;
      }
    }),
    stop,
  ]);
  return usage === undefined ? said[0] : [...(said[0] ?? []), usage];
}

const chunk = (choices: readonly Fields[], more: Fields = {}): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 7,
  model: "m",
  choices,
  ...more,
});
const delta = (fields: Fields, finish: string | null = null, more: Fields = {}): Fields =>
  chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }], more);
const role = delta({ role: "assistant", content: "" });
const text = (content: string): Fields => delta({ content });
const piece = (call: Fields, finish: string | null = null): Fields =>
  delta({ tool_calls: [call] }, finish);
const head = (index: number, id: string, name: string, args = ""): Fields =>
  piece({ index, id, type: "function", function: { name, arguments: args } });
const args = (index: number, more: string): Fields =>
  piece({ index, function: { arguments: more } });
const stop = delta({}, "stop");
const calls = delta({}, "tool_calls");
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const counted = { input: 3, output: 2, total: 5 };
const done = "[DONE]";

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
        regular: true,
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
    expect(seen.every((frame) => frame.regular)).toBe(true);
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
    expect(frames.every((frame) => frame.regular)).toBe(true);
  });

  it("keeps what else was said of the answer", () => {
    const [start] = read([delta({ role: "assistant" }, null, { system_fingerprint: "fp" })]).events;
    expect(start).toMatchObject({ extra: { system_fingerprint: "fp" } });
  });
});

describe("a stream of somebody else", () => {
  const whole = ["f#a{}", "calls"];

  it.each<[string, (Fields | string)[], unknown]>([
    ["never says the role", [text("a"), stop], ["a", "end"]],
    [
      "always says the role",
      [
        delta({ role: "assistant", content: "a" }),
        delta({ role: "assistant", content: "b" }),
        stop,
        done,
      ],
      ["ab", "end"],
    ],
    ["says the end twice", [role, text("a"), stop, stop, done], ["a", "end"]],
    ["says more after the end", [role, text("a"), stop, text("b"), done], ["ab", "end"]],
    ["never says the end", [role, text("a"), done], ["a", "end"]],
    ["never says the end of its calls", [role, head(0, "a", "f", "{}"), done], whole],
    [
      "says stop for calls in its own words",
      [role, head(0, "a", "f", "{}"), delta({}, "tool_use"), done],
      whole,
    ],
    ["says calls and makes none", [role, text("a"), calls, done], ["a", "end"]],
    ["shouts", [role, text("a"), delta({}, "MAX_TOKENS"), done], ["a", "length"]],
    ["ends with an empty reason first", [role, text("a"), delta({}, ""), stop, done], ["a", "end"]],
    ["has a reason of its own", [role, text("a"), delta({}, "whatever"), done], ["a", "end"]],
    [
      "has content in parts",
      [
        role,
        delta({
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
            { type: "text", text: "a" },
          ],
        }),
        stop,
      ],
      ["(hm)", "a", "end"],
    ],
    ["has content that is a number", [role, delta({ content: 5 }), text("a"), stop], ["a", "end"]],
    ["numbers calls from 1", [role, head(1, "a", "f"), args(1, "{}"), calls], whole],
    [
      "does not number calls",
      [role, piece({ id: "a", type: "function", function: { name: "f", arguments: "{}" } }), calls],
      whole,
    ],
    [
      "gives no ids",
      [
        role,
        piece({ index: 0, type: "function", function: { name: "f", arguments: "{}" } }),
        calls,
      ],
      ["f#call_new0{}", "calls"],
    ],
    [
      "gives ids as numbers",
      [
        role,
        piece({ index: 0, id: 5, type: "function", function: { name: "f", arguments: "{}" } }),
        calls,
      ],
      ["f#5{}", "calls"],
    ],
    [
      "repeats empty ids and names",
      [
        role,
        head(0, "a", "f"),
        piece({ index: 0, id: "", type: "function", function: { name: "", arguments: "{}" } }),
        calls,
      ],
      whole,
    ],
    [
      "repeats null ids and names",
      [
        role,
        head(0, "a", "f"),
        piece({ index: 0, id: null, type: null, function: { name: null, arguments: "{}" } }),
        calls,
      ],
      whole,
    ],
    [
      "sends arguments as an object",
      [
        role,
        piece({ index: 0, id: "a", type: "function", function: { name: "f", arguments: {} } }),
        calls,
      ],
      whole,
    ],
    [
      "sends null arguments",
      [
        role,
        piece({ index: 0, id: "a", type: "function", function: { name: "f", arguments: null } }),
        calls,
      ],
      whole,
    ],
    ["sends no arguments", [role, head(0, "a", "f"), calls], whole],
    ["flattens calls", [role, piece({ id: "a", name: "f", arguments: "{}" }), calls], whole],
    [
      "does not say what kind of call",
      [role, piece({ index: 0, id: "a", custom: { name: "f", input: "x" } }), calls],
      ["f#ax", "calls"],
    ],
    [
      "sends one call instead of a list",
      [role, delta({ tool_calls: { id: "a", function: { name: "f", arguments: "{}" } } }), calls],
      whole,
    ],
    [
      "has holes in its list of calls",
      [
        role,
        delta({
          tool_calls: [
            null,
            { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        }),
        calls,
      ],
      whole,
    ],
    [
      "makes calls in the old form",
      [
        role,
        delta({ function_call: { name: "f", arguments: "" } }),
        delta({ function_call: { arguments: "{}" } }),
        delta({}, "function_call"),
      ],
      ["f#call_new0{}", "calls"],
    ],
    ["changes its id", [{ ...role, id: "x" }, text("a"), stop], ["a", "end"]],
    [
      "has no id",
      [
        { ...role, id: undefined },
        { ...text("a"), id: undefined },
        { ...stop, id: undefined },
      ],
      ["a", "end"],
    ],
    [
      "does not number its choice",
      [
        chunk([{ delta: { role: "assistant", content: "a" } }]),
        chunk([{ delta: {}, finish_reason: "stop" }]),
      ],
      ["a", "end"],
    ],
    [
      "numbers its choice absurdly",
      [chunk([{ index: 4e9, delta: { role: "assistant", content: "a" }, finish_reason: "stop" }])],
      ["a", "end"],
    ],
    [
      "sends a whole body as a frame",
      [
        chunk(
          [
            {
              index: 0,
              message: {
                role: "assistant",
                content: "a",
                tool_calls: [
                  { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
                ],
              },
              finish_reason: "tool_calls",
            },
          ],
          { object: "chat.completion" },
        ),
        done,
      ],
      ["a", ...whole],
    ],
    [
      "sums up what it streamed",
      [
        role,
        text("a"),
        chunk([{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }]),
      ],
      ["a", "end"],
    ],
    ["sends text beside the delta", [chunk([{ index: 0, text: "a" }]), stop], ["a", "end"]],
    [
      "sends choices that are not",
      [role, chunk([null as unknown as Fields]), text("a"), stop],
      ["a", "end"],
    ],
    [
      "counts in a place of its own",
      [role, text("a"), { ...stop, x_groq: { usage } }],
      ["a", "end", counted],
    ],
    [
      "counts in the choice",
      [role, text("a"), chunk([{ index: 0, delta: {}, finish_reason: "stop", usage }])],
      ["a", "end", counted],
    ],
    [
      "counts without choices",
      [role, text("a"), stop, { ...chunk([]), choices: null, usage }],
      ["a", "end", counted],
    ],
  ])("that %s is put right and not forwarded", (_, frames, wanted) => {
    expect(told(frames)).toEqual(wanted);
    const seen = read([...frames, done]).frames;
    expect(seen.some((frame) => !frame.regular)).toBe(true);
  });

  it.each<[string, (Fields | string)[], unknown]>([
    ["counts with the end", [role, text("a"), { ...stop, usage }], ["a", "end", counted]],
    [
      "counts as it goes",
      [role, { ...text("a"), usage: { ...usage, total_tokens: 4 } }, { ...stop, usage }],
      ["a", "end", counted],
    ],
    ["counts nothing", [role, { ...text("a"), usage: null }, stop], ["a", "end"]],
    [
      "counts what it remembered",
      [
        role,
        text("a"),
        stop,
        chunk([], {
          usage: {
            ...usage,
            prompt_cache_hit_tokens: 1,
            completion_tokens_details: { reasoning_tokens: 2 },
          },
        }),
      ],
      ["a", "end", { ...counted, cached: 1, reasoning: 2 }],
    ],
    [
      "thinks aloud",
      [role, delta({ content: null, reasoning_content: "hm" }), text("a"), stop],
      ["(hm)", "a", "end"],
    ],
    [
      "thinks aloud in another word",
      [role, delta({ reasoning: "hm" }), text("a"), stop],
      ["(hm)", "a", "end"],
    ],
    [
      "thinks aloud in both words",
      [role, delta({ reasoning: "hm", reasoning_content: "hm" }), text("a"), stop],
      ["(hm)", "a", "end"],
    ],
    [
      "names no end until it comes",
      [chunk([{ index: 0, delta: { role: "assistant", content: "a" } }]), stop],
      ["a", "end"],
    ],
    [
      "writes null for nothing",
      [
        delta({ role: "assistant", content: null, tool_calls: null, refusal: null }),
        delta({ role: null, content: "a", tool_calls: null }),
        stop,
      ],
      ["a", "end"],
    ],
    [
      "speaks of its filter first",
      [
        { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [] },
        role,
        text("a"),
        stop,
      ],
      ["a", "end"],
    ],
    [
      "stops where it was forced to call",
      [role, head(0, "a", "f", "{}"), stop],
      ["f#a{}", "calls"],
    ],
    [
      "calls a custom tool",
      [
        role,
        piece({ index: 0, id: "a", type: "custom", custom: { name: "f", input: "" } }),
        piece({ index: 0, custom: { input: "x" } }),
        calls,
      ],
      ["f#ax", "calls"],
    ],
    ["pings", [role, { type: "ping" }, text("a"), stop], ["a", "end"]],
  ])("that %s is forwarded", (_, frames, wanted) => {
    expect(told(frames)).toEqual(wanted);
    expect(read([...frames, done]).frames.every((frame) => frame.regular)).toBe(true);
  });

  it.each<[string, (Fields | string)[], string]>([
    ["closes without an end", [role, text("a")], "upstream.cut"],
    ["closes in mid-arguments", [role, head(0, "a", "f", '{"x')], "upstream.cut"],
    ["says nothing", [], "upstream.empty"],
    ["says it is done and nothing else", [done], "upstream.empty"],
    ["says an error", [{ error: { message: "no", type: "server_error" } }], "upstream.said_error"],
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
      "says an error in a choice",
      [role, chunk([{ index: 0, delta: {}, error: { code: 502 }, finish_reason: "error" }])],
      "upstream.failed",
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
    expect(told(frames)).toBe(code);
  });

  it("takes a cut in the middle of a frame for a cut", () => {
    expect(told([role, text("a"), '{"id":"chatcmpl-1","choi'], true)).toBe("upstream.cut");
  });

  it("takes a last frame that was not closed", () => {
    expect(told([role, text("a"), stop], true)).toEqual(["a", "end"]);
  });

  it("keeps the words and the code of an error", () => {
    const said = { message: "Too much.", code: "context_length_exceeded", param: "messages" };
    expect(answerOf(read([{ error: said }]).events).fault).toMatchObject({
      message: "The upstream reported an error: Too much.",
      detail: { upstreamCode: "context_length_exceeded", param: "messages" },
    });
  });

  it("takes an event named error for one", () => {
    const reader = readEvents({ newId: (prefix) => prefix, frames: false });
    const said: Event[] = [];
    reader.frame('{"message":"no"}', "error", false, (event) => void said.push(event));
    expect(said).toMatchObject([{ type: "turn-fail", fault: { code: "upstream.said_error" } }]);
    expect(reader.done()).toBe(true);
  });

  it("hears nothing after the sentinel", () => {
    expect(read([role, text("a"), stop, done, text("b"), "garbage"]).events.at(-1)).toEqual({
      type: "turn-end",
      choice: 0,
      stop: "end",
    });
  });

  it("joins the details of reasoning and ends it with them", () => {
    const think = (details: readonly Fields[], reasoning = ""): Fields =>
      delta({ content: "", reasoning, reasoning_details: details });
    const { events } = read([
      role,
      think([{ type: "reasoning.text", text: "a", index: 0 }], "a"),
      think([{ type: "reasoning.text", text: "b", index: 0, signature: "s" }], "b"),
      think([{ type: "reasoning.encrypted", data: "x", index: 1 }]),
      text("hi"),
      stop,
    ]);
    expect(answerOf(events).choices[0]?.items).toMatchObject([
      {
        type: "reasoning",
        content: ["ab"],
        details: [
          { type: "reasoning.text", text: "ab", index: 0, signature: "s" },
          { type: "reasoning.encrypted", data: "x", index: 1 },
        ],
      },
      { type: "message", parts: [{ text: "hi" }] },
    ]);
  });

  it("notes links once, behind the first text", () => {
    const citations = ["https://a", "https://b"];
    const { events } = read([
      delta({ role: "assistant" }, null, { citations }),
      delta({ content: "hi" }, null, { citations }),
      delta({ content: "!" }, null, { citations }),
    ]);
    expect(events.map((event) => event.type)).toEqual([
      "turn-start",
      "text-delta",
      "text-note",
      "text-note",
      "text-delta",
    ]);
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
      regular: true,
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
  ])("%s is put right", (_, more) => {
    expect(readWhole(JSON.stringify(body(more))).at(-1)).toMatchObject({ regular: false });
  });

  it.each<[string, string, string]>([
    ["that is not JSON", "<html>", "upstream.malformed"],
    ["without choices", "{}", "upstream.malformed"],
    ["that is an error", '{"error":{"code":401,"message":"no"}}', "upstream.auth"],
    ["without a choice", '{"choices":[]}', "upstream.empty"],
  ])("%s fails", (_, text, code) => {
    expect(answerOf(readWhole(text)).fault?.code).toBe(code);
  });
});

describe("the fast road", () => {
  const spoken = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      '"',
      "\\",
      '"},"logprobs":null,"finish_reason":null}]}',
      "\u2028\t\u0000",
      '\\"',
    ),
  );
  const say = fc.oneof(
    spoken.map((content) => delta({ content })),
    spoken.map((content) => delta({ content, reasoning_content: null })),
    spoken.map((reasoning_content) => delta({ reasoning_content, content: null })),
    spoken.map((reasoning) => delta({ reasoning, content: "" })),
    spoken.map((both) => delta({ reasoning: both, reasoning_content: both })),
    spoken.map((refusal) => delta({ refusal })),
    spoken.map((content) => delta({ content, role: "assistant" })),
    fc
      .tuple(spoken, spoken)
      .map(([content, pad]) => delta({ content }, null, { obfuscation: pad })),
    spoken.map((content) => delta({ content }, null, { note: '"content":"x"', obfuscation: "ab" })),
    spoken.map((content) => chunk([{ content: "no", delta: { content }, index: 1 }])),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => args(index, more)),
    fc
      .tuple(fc.nat(1), spoken)
      .map(([index, more]) => piece({ index, id: "", function: { arguments: more } })),
    fc.tuple(fc.nat(1), spoken).map(([index, more]) => head(index, `c${index}`, "f", more)),
    spoken.map((more) => piece({ index: 0, custom: { input: more } })),
    spoken.map((more) => delta({ reasoning_details: [{ type: "reasoning.text", text: more }] })),
    spoken.map((content) => delta({ content }, null, { usage })),
    spoken.map((content) => delta({ content }, null, { citations: ["https://a"] })),
    fc.constantFrom(stop, calls, role, chunk([], { usage }), { error: { message: "no" } }),
  );
  const frame = fc
    .tuple(say, fc.constantFrom(undefined, 1), fc.nat(30))
    .map(([fields, space, chance]) => {
      const text = JSON.stringify(fields, null, space)?.replaceAll("\n", "") ?? "";
      if (chance === 0) return text.replace(/"}/, '\t"}');
      if (chance === 1) return text.replace(/"}/, '\\q"}');
      return chance === 2 ? text.slice(0, -2) : text;
    });
  /** Frames come in runs that differ in their text alone. */
  const run = fc.oneof(
    { weight: 2, arbitrary: fc.array(frame, { maxLength: 4 }) },
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(text(one)))),
    fc
      .array(spoken, { maxLength: 6 })
      .map((texts) => texts.map((one) => JSON.stringify(args(0, one)))),
    fc
      .array(fc.tuple(spoken, spoken), { maxLength: 6 })
      .map((texts) =>
        texts.map(([content, obfuscation]) =>
          JSON.stringify(delta({ content }, null, { obfuscation })),
        ),
      ),
  );

  it("says what the parser says", () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), fc.boolean(), (runs, opened) => {
        const frames = [...(opened ? [role, head(0, "c0", "f", "{")] : []), ...runs.flat(), done];
        expect(read(frames)).toEqual(read(frames, { fast: false }));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is not misled by words that stand elsewhere", () => {
    const odd = (content: string): Fields => ({
      note: '"content": "',
      ...text(content),
      more: { content: "b" },
    });
    expect(told([odd("a"), odd("b"), odd("c"), stop])).toEqual(["abc", "end"]);
  });
});
