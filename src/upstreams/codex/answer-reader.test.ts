import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Fields } from "../../turn/turn.ts";
import { AnswerReader } from "./answer-reader.ts";
import { failureOf } from "./faults.ts";

type Event = TurnEvent<UpstreamName>;

const codex = { name: "codex", origin: "", secrets: [], home: "/home" };
const started: [string, Fields] = ["turn/started", { turn: { id: "t" } }];
const raw = (item: Fields, turnId = "t"): [string, Fields] => [
  "rawResponseItem/completed",
  { turnId, item },
];
const delta = (text: string): [string, Fields] => [
  "item/agentMessage/delta",
  { itemId: "msg_1", delta: text },
];
const message = (text: string): Fields => ({
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text }],
});
const call = (id: string, input: string): Fields => ({
  type: "function_call",
  call_id: id,
  name: "look",
  arguments: input,
});
const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5, cachedInputTokens: 1 };
const whole: [string, Fields] = ["rawResponse/completed", { usage }];
const ended = (turn: Fields): [string, Fields] => ["turn/completed", { turn }];

function read(...notes: readonly [string, Fields][]) {
  const reader = new AnswerReader("m");
  const events: Event[] = [];
  try {
    for (const [method, params] of notes)
      reader.read(method, params, (event) => events.push(event));
  } catch (error) {
    events.push({ type: "turn-fail", fault: failureOf(error, codex).fault });
  }
  return { events, reader };
}

const brief = (event: Event): string => {
  if (event.type === "text-delta" || event.type === "call-delta")
    return `${event.type} ${event.text}`;
  if (event.type === "call-start") return `call-start ${event.id}`;
  if (event.type === "turn-end") return `turn-end ${event.stop}`;
  if (event.type === "turn-fail") return `turn-fail ${event.fault.code}`;
  if (event.type === "reasoning-delta") return `${event.of}[${event.part}] ${event.text}`;
  return event.type;
};

describe("the events of an app-server", () => {
  it("are text as it comes, and said once", () => {
    const { events } = read(
      started,
      delta("Hel"),
      delta("lo"),
      raw(message("Hello")),
      whole,
      ended({ status: "completed" }),
    );
    expect(events.map(brief)).toEqual([
      "turn-start",
      "text-start",
      "text-delta Hel",
      "text-delta lo",
      "text-end",
      "usage",
      "turn-end end",
    ]);
  });

  it("are text all the same where none was streamed", () => {
    const { events } = read(started, raw(message("Hello")), ended({ status: "completed" }));
    expect(events.map(brief)).toContain("text-delta Hello");
  });

  it("are calls in the model's order with their arguments untouched", () => {
    const { events, reader } = read(
      started,
      raw(call("a", '{"n": 12345678901234567890}')),
      raw(call("b", "{}")),
      whole,
    );
    expect(events.map(brief)).toEqual([
      "turn-start",
      "call-start a",
      'call-delta {"n": 12345678901234567890}',
      "call-end",
      "call-start b",
      "call-delta {}",
      "call-end",
      "usage",
      "turn-end calls",
    ]);
    expect(reader.state).toBe("calls");
    expect(reader.output.calls.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("are calls with ids also where the model gave none, which nobody waits for", () => {
    const { events, reader } = read(started, raw(call("a", "{}")), raw(call("", "{}")), whole);
    expect(events.map(brief).filter((one) => one.startsWith("call-start"))).toEqual([
      "call-start a",
      "call-start call_1",
    ]);
    expect(reader.output.calls.map(({ isDynamic }) => isDynamic)).toEqual([true, false]);
  });

  it("count the tokens of all answers where Codex goes on by itself", () => {
    const notes = [started, raw(message("One.")), whole, raw(message("Two.")), whole] as const;
    const { events } = read(...notes, ended({ status: "completed" }));
    expect(events.findLast(({ type }) => type === "usage")).toMatchObject({
      usage: { input: 6, output: 4, total: 10, cached: 2 },
    });
  });

  it("are not the conversation that was injected, nor the results", () => {
    const { events } = read(
      raw(message("before"), "auto-compact-0"),
      started,
      raw(message("of another turn"), "other"),
      raw({ type: "message", role: "user", content: [] }),
      raw({ type: "function_call_output", call_id: "a", output: "x" }),
    );
    expect(events).toEqual([]);
  });

  it("are reasoning with what seals it, each paragraph once", () => {
    const thought: [string, Fields] = [
      "item/reasoning/summaryTextDelta",
      { itemId: "rs_1", summaryIndex: 0, delta: "Hm." },
    ];
    const { events } = read(
      started,
      thought,
      raw({
        type: "reasoning",
        summary: [{ text: "Hm." }, { text: "Yes." }],
        content: [{ text: "Deep." }],
        encrypted_content: "sealed",
      }),
    );
    expect(events.map(brief)).toEqual([
      "turn-start",
      "reasoning-start",
      "summary[0] Hm.",
      "summary[1] Yes.",
      "content[0] Deep.",
      "reasoning-end",
    ]);
    expect(events.at(-1)).toMatchObject({ encrypted: "sealed" });
  });

  it.each<[string, Fields, string]>([
    ["too long", { codexErrorInfo: "contextWindowExceeded", message: "" }, "upstream.refused"],
    ["not let in", { codexErrorInfo: "unauthorized", message: "" }, "upstream.auth"],
    [
      "refused",
      { codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 503 } }, message: "x" },
      "upstream.overloaded",
    ],
    ["lost", { codexErrorInfo: { responseStreamDisconnected: {} }, message: "x" }, "upstream.cut"],
    ["odd", { codexErrorInfo: { somethingNew: null }, message: "x" }, "upstream.said_error"],
    ["without a word", {}, "upstream.said_error"],
  ])("are a failure that is %s", (_, error, code) => {
    const { events } = read(started, ended({ status: "failed", error }));
    expect(events.map(brief)).toEqual([`turn-fail ${code}`]);
  });

  it("are a cut where the turn was interrupted", () => {
    const { events } = read(started, ended({ status: "interrupted", error: null }));
    expect(events.map(brief)).toEqual(["turn-fail upstream.cut"]);
  });

  it("may hold anything", () => {
    const odd: unknown[] = [undefined, null, 3, "x", [], {}];
    const methods = [
      "turn/started",
      "item/started",
      "item/agentMessage/delta",
      "item/reasoning/textDelta",
      "rawResponseItem/completed",
      "rawResponse/completed",
      "something/new",
    ];
    for (const value of odd)
      for (const method of methods)
        expect(() =>
          read([method, { turn: value, item: value, delta: value, usage: value, turnId: value }]),
        ).not.toThrow();
  });
});
