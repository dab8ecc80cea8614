import { describe, expect, it } from "vitest";
import {
  answerOf,
  args,
  calls,
  chunk,
  counted,
  delta,
  done,
  head,
  piece,
  read,
  role,
  stop,
  text,
  summarize,
  usage,
} from "../../../test/support/chat-frames.ts";
import type { Fields } from "../../turn/turn.ts";

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
    ["denies its role", [role, delta({ role: null, content: "a" }), stop], ["a", "end"]],
    ["calls and says it just stopped", [role, head(0, "a", "f", "{}"), stop], whole],
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
    [
      "says what filter it was",
      [role, text("a"), delta({}, "content_filter: PROHIBITED_CONTENT"), done],
      ["a", "filter"],
    ],
    [
      "has an object for a reason",
      [role, text("a"), chunk([{ index: 0, delta: {}, finish_reason: { type: "length" } }]), done],
      ["a", "length"],
    ],
    [
      "has a reason that every object knows",
      [role, text("a"), delta({}, "constructor"), done],
      ["a", "end"],
    ],
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
      "numbers calls in words",
      [
        role,
        piece({ index: "0", id: "a", type: "function", function: { name: "f", arguments: "" } }),
        piece({ index: "1", id: "b", type: "function", function: { name: "g", arguments: "" } }),
        piece({ index: "0", function: { arguments: "{}" } }),
        piece({ index: "1", function: { arguments: "[]" } }),
        calls,
      ],
      ["f#a{}", "g#b[]", "calls"],
    ],
    [
      "says the whole call once more",
      [role, head(0, "a", "f"), args(0, "{}"), head(0, "a", "f", "{}"), calls],
      whole,
    ],
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
    [
      "sends text for deltas",
      [chunk([{ index: 0, text: "a" }]), chunk([{ index: 0, text: "b" }]), stop],
      ["ab", "end"],
    ],
    [
      "says a call in the old form too",
      [
        role,
        delta({
          tool_calls: [
            { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{" } },
          ],
          function_call: { name: "f", arguments: "{" },
        }),
        delta({
          tool_calls: [{ index: 0, function: { arguments: "}" } }],
          function_call: { arguments: "}" },
        }),
        calls,
      ],
      whole,
    ],
    [
      "begins a call where it ends, of which no reader hears that it is done",
      [
        role,
        piece(
          { index: 0, id: "a", type: "function", function: { name: "f", arguments: "{}" } },
          "tool_calls",
        ),
      ],
      whole,
    ],
    [
      "speaks of two calls at once, of which some readers hear the first",
      [
        role,
        delta({
          tool_calls: ["a", "b"].map((id, index) => ({
            index,
            id,
            type: "function",
            function: { name: "f", arguments: "{}" },
          })),
        }),
        calls,
      ],
      ["f#a{}", "f#b{}", "calls"],
    ],
    [
      "says its calls only when it sums up",
      [
        role,
        text("a"),
        chunk([
          {
            index: 0,
            finish_reason: "tool_calls",
            message: {
              role: "assistant",
              content: "a",
              tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
            },
          },
        ]),
        done,
      ],
      ["a", ...whole],
    ],
    [
      "repeats all of the text beside each delta",
      [chunk([{ index: 0, delta: { content: "a" }, message: { content: "a" } }]), stop],
      ["a", "end"],
    ],
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
    expect(summarize(frames)).toEqual(wanted);
    const seen = read([...frames, done]).frames;
    expect(seen.some((frame) => !frame.forwardable)).toBe(true);
  });

  it.each<[string, (Fields | string)[], unknown]>([
    [
      "speaks",
      [
        role,
        delta({ audio: { id: "audio_1", transcript: "a" } }),
        delta({ audio: { data: "UklGRg==" } }),
        delta({ audio: { transcript: "b" } }),
        stop,
      ],
      ["ab", "end"],
    ],
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
        delta({ content: "a", tool_calls: null }),
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
    expect(summarize(frames)).toEqual(wanted);
    expect(read([...frames, done]).frames.every((frame) => frame.forwardable)).toBe(true);
  });

  it("that is cut off while calls take turns leaves every open one incomplete", () => {
    const cutOff = delta({}, "length");
    const frames = [role, head(0, "a", "f", '{"x'), head(1, "b", "g", '{"y'), cutOff, done];
    expect(summarize(frames)).toEqual(['f#a{"x...', 'g#b{"y...', "length"]);
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
