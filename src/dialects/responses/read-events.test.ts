import { describe, expect, it } from "vitest";
import {
  added,
  answerOf,
  argument,
  repairedAt,
  call,
  called,
  completed,
  created,
  delta,
  done,
  failOf,
  framesOf,
  itemsOf,
  message,
  of,
  openCall,
  openMessage,
  part,
  read,
  readWhole,
  response,
  said,
  settings,
  textDone,
  type Sent,
} from "../../../test/support/responses-sending.ts";
import type { Fields } from "../../turn/turn.ts";
import { readEvents } from "./read-events.ts";

describe("a Responses stream as the API sends it", () => {
  const whole = [
    created,
    { ...created, type: "response.in_progress" },
    added(openMessage),
    part,
    delta("Hel"),
    delta("lo"),
    textDone("Hello"),
    of("content_part.done", { content_index: 0, part: (message().content as Fields[])[0] }),
    done(message()),
    added(openCall, 1),
    of("function_call_arguments.delta", { delta: '{"a"' }, "fc_1", 1),
    of("function_call_arguments.delta", { delta: ":1}" }, "fc_1", 1),
    of("function_call_arguments.done", { arguments: '{"a":1}' }, "fc_1", 1),
    done(call(), 1),
    completed(message(), call()),
  ];

  it("is read as it comes, and needs no repair", () => {
    const events = read(...whole);
    expect(events.filter((event) => event.type !== "frame")).toEqual([
      {
        type: "turn-start",
        dialect: "responses",
        id: "resp_1",
        model: "big",
        created: 5,
        extra: settings,
      },
      { type: "text-start", choice: 0, id: "msg_1" },
      { type: "text-delta", choice: 0, text: "Hel" },
      { type: "text-delta", choice: 0, text: "lo" },
      { type: "text-end", choice: 0 },
      {
        type: "call-start",
        choice: 0,
        call: 0,
        id: "call_1",
        kind: "function",
        name: "look",
        itemId: "fc_1",
      },
      { type: "call-delta", choice: 0, call: 0, text: '{"a"' },
      { type: "call-delta", choice: 0, call: 0, text: ":1}" },
      { type: "call-end", choice: 0, call: 0, complete: true },
      { type: "usage", usage: { input: 3, output: 2, total: 5, cached: 1, reasoning: 1 } },
      { type: "turn-end", choice: 0, stop: "end" },
    ]);
    expect(repairedAt(...whole)).toEqual([]);
  });

  it("has its frames told, with names, numbers and the end", () => {
    const frames = framesOf(read(...whole, "[DONE]"));
    expect(frames[0]).toMatchObject({ name: "response.created", sequence: 0, forwardable: true });
    expect(frames.at(-2)).toMatchObject({ name: "response.completed", ends: "terminal" });
    expect(frames.at(-1)).toMatchObject({ data: "[DONE]", ends: "done", forwardable: true });
  });

  it("is over with its last event", () => {
    const reader = readEvents({ newId: () => "", frames: false });
    for (const frame of whole.slice(0, -1))
      reader.frame(JSON.stringify(frame), undefined, false, () => {});
    expect(reader.done()).toBe(false);
    reader.frame(JSON.stringify(whole.at(-1)), undefined, false, () => {});
    expect(reader.done()).toBe(true);
  });

  it("keeps what the response says of itself, except the upstream's names for tools", () => {
    const [start] = read({
      ...created,
      response: response({ service_tier: "flex", tools: [{}], instructions: "x" }),
    });
    expect(start).toMatchObject({ extra: { service_tier: "flex" } });
    expect(start).not.toMatchObject({ extra: { tools: expect.anything() as unknown } });
  });

  it("keeps annotations, logprobs, refusals, phases and several parts", () => {
    const url = { type: "url_citation", url: "u" };
    const items = itemsOf(
      created,
      added({ ...openMessage, phase: "final_answer" }),
      part,
      of("output_text.delta", { content_index: 0, delta: "a", logprobs: [{ token: "a" }] }),
      of("output_text.annotation.added", { content_index: 0, annotation: url }),
      of("content_part.added", { content_index: 1, part: { type: "output_text", text: "" } }),
      of("output_text.delta", { content_index: 1, delta: "b", logprobs: [] }),
      of("content_part.added", { content_index: 2, part: { type: "refusal", refusal: "" } }),
      of("refusal.delta", { content_index: 2, delta: "no" }),
      of("refusal.done", { content_index: 2, refusal: "no" }),
      done(openMessage),
      completed(),
    );
    expect(items).toMatchObject([
      {
        phase: "final_answer",
        parts: [
          { text: "a", annotations: [url], logprobs: [{ token: "a" }] },
          { text: "b" },
          { type: "refusal", text: "no" },
        ],
      },
    ]);
  });

  it("keeps reasoning: summaries, content and the last seal", () => {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "early" };
    const about = (type: string, fields: Fields) => of(type, fields, "rs_1");
    const sent = [
      created,
      added(item),
      about("reasoning_summary_part.added", { summary_index: 0, part: { type: "summary_text" } }),
      about("reasoning_summary_text.delta", { summary_index: 0, delta: "s0" }),
      about("reasoning_summary_text.done", { summary_index: 0, text: "s0" }),
      about("reasoning_summary_part.added", { summary_index: 1, part: { type: "summary_text" } }),
      about("reasoning_summary_text.delta", { summary_index: 1, delta: "s1" }),
      about("content_part.added", { content_index: 0, part: { type: "reasoning_text" } }),
      about("reasoning_text.delta", { content_index: 0, delta: "c" }),
      done({
        ...item,
        summary: [{ text: "s0" }, { text: "s1" }],
        content: [{ text: "c" }],
        encrypted_content: "late",
      }),
      completed({ ...item }),
    ];
    expect(itemsOf(...sent)).toMatchObject([
      { type: "reasoning", id: "rs_1", summary: ["s0", "s1"], content: ["c"], encrypted: "late" },
    ]);
    expect(repairedAt(...sent)).toEqual([]);
  });

  it.each([
    ["local_shell_call", "local_shell", "action", { type: "exec", command: ["ls"] }],
    ["shell_call", "shell", "action", { commands: ["ls"] }],
    ["apply_patch_call", "apply_patch", "operation", { type: "delete_file", path: "p" }],
    ["tool_search_call", "tool_search", "arguments", { goal: "g" }],
  ])("takes a %s for a call to the client", (type, kind, field, value) => {
    const item = { type, id: "i_1", call_id: "call_9", execution: "client" };
    const sent = [
      created,
      added({ ...item, call_id: "call_8", [field]: {} }),
      of("apply_patch_call_operation_diff.delta", { delta: "x" }, "i_1"),
      done({ ...item, [field]: value }),
      completed({ ...item, [field]: value }),
    ];
    expect(itemsOf(...sent)).toMatchObject([
      { type: "call", id: "call_9", kind, name: kind, input: JSON.stringify(value) },
    ]);
    expect(answerOf(read(...sent)).choices).toMatchObject([{ stop: "calls" }]);
    expect(repairedAt(...sent)).toEqual([]);
  });

  it("leaves whole what the provider works on itself", () => {
    const item = { type: "code_interpreter_call", id: "ci_1", code: "" };
    const events = read(
      created,
      added(item),
      of("code_interpreter_call_code.delta", { delta: "1+1" }, "ci_1"),
      done({ ...item, code: "1+1" }),
      completed({ ...item, code: "1+1" }),
    );
    expect(events.filter((event) => event.type.startsWith("item-"))).toMatchObject([
      { type: "item-start", item: 0, raw: item },
      { type: "item-note", item: 0, raw: { delta: "1+1" } },
      { type: "item-end", item: 0, raw: { code: "1+1" } },
    ]);
    expect(answerOf(events).choices).toMatchObject([{ stop: "end" }]);
  });

  it("takes a shell in the provider's container for the provider's", () => {
    const environment = { type: "container_reference", container_id: "c" };
    const shell = { type: "shell_call", id: "sh_1", call_id: "c1", action: {} };
    expect(itemsOf(created, added({ ...shell, environment }), completed())).toMatchObject([
      { type: "opaque" },
    ]);
    const output = { type: "shell_call_output", id: "sho_1", call_id: "c1", output: [] };
    const body = response({ status: "completed", output: [shell, output] });
    expect(answerOf(readWhole(body)).choices[0]?.items).toMatchObject([
      { type: "opaque", raw: shell },
      { type: "opaque", raw: output },
    ]);
  });

  it.each([
    ["max_output_tokens", "length"],
    ["content_filter", "filter"],
    ["something_else", "length"],
  ])("stops for %s as %s, with the call it was at left open", (reason, stop) => {
    const cut = {
      type: "response.incomplete",
      response: response({
        status: "incomplete",
        incomplete_details: { reason },
        output: [call('{"a', { status: "incomplete" })],
      }),
    };
    const half = done(call('{"a', { status: "incomplete" }));
    expect(answerOf(read(created, added(openCall), argument('{"a'), half, cut))).toMatchObject({
      choices: [{ stop, items: [{ input: '{"a', status: "incomplete" }] }],
    });
  });
});

it.each<Fields>([
  { input_tokens: "3", output_tokens: "2", total_tokens: "5" },
  { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
])("counts as the API does where its upstream does not: %j", (usage) => {
  const status = "completed";
  const sent = { type: "response.completed", response: response({ status, usage, output: [] }) };
  expect(repairedAt(created, sent)).toEqual([1]);
  expect(answerOf(read(created, sent)).usage).toMatchObject({ input: 3, output: 2, total: 5 });
});

describe("a Responses upstream that fails", () => {
  it.each([
    ["rate_limit_exceeded", "upstream.rate_limited", 429],
    ["insufficient_quota", "upstream.quota", 429],
    ["context_length_exceeded", "upstream.refused", 400],
    ["invalid_prompt", "upstream.refused", 400],
    ["invalid_image_url", "upstream.refused", 400],
    ["server_error", "upstream.failed", 502],
    ["server_is_overloaded", "upstream.overloaded", 503],
    ["never_heard_of", "upstream.said_error", 502],
  ])("with %s is a fault of its class that keeps the word", (code, fault, status) => {
    const error = { code, message: "Because." };
    const failed = { type: "response.failed", response: response({ status: "failed", error }) };
    expect(failOf(created, failed)).toMatchObject({
      code: fault,
      status,
      detail: { upstreamCode: code },
    });
    expect(failOf(created, { type: "error", error })?.code).toBe(fault);
    expect(failOf(created, { type: "error", ...error })?.code).toBe(fault);
    expect(failOf({ error })?.message).toContain("Because.");
  });

  describe("in an event and in the response that failed", () => {
    const failed = (error: unknown): Fields => ({
      type: "response.failed",
      response: response({ status: "failed", error }),
    });

    it.each<[string, Fields, unknown]>([
      ["words are only in the second", { code: "slow_down" }, { message: "Because." }],
      ["words are only in the first", { code: "slow_down", message: "Because." }, null],
      ["the code is only in the second", { message: "Because." }, { code: "slow_down" }],
      ["all is in the second", {}, { code: "slow_down", message: "Because." }],
    ])("is told in the best words that either has: %s", (_, error, second) => {
      expect(failOf(created, { type: "error", ...error }, failed(second))).toMatchObject({
        code: "upstream.overloaded",
        message: "The upstream is overloaded: Because. Try again later.",
        detail: { upstreamCode: "slow_down" },
      });
    });

    it.each<[string, Sent[]]>([
      ["the end", []],
      ["the sentinel", ["[DONE]"]],
      ["anything else", [delta("late")]],
    ])("is told at the latest by %s", (_, rest) => {
      const events = read(created, { type: "error", code: "slow_down" }, ...rest);
      const spoken = events.filter(({ type }) => type !== "frame" && type !== "turn-start");
      expect(spoken).toMatchObject([{ type: "turn-fail", fault: { code: "upstream.overloaded" } }]);
    });
  });

  it("is told in our own words, so that every form of it is heard", () => {
    const error = { code: "server_error", message: "x" };
    expect(repairedAt(created, { type: "error", error })).toEqual([1]);
  });

  it("says no more after it", () => {
    const events = read(created, { type: "error", message: "x" }, delta("late"));
    expect(events.filter((event) => event.type === "text-delta")).toEqual([]);
  });
});

describe("a whole Responses body", () => {
  const body = response({ status: "completed", output: [message("Hi"), call()] });

  it("is read as a stream would be, and is forwardable", () => {
    const events = readWhole(body);
    expect(answerOf(events)).toMatchObject({
      id: "resp_1",
      choices: [{ stop: "calls", items: [...said("Hi"), ...called('{"a":1}')] }],
    });
    expect(events.at(-1)).toEqual({
      type: "frame",
      data: JSON.stringify(body),
      forwardable: true,
      ends: "terminal",
      hasAnswer: true,
      whole: true,
    });
  });

  it("is irregular if it lacks what readers want", () => {
    const { id: _, ...nameless } = message("Hi");
    const events = readWhole(response({ status: "completed", output: [nameless] }));
    expect(events.at(-1)).toMatchObject({ type: "frame", forwardable: false });
  });

  it("may come as the last event", () => {
    const events = readWhole(completed(message("Hi")));
    expect(answerOf(events).choices[0]?.items).toMatchObject(said("Hi"));
  });

  it.each([
    ["an error", { error: { message: "No.", code: "server_error" } }, "upstream.failed"],
    [
      "a failed response",
      response({ status: "failed", error: { code: "x", message: "y" } }),
      "upstream.said_error",
    ],
    ["a cancelled response", response({ status: "cancelled" }), "upstream.said_error"],
    ["no response", { choices: [] }, "upstream.malformed"],
    ["no JSON", "<html>", "upstream.malformed"],
  ])("that is %s fails", (_, sent, code) => {
    expect(answerOf(readWhole(sent)).fault?.code).toBe(code);
  });

  it("that is still being made is only for the client's own eyes", () => {
    const queued = response({ status: "queued" });
    expect(answerOf(readWhole(queued, false)).fault?.code).toBe("upstream.malformed");
    expect(readWhole(queued).at(-1)).toMatchObject({ type: "frame", forwardable: true });
  });
});

it.each(["__proto__", "constructor", "toString"])("takes %s for no name of its own", (type) => {
  const item = { ...openMessage, type };
  const reasoning = { id: "rs_1", type: "reasoning", summary: [] };
  const events = read(
    created,
    added(item),
    done(item),
    added(reasoning, 1),
    { type, item_id: "rs_1", output_index: 1 },
    completed(item, reasoning),
  );
  expect(events.map((event) => event.type)).toContain("turn-end");
});
