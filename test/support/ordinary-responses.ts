import type { Body } from "./fake-upstream.ts";
import type { Ordinary } from "./ordinary-chat.ts";

const parameters = { type: "object", properties: {}, additionalProperties: false };
const functions = ["look", "find"].map((name) => ({
  type: "function",
  name,
  description: null,
  parameters,
  strict: true,
}));
const custom = { type: "custom", name: "patch", description: "", format: { type: "text" } };

/** A response object as the API shows it at any moment. */
const response = (tools: readonly Body[], more: Body): Body => ({
  id: "resp_1",
  object: "response",
  created_at: 1_760_000_000,
  status: "completed",
  background: false,
  billing: { payer: "developer" },
  completed_at: 1_760_000_001,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: "gpt-5.5-2026-04-01",
  output: [],
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  prompt_cache_retention: null,
  reasoning: { effort: "medium", summary: "detailed" },
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  text: { format: { type: "text" }, verbosity: "medium" },
  tool_choice: "auto",
  tools,
  top_logprobs: 0,
  top_p: 0.98,
  truncation: "disabled",
  usage: {
    input_tokens: 36,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 87,
    output_tokens_details: { reasoning_tokens: 64 },
    total_tokens: 123,
  },
  user: null,
  metadata: {},
  ...more,
});

const said = [{ token: "Hi", logprob: -0.1, bytes: [72, 105], top_logprobs: [] }];
const message = (part: Body, more: Body = {}): Body => ({
  id: "msg_1",
  type: "message",
  status: "completed",
  content: [part],
  role: "assistant",
  ...more,
});
const text = (more: Body = {}): Body => ({
  type: "output_text",
  annotations: [],
  logprobs: [],
  text: "Hello there.",
  ...more,
});
const called = (id: string, name: string, input = '{"city":"Paris"}'): Body => ({
  id: `fc_${id}`,
  type: "function_call",
  status: "completed",
  arguments: input,
  call_id: `call_${id}`,
  name,
});
const patch = {
  id: "ctc_1",
  type: "custom_tool_call",
  status: "completed",
  call_id: "call_1",
  input: "*** Begin { Patch",
  name: "patch",
};
const thought = (more: Body = {}): Body => ({
  id: "rs_1",
  type: "reasoning",
  summary: [],
  ...more,
});
const summary = [
  { type: "summary_text", text: "First this." },
  { type: "summary_text", text: "Then that." },
];
const cited = {
  type: "url_citation",
  start_index: 0,
  end_index: 5,
  title: "A",
  url: "https://a.example",
};

/** What a model may say, as the items of its answer. */
const outputs: Readonly<Record<string, readonly Body[]>> = {
  "a text": [message(text())],
  "a text with its phase": [message(text(), { phase: "final_answer" })],
  "one call": [called("1", "look")],
  "a call without arguments": [called("1", "look", "{}")],
  "several calls": [called("1", "look"), called("2", "find"), called("3", "look")],
  "a call behind a text": [message(text()), called("1", "look")],
  "a custom call": [patch],
  "reasoning, sealed": [thought({ encrypted_content: "gAAAA" }), message(text())],
  "reasoning, summed up": [thought({ summary }), called("1", "look")],
  "reasoning in words": [
    thought({ content: [{ type: "reasoning_text", text: "Hm, so it is." }] }),
    message(text()),
  ],
  "a refusal": [message({ type: "refusal", refusal: "I cannot do that." })],
  logprobs: [message(text({ logprobs: said }))],
  citations: [message(text({ annotations: [cited] }))],
  "a search": [
    {
      id: "ws_1",
      type: "web_search_call",
      status: "completed",
      action: { type: "search", query: "a", queries: ["a"] },
    },
    message(text({ annotations: [cited] })),
  ],
};

/** What the API calls the events about each type of part, and where such a part has its text. */
const partWords: Readonly<Record<string, { of: string; around: string; key: string }>> = {
  output_text: { of: "output_text", around: "content_part", key: "text" },
  refusal: { of: "refusal", around: "content_part", key: "refusal" },
  reasoning_text: { of: "reasoning_text", around: "content_part", key: "text" },
  summary_text: { of: "reasoning_summary_text", around: "reasoning_summary_part", key: "text" },
};

const toolsFor = (output: readonly Body[]): readonly Body[] => {
  if (output.some(({ type }) => type === "custom_tool_call")) return [custom];
  if (output.some(({ type }) => type === "web_search_call")) return [{ type: "web_search" }];
  return output.some(({ type }) => type === "function_call") ? functions : [];
};

const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
const cutMessage = message(text(), { status: "incomplete" });

const mapped = <Answer>(
  answerOf: (output: readonly Body[], tools: readonly Body[]) => Answer,
): Record<string, Ordinary<Answer>> =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, output]) => {
      const tools = toolsFor(output);
      return [name, { asked: tools.length > 0 ? { tools } : {}, answer: answerOf(output, tools) }];
    }),
  );

/** Whole answers. */
export const bodies: Readonly<Record<string, Ordinary<Body>>> = {
  ...mapped((output, tools) => response(tools, { output })),
  "a text that was cut": { answer: response([], { ...cut, output: [cutMessage] }) },
};

/** Streamed answers, without the sentinel. */
export const streams: Readonly<Record<string, Ordinary<readonly Body[]>>> = {
  ...mapped((output, tools) => streamed(output, tools)),
  "a text that was cut": { answer: streamed([cutMessage], [], cut) },
};

function event(type: string, ...fields: Body[]): Body {
  return Object.assign({ type: `response.${type}` }, ...fields) as Body;
}

function streamed(output: readonly Body[], tools: readonly Body[], more: Body = {}): Body[] {
  const early = response(tools, { status: "in_progress", completed_at: null, usage: null });
  const last = response(tools, { output, ...more });
  const events = [
    event("created", { response: early }),
    event("in_progress", { response: early }),
    ...output.flatMap(eventsOf),
    event(last["status"] as string, { response: last }),
  ];
  return events.map((one, sequence_number) => Object.assign(one, { sequence_number }));
}

function eventsOf(item: Body, output_index: number): Body[] {
  const at = { item_id: item["id"] as string, output_index };
  const { first, between } = told(item, at);
  return [
    event("output_item.added", { output_index, item: { ...item, ...first } }),
    ...between,
    event("output_item.done", { output_index, item }),
  ];
}

type Told = { readonly first: Body; readonly between: readonly Body[] };

/** How an item is announced, and what is told of it until it is done. */
function told(item: Body, at: Body): Told {
  const started = { status: "in_progress" };
  switch (item["type"]) {
    case "message":
      return {
        first: { ...started, content: [] },
        between: (item["content"] as Body[]).flatMap((part, content_index) =>
          partEvents(part, { ...at, content_index }),
        ),
      };
    case "reasoning":
      return {
        first: { summary: [], ...("content" in item && { content: [] }) },
        between: [
          ...(item["summary"] as Body[]).flatMap((part, summary_index) =>
            partEvents(part, { ...at, summary_index }),
          ),
          ...((item["content"] ?? []) as Body[]).flatMap((part, content_index) =>
            partEvents(part, { ...at, content_index }),
          ),
        ],
      };
    case "function_call":
      return {
        first: { ...started, arguments: "" },
        between: inputEvents("function_call_arguments", "arguments", item, at),
      };
    case "custom_tool_call":
      return {
        first: { ...started, input: "" },
        between: inputEvents("custom_tool_call_input", "input", item, at),
      };
    default:
      return {
        first: started,
        between: ["in_progress", "searching", "completed"].map((moment) =>
          event(`${item["type"]}.${moment}`, at),
        ),
      };
  }
}

function inputEvents(kind: string, key: string, item: Body, at: Body): Body[] {
  const input = item[key] as string;
  return [...deltas(`${kind}.delta`, input, at), event(`${kind}.done`, at, { [key]: input })];
}

function partEvents(part: Body, at: Body): Body[] {
  const { of, around, key } = partWords[part["type"] as string] ?? { of: "", around: "", key: "" };
  const words = part[key] as string;
  const isText = part["type"] === "output_text";
  const empty = isText ? { annotations: [], logprobs: [] } : {};
  const logprobs = isText ? { logprobs: part["logprobs"] as Body } : {};
  const notes = (part["annotations"] ?? []) as Body[];
  return [
    event(`${around}.added`, at, { part: { ...part, ...empty, [key]: "" } }),
    ...deltas(`${of}.delta`, words, { ...at, ...logprobs }),
    ...notes.map((annotation, annotation_index) =>
      event("output_text.annotation.added", at, { annotation_index, annotation }),
    ),
    event(`${of}.done`, at, { [key]: words }, logprobs),
    event(`${around}.done`, at, { part }),
  ];
}

function deltas(type: string, words: string, at: Body): Body[] {
  const pieces = words.match(/.{1,4}/g) ?? [];
  return pieces.map((delta) => event(type, at, { delta, obfuscation: "xYz" }));
}
