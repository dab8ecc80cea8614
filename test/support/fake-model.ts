import { done, frame, json, sse, type Answer, type Body } from "./fake-upstream.ts";

/** What a fake model says in one choice, in no dialect. */
export type FakeAnswer = {
  readonly text?: string;
  readonly refusal?: string;
  readonly reasoning?: string;
  readonly calls?: readonly FakeCall[];
  readonly stop?: "length";
};
export type FakeCall = { readonly id: string; readonly name: string; readonly arguments: string };

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const HEAD = { id: "chatcmpl-fake", created: 1_700_000_000, model: "fake-1" };

/** Says it in the chat dialect, streamed or whole as asked. */
export function answerInChat(asked: Body, ...says: readonly FakeAnswer[]): Answer {
  if (asked["stream"] !== true)
    return json({
      ...HEAD,
      object: "chat.completion",
      choices: says.map((say, index) => ({
        index,
        message: {
          role: "assistant",
          content: say.text ?? null,
          refusal: say.refusal ?? null,
          ...(say.calls && { tool_calls: say.calls.map(chatCall) }),
        },
        finish_reason: finishOf(say),
      })),
      usage,
    });
  const counts = asked["stream_options"]?.include_usage === true;
  return sse(
    ...says.flatMap((say, index) => chatDeltas(say).map((delta) => chunk(index, delta))),
    ...says.map((say, index) => chunk(index, {}, finishOf(say))),
    ...(counts ? [frame({ ...HEAD, object: "chat.completion.chunk", choices: [], usage })] : []),
    done,
  );
}

export const chunk = (index: number, delta: unknown, finish: string | null = null): string =>
  frame({
    ...HEAD,
    object: "chat.completion.chunk",
    choices: [{ index, delta, finish_reason: finish }],
  });

const finishOf = (say: FakeAnswer): string => say.stop ?? (say.calls ? "tool_calls" : "stop");

const chatCall = ({ id, name, arguments: input }: FakeCall): unknown => ({
  id,
  type: "function",
  function: { name, arguments: input },
});

function chatDeltas({ text, refusal, reasoning, calls = [] }: FakeAnswer): unknown[] {
  const entries = calls.flatMap(({ id, name, arguments: input }, index) => [
    { index, id, type: "function", function: { name, arguments: "" } },
    ...slices(input).map((piece) => ({ index, function: { arguments: piece } })),
  ]);
  return [
    { role: "assistant", content: calls.length > 0 ? null : "" },
    ...slices(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...slices(text).map((piece) => ({ content: piece })),
    ...slices(refusal).map((piece) => ({ refusal: piece })),
    ...entries.map((entry) => ({ tool_calls: [entry] })),
  ];
}

/** Says it in the Responses dialect, streamed or whole as asked. */
export function answerInResponses(asked: Body, say: FakeAnswer): Answer {
  const output = responsesOutput(say);
  const incomplete = say.stop === "length";
  const response = {
    id: "resp_fake",
    object: "response",
    created_at: 1_700_000_000,
    completed_at: incomplete ? null : 1_700_000_001,
    status: incomplete ? "incomplete" : "completed",
    incomplete_details: incomplete ? { reason: "max_output_tokens" } : null,
    error: null,
    model: "fake-1",
    output,
    usage: {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
    },
    ...ECHO,
    tools: ((asked["tools"] ?? []) as Body[]).map((tool) =>
      Object.assign({ description: null, strict: false }, tool),
    ),
  };
  if (asked["stream"] !== true) return json(response);
  const early = { ...response, status: "in_progress", output: [], usage: null, completed_at: null };
  const events = [
    { type: "response.created", response: early },
    { type: "response.in_progress", response: early },
    ...output.flatMap(itemEvents),
    { type: `response.${response.status}`, response },
  ];
  return sse(...events.map((event, at) => named(numbered(event, at))));
}

const ECHO = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: "default",
  store: false,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
};

const numbered = <Event extends object>(
  event: Event,
  sequence_number: number,
): Event & { sequence_number: number } => Object.assign(event, { sequence_number });

export const named = (event: { readonly type: string }): string =>
  `event: ${event.type}\n${frame(event)}`;

type OutputItem = Body & { type: string; id: string };

function responsesOutput(say: FakeAnswer): OutputItem[] {
  const status = say.stop === "length" ? "incomplete" : "completed";
  const part =
    say.refusal === undefined
      ? { type: "output_text", text: say.text ?? "", annotations: [], logprobs: [] }
      : { type: "refusal", refusal: say.refusal };
  const message = { type: "message", id: "msg_fake", role: "assistant", status, content: [part] };
  const calls = (say.calls ?? []).map((call) => ({
    type: "function_call",
    id: `fc_${call.id}`,
    call_id: call.id,
    name: call.name,
    arguments: call.arguments,
    status: "completed",
  }));
  return say.text === undefined && say.refusal === undefined ? calls : [message, ...calls];
}

type OutputEvent = { readonly type: string };
const event = (type: string, ...fields: object[]): OutputEvent =>
  Object.assign({ type: `response.${type}` }, ...fields) as OutputEvent;

function itemEvents(item: OutputItem, output_index: number): OutputEvent[] {
  const at = { output_index, item_id: item.id };
  const opened = item.type === "message" ? { content: [] } : { arguments: "" };
  const added = { ...item, ...opened, status: "in_progress" };
  return [
    event("output_item.added", { output_index, item: added }),
    ...(item.type === "message" ? partEvents(item, at) : argumentEvents(item, at)),
    event("output_item.done", { output_index, item }),
  ];
}

function partEvents(item: OutputItem, at: object): OutputEvent[] {
  const [part] = item["content"] as [Body];
  const of = part["type"] as "refusal" | "output_text";
  const key = of === "refusal" ? "refusal" : "text";
  const where = { ...at, content_index: 0 };
  const logprobs = of === "refusal" ? {} : { logprobs: [] };
  const text = part[key] as string;
  return [
    event("content_part.added", where, { part: { ...part, [key]: "" } }),
    ...slices(text).map((delta) => event(`${of}.delta`, where, { delta }, logprobs)),
    event(`${of}.done`, where, { [key]: text }, logprobs),
    event("content_part.done", where, { part }),
  ];
}

function argumentEvents(item: OutputItem, at: object): OutputEvent[] {
  const { name, arguments: input } = item as unknown as FakeCall;
  return [
    ...slices(input).map((delta) => event("function_call_arguments.delta", at, { delta })),
    event("function_call_arguments.done", at, { name, arguments: input }),
  ];
}

export const slices = (text = "", size = 4): string[] =>
  text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];

/** The two calls that `toolLoop` makes at once. */
export const wantedCalls = [
  { id: "call_weather", name: "get_weather", arguments: '{"city":"Paris","unit":"°C"}' },
  { id: "call_time", name: "get_time", arguments: '{"city":"Tokyo"}' },
] as const satisfies readonly FakeCall[];

/** Calls two tools at once, then tells what they said. */
export function toolLoop(results: ReadonlyMap<string, string>): FakeAnswer {
  if (results.size === 0) return { calls: wantedCalls };
  const told = wantedCalls.map(({ id, name }) => `${name} said ${results.get(id) ?? "nothing"}`);
  return { text: `${told.join(", ")}.` };
}

export const chatResults = (body: Body): Map<string, string> =>
  new Map(
    (body["messages"] as Body[])
      .filter((message) => message["role"] === "tool")
      .map((message) => [message["tool_call_id"] as string, contentText(message["content"])]),
  );

export const responsesResults = (body: Body): Map<string, string> =>
  new Map(
    (body["input"] as Body[])
      .filter((item) => item["type"] === "function_call_output")
      .map((item) => [item["call_id"] as string, contentText(item["output"])]),
  );

export const contentText = (content: string | readonly Body[]): string =>
  typeof content === "string" ? content : content.map((part) => part["text"] as string).join("");
