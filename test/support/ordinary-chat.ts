import type { Body } from "./fake-upstream.ts";

/** An answer as a provider gives it every day, and what has to be asked for it. */
export type Ordinary<Answer> = { readonly asked?: Body; readonly answer: Answer };

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = ["look", "find"].map((name) => ({
  type: "function",
  function: { name, parameters },
}));
const custom = { tools: [{ type: "custom", custom: { name: "patch" } }] };

const HEAD = { id: "chatcmpl-A1", created: 1_760_000_000, model: "gpt-5.5-2026-04-01" };
const more = { service_tier: "default", system_fingerprint: "fp_1" };
const usage = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};
const spent = { queue_time: 0.01, prompt_time: 0.002, completion_time: 0.03, total_time: 0.032 };
const told = { role: "assistant", content: "Hello.", refusal: null, annotations: [] };
const call = (id: string, name: string, input = '{"city":"Paris"}'): Body => ({
  id,
  type: "function",
  function: { name, arguments: input },
});
const said = [{ token: "Hi", logprob: -0.1, bytes: [72, 105], top_logprobs: [] }];
const filtered = { hate: { filtered: false, severity: "safe" } };

const whole = (message: Body, finish = "stop", choice: Body = {}, head: Body = {}): Body => ({
  ...HEAD,
  object: "chat.completion",
  choices: [{ index: 0, message, logprobs: null, finish_reason: finish, ...choice }],
  usage,
  ...more,
  ...head,
});
const calling = (...calls: readonly Body[]): Body => ({
  ...told,
  content: null,
  tool_calls: calls,
});

/** Whole answers. */
export const bodies: Readonly<Record<string, Ordinary<Body>>> = {
  "a text": { answer: whole(told) },
  "one call": { asked: { tools }, answer: whole(calling(call("c1", "look")), "tool_calls") },
  "a call beside a text": {
    asked: { tools },
    answer: whole({ ...told, tool_calls: [call("c1", "look")] }, "tool_calls"),
  },
  "several calls": {
    asked: { tools },
    answer: whole(
      calling(call("c1", "look"), call("c2", "find"), call("c3", "look")),
      "tool_calls",
    ),
  },
  "a call without arguments": {
    asked: { tools },
    answer: whole(calling(call("c1", "look", "{}")), "tool_calls"),
  },
  "a custom call": {
    asked: custom,
    answer: whole(
      calling({ id: "c1", type: "custom", custom: { name: "patch", input: "*** {" } }),
      "tool_calls",
    ),
  },
  "a refusal": { answer: whole({ ...told, content: null, refusal: "I cannot." }) },
  "a text that was cut": { answer: whole(told, "length") },
  "a text that was filtered": { answer: whole(told, "content_filter") },
  logprobs: {
    asked: { logprobs: true },
    answer: whole(told, "stop", { logprobs: { content: said, refusal: null } }),
  },
  citations: {
    answer: whole({
      ...told,
      annotations: [
        {
          type: "url_citation",
          url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 5 },
        },
      ],
    }),
  },
  "several answers": {
    asked: { n: 2 },
    answer: whole(
      told,
      "stop",
      {},
      {
        choices: [0, 1].map((index) => ({
          index,
          message: told,
          logprobs: null,
          finish_reason: "stop",
        })),
      },
    ),
  },
  "what Azure adds": {
    answer: whole(
      told,
      "stop",
      { content_filter_results: filtered },
      {
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: filtered }],
      },
    ),
  },
  "what Groq adds": {
    asked: { tools },
    answer: whole(
      { role: "assistant", reasoning: "Hm.", tool_calls: [call("c1", "look")] },
      "tool_calls",
      {},
      { usage: { ...usage, ...spent }, usage_breakdown: null, x_groq: { id: "req_1" } },
    ),
  },
  "what DeepSeek adds": {
    asked: { tools },
    answer: whole(
      {
        role: "assistant",
        content: "",
        reasoning_content: "Hm.",
        tool_calls: [
          { index: 0, ...call("c1", "look") },
          { index: 1, ...call("c2", "find") },
        ],
      },
      "tool_calls",
      {},
      { usage: { ...usage, prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 19 } },
    ),
  },
  "what vLLM adds": {
    answer: whole(
      {
        role: "assistant",
        content: "Hello.",
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [],
        reasoning_content: null,
      },
      "stop",
      { stop_reason: null, token_ids: null },
      { prompt_logprobs: null, prompt_token_ids: null, kv_transfer_params: null },
    ),
  },
  "what OpenRouter adds": {
    asked: { tools },
    answer: whole(
      {
        role: "assistant",
        content: "",
        refusal: null,
        reasoning: "Hm.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "c2ln", index: 0 }],
        tool_calls: [{ index: 0, ...call("c1", "look") }],
      },
      "tool_calls",
      { native_finish_reason: "tool_use" },
      { provider: "Anthropic", usage: { ...usage, cost: 0.001, is_byok: false } },
    ),
  },
};

const chunk = (choices: readonly Body[], head: Body = {}): Body => ({
  ...HEAD,
  object: "chat.completion.chunk",
  ...more,
  choices,
  usage: null,
  obfuscation: "x7",
  ...head,
});
const delta = (piece: Body, choice: Body = {}, head: Body = {}): Body =>
  chunk([{ index: 0, delta: piece, logprobs: null, finish_reason: null, ...choice }], head);
const first = { role: "assistant", content: "", refusal: null };
const words = ["Hel", "lo", "."];
const text = words.map((content) => delta({ content }));
const ended = (reason = "stop", choice: Body = {}, head: Body = {}): Body =>
  delta({}, { finish_reason: reason, ...choice }, head);
const counted = chunk([], { usage });
const begun = (index: number, id: string, name: string): Body => ({
  index,
  id,
  type: "function",
  function: { name, arguments: "" },
});
const piece = (index: number, input: string): Body => ({ index, function: { arguments: input } });
const pieces = (index: number): readonly Body[] =>
  ['{"', "city", '":"', "Paris", '"}'].map((input) => delta({ tool_calls: [piece(index, input)] }));
const calls = (index: number, name: string): readonly Body[] => [
  delta({ tool_calls: [begun(index, `c${index}`, name)] }),
  ...pieces(index),
];

/** Streamed answers, without the sentinel. */
export const streams: Readonly<Record<string, Ordinary<readonly Body[]>>> = {
  "a text": { answer: [delta(first), ...text, ended(), counted] },
  "one call": {
    asked: { tools },
    answer: [
      delta({ ...first, content: null, tool_calls: [begun(0, "c1", "look")] }),
      ...pieces(0),
      ended("tool_calls"),
      counted,
    ],
  },
  "a call behind a text": {
    asked: { tools },
    answer: [delta(first), ...text, ...calls(0, "look"), ended("tool_calls"), counted],
  },
  "several calls": {
    asked: { tools },
    answer: [
      delta({ ...first, content: null }),
      ...["look", "find", "look"].flatMap((name, at) => calls(at, name)),
      ended("tool_calls"),
      counted,
    ],
  },
  "a call without arguments": {
    asked: { tools },
    answer: [
      delta({ ...first, content: null, tool_calls: [begun(0, "c1", "look")] }),
      delta({ tool_calls: [piece(0, "{}")] }),
      ended("tool_calls"),
      counted,
    ],
  },
  "a custom call": {
    asked: custom,
    answer: [
      delta({
        ...first,
        content: null,
        tool_calls: [{ index: 0, id: "c1", type: "custom", custom: { name: "patch", input: "" } }],
      }),
      ...["*** ", "{", " Begin"].map((input) =>
        delta({ tool_calls: [{ index: 0, custom: { input } }] }),
      ),
      ended("tool_calls"),
      counted,
    ],
  },
  "a refusal": {
    answer: [delta(first), ...words.map((refusal) => delta({ refusal })), ended(), counted],
  },
  "a text that was cut": { answer: [delta(first), ...text, ended("length"), counted] },
  "a text that was filtered": {
    answer: [delta(first), ...text, ended("content_filter"), counted],
  },
  logprobs: {
    asked: { logprobs: true },
    answer: [
      delta(first, { logprobs: { content: [], refusal: null } }),
      ...words.map((content) => delta({ content }, { logprobs: { content: said, refusal: null } })),
      ended(),
      counted,
    ],
  },
  "several answers": {
    asked: { n: 2 },
    answer: [
      delta(first, { index: 0 }),
      delta(first, { index: 1 }),
      ...words.flatMap((content) => [0, 1].map((index) => delta({ content }, { index }))),
      ended("stop", { index: 0 }),
      ended("stop", { index: 1 }),
      counted,
    ],
  },
  "what Azure adds": {
    answer: [
      delta(first, { content_filter_results: {} }),
      ...words.map((content) => delta({ content }, { content_filter_results: filtered })),
      ended("stop", { content_filter_results: {} }),
      counted,
    ],
  },
  "what Groq adds": {
    asked: { tools },
    answer: [
      delta({ role: "assistant", content: null }, {}, { x_groq: { id: "req_1", seed: 1 } }),
      ...words.map((reasoning) => delta({ reasoning, channel: "analysis" })),
      delta({ tool_calls: [{ index: 0, ...call("c1", "look") }] }),
      ended("tool_calls", {}, { x_groq: { id: "req_1" } }),
      chunk([], { usage: { ...usage, ...spent } }),
    ],
  },
  "what DeepSeek adds": {
    answer: [
      delta({ role: "assistant", content: null, reasoning_content: "" }),
      ...words.map((thought) => delta({ content: null, reasoning_content: thought })),
      ...words.map((content) => delta({ content, reasoning_content: null })),
      delta(
        { content: "", reasoning_content: null },
        { finish_reason: "stop" },
        { usage: { ...usage, prompt_cache_hit_tokens: 0, prompt_cache_miss_tokens: 19 } },
      ),
    ],
  },
  "what vLLM adds": {
    asked: { tools },
    answer: [
      delta({ role: "assistant", content: "" }, {}, { prompt_token_ids: null }),
      ...words.map((thought) => delta({ reasoning_content: thought }, { token_ids: null })),
      delta({ tool_calls: [{ id: "c1", type: "function", index: 0, function: { name: "look" } }] }),
      ...pieces(0),
      delta({ content: "" }, { finish_reason: "tool_calls", stop_reason: null, token_ids: null }),
      counted,
    ],
  },
};
