import { OpenAI } from "openai";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../turn/event.ts";
import { Fault } from "../../turn/fault.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { runStage } from "../../stream/stage.ts";
import type { Fields } from "../../turn/turn.ts";
import { readRequest } from "./read-request.ts";
import { writeEvents } from "./write-events.ts";

type Event = TurnEvent<ClientName>;
const context = { id: "chatcmpl-own", created: 5, now: () => 6, newId: (prefix: string) => prefix };

const turnOf = (more: Fields = {}): ReturnType<typeof readRequest> =>
  readRequest({
    model: "asked",
    messages: [{ role: "user", content: "Hi" }],
    stream: true,
    ...more,
  });
const write = (events: readonly Event[], more: Fields = {}): string[] =>
  runStage(writeEvents(turnOf(more), context), events);

function chunks(texts: readonly string[]): unknown[] {
  return texts
    .join("")
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      expect(frame.startsWith("data: ")).toBe(true);
      const data = frame.slice(6);
      return data === "[DONE]" ? data : (JSON.parse(data) as unknown);
    });
}
const start: Event = {
  type: "turn-start",
  dialect: "chat",
  id: "chatcmpl-up",
  model: "m",
  created: 7,
};
const chunk = (delta: Fields, more: Fields = {}): Fields => ({
  id: "chatcmpl-up",
  created: 7,
  model: "m",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }],
});
const role = (content: "" | null): Fields => chunk({ role: "assistant", content, refusal: null });
const text = (words: string): Event => ({ type: "text-delta", choice: 0, text: words });
const begin = (call: number, kind = "function"): Event => ({
  type: "call-start",
  choice: 0,
  call,
  id: `c${call}`,
  kind,
  name: clientName("f"),
});
const args = (call: number, words: string): Event => ({
  type: "call-delta",
  choice: 0,
  call,
  text: words,
});
const ended = (call: number): Event => ({ type: "call-end", choice: 0, call, complete: true });
const end = (stop: "end" | "calls" | "length" | "filter" = "end"): Event => ({
  type: "turn-end",
  choice: 0,
  stop,
});

describe("a chat stream", () => {
  it("says role, text, end and sentinel", () => {
    const events: Event[] = [
      start,
      { type: "text-start", choice: 0 },
      text('He "l"'),
      text("lo\n"),
      { type: "text-end", choice: 0 },
      end(),
    ];
    expect(chunks(write(events))).toEqual([
      role(""),
      chunk({ content: 'He "l"' }),
      chunk({ content: "lo\n" }),
      chunk({}, { finish_reason: "stop" }),
      "[DONE]",
    ]);
  });

  it("says calls with id, type and name once, numbered from 0", () => {
    const events = [start, begin(3), args(3, "{"), begin(5, "custom"), args(5, "x"), args(3, "}")];
    expect(chunks(write([...events, ended(3), ended(5), end("calls")]))).toEqual([
      role(null),
      chunk({
        tool_calls: [
          { index: 0, id: "c3", type: "function", function: { name: "f", arguments: "" } },
        ],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "{" } }] }),
      chunk({
        tool_calls: [{ index: 1, id: "c5", type: "custom", custom: { name: "f", input: "" } }],
      }),
      chunk({ tool_calls: [{ index: 1, custom: { input: "x" } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
      chunk({}, { finish_reason: "tool_calls" }),
      "[DONE]",
    ]);
  });

  it("says calls in the old form to those who declared them so", () => {
    const functions = [{ name: "f" }];
    expect(
      chunks(write([start, begin(0), args(0, "{}"), ended(0), end("calls")], { functions })),
    ).toEqual([
      role(null),
      chunk({ function_call: { name: "f", arguments: "" } }),
      chunk({ function_call: { arguments: "{}" } }),
      chunk({}, { finish_reason: "function_call" }),
      "[DONE]",
    ]);
  });

  it("counts last, and only where that was asked for", () => {
    const usage = { input: 3, output: 2, total: 5, cached: 1, reasoning: 0 };
    const events: Event[] = [start, { type: "usage", usage }, text("a"), end()];
    expect(chunks(write(events))).toHaveLength(4);
    const counted = chunks(write(events, { stream_options: { include_usage: true } }));
    expect(counted.slice(0, -2)).toMatchObject([{ usage: null }, { usage: null }, { usage: null }]);
    expect(counted.slice(-2)).toEqual([
      {
        ...chunk({}),
        choices: [],
        usage: {
          prompt_tokens: 3,
          completion_tokens: 2,
          total_tokens: 5,
          prompt_tokens_details: { cached_tokens: 1 },
          completion_tokens_details: { reasoning_tokens: 0 },
        },
      },
      "[DONE]",
    ]);
  });

  it("says reasoning, refusals, annotations and probabilities", () => {
    const token = { token: "a", logprob: -1 };
    const cited = { type: "url_citation", url: "u", title: "t", start_index: 0, end_index: 1 };
    const events: Event[] = [
      start,
      { type: "reasoning-start", choice: 0 },
      { type: "reasoning-delta", choice: 0, text: "hm", of: "summary", part: 0 },
      { type: "reasoning-delta", choice: 0, text: "ah", of: "summary", part: 1 },
      { type: "reasoning-end", choice: 0, details: [{ type: "x" }] },
      { ...text("a"), logprobs: [token] } as Event,
      { type: "text-note", choice: 0, annotation: cited },
      { type: "text-note", choice: 0, annotation: { type: "file_citation" } },
      { type: "refusal-delta", choice: 0, text: "no" },
      end("filter"),
    ];
    const { type, ...citation } = cited;
    expect(chunks(write(events))).toEqual([
      role(""),
      chunk({ reasoning_content: "hm" }),
      chunk({ reasoning_content: "\n\nah" }),
      chunk({ reasoning_details: [{ type: "x" }] }),
      chunk({ content: "a" }, { logprobs: { content: [token], refusal: null } }),
      chunk({ annotations: [{ type, url_citation: citation }] }),
      chunk({ refusal: "no" }),
      chunk({}, { finish_reason: "content_filter" }),
      "[DONE]",
    ]);
  });

  it("gives every choice its role and its end", () => {
    const of = (choice: number, event: Event): Event => ({ ...event, choice }) as Event;
    const events = [start, of(1, text("b")), of(0, text("a")), of(0, end()), of(1, end("length"))];
    const said = chunks(write(events)).slice(0, -1) as { choices: Fields[] }[];
    expect(said.map(({ choices: [choice] }) => [choice?.index, choice?.finish_reason])).toEqual([
      [1, null],
      [1, null],
      [0, null],
      [0, null],
      [0, "stop"],
      [1, "length"],
    ]);
  });

  it("says of an answer of another dialect what is ours to say", () => {
    const foreign: Event = { type: "turn-start", dialect: "responses", id: "resp_1", model: "m" };
    const ours = { id: "chatcmpl-own", created: 5 };
    expect(chunks(write([foreign, end()]))[0]).toMatchObject({ ...ours, model: "m" });
    expect(chunks(write([{ type: "turn-start" }, end()]))[0]).toMatchObject({
      ...ours,
      model: "asked",
    });
  });

  it("says of an answer of its own what the upstream said", () => {
    const extra = { service_tier: "flex", system_fingerprint: "fp", other: 1 };
    const [first, second] = chunks(write([{ ...start, extra }, end()]));
    expect(first).toMatchObject(extra);
    expect(second).toMatchObject({ service_tier: "flex", system_fingerprint: "fp" });
    expect(second).not.toHaveProperty("other");
  });

  it("ends a failure with the error and no finish", () => {
    const fault = new Fault("upstream.cut", "Cut off.");
    const said = chunks(write([start, text("a"), { type: "turn-fail", fault }]));
    expect(said.slice(2)).toEqual([
      { error: { message: "Cut off.", type: "server_error", param: null, code: "upstream.cut" } },
      "[DONE]",
    ]);
    expect(JSON.stringify(said)).not.toContain('finish_reason":"');
  });
});

describe("the official reader", () => {
  const client = (body: string): OpenAI =>
    new OpenAI({
      apiKey: "-",
      baseURL: "http://nowhere.invalid",
      maxRetries: 0,
      fetch: () =>
        Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } })),
    });
  const ask = { model: "m", messages: [{ role: "user" as const, content: "Hi" }] };

  it("takes text, calls and counts", async () => {
    const usage = { input: 3, output: 2, total: 5 };
    const events: Event[] = [
      start,
      text("Hel"),
      text("lo"),
      begin(0),
      args(0, '{"a"'),
      begin(1, "custom"),
      args(1, "x"),
      args(0, ":1}"),
      ended(0),
      ended(1),
      { type: "usage", usage },
      end("calls"),
    ];
    const body = write(events, { stream_options: { include_usage: true } }).join("");
    const answer = await client(body).chat.completions.stream(ask).finalChatCompletion();
    expect(answer).toMatchObject({
      id: "chatcmpl-up",
      usage: { total_tokens: 5 },
      choices: [
        {
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: "Hello",
            tool_calls: [
              { id: "c0", type: "function", function: { name: "f", arguments: '{"a":1}' } },
              { id: "c1", type: "custom", custom: { name: "f", input: "x" } },
            ],
          },
        },
      ],
    });
  });

  it("throws what failed", async () => {
    const fault = new Fault("upstream.cut", "Cut off.");
    const body = write([start, text("a"), { type: "turn-fail", fault }]).join("");
    await expect(client(body).chat.completions.stream(ask).finalChatCompletion()).rejects.toThrow(
      "Cut off.",
    );
  });
});
