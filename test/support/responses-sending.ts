import { readEvents } from "../../src/dialects/responses/read-events.ts";
import { StreamNormalizer } from "../../src/stream/normalize.ts";
import { fold, type Answer } from "../../src/stream/fold.ts";
import { runStage } from "../../src/stream/stage.ts";
import type { Frame, TurnEvent } from "../../src/turn/event.ts";
import type { Fault } from "../../src/turn/fault.ts";
import type { UpstreamName } from "../../src/turn/names.ts";
import type { Fields, Item } from "../../src/turn/turn.ts";

export type Event = TurnEvent<UpstreamName>;
export type Sent = Fields | string;

/** What a reader says of frames; those without a number get the next one. */
export function read(...sent: Sent[]): Event[] {
  let ids = 0;
  const reader = readEvents({ newId: (prefix) => `${prefix}_new${++ids}`, frames: true });
  const events: Event[] = [];
  for (const [at, frame] of sent.entries()) {
    const data =
      typeof frame === "string" ? frame : JSON.stringify({ sequence_number: at, ...frame });
    reader.frame(data, undefined, false, (event) => events.push(event));
  }
  reader.end?.((event) => events.push(event));
  return events;
}

export function readWhole(body: unknown, frames = true): Event[] {
  const reader = readEvents({ newId: (prefix) => `${prefix}_new`, frames });
  const events: Event[] = [];
  const text = typeof body === "string" ? body : JSON.stringify(body);
  reader.whole(text, (event) => events.push(event));
  return events;
}

export const answerOf = (events: readonly Event[]): Answer<UpstreamName> =>
  fold(runStage(new StreamNormalizer<UpstreamName>(), events));
export const itemsOf = (...sent: Sent[]): readonly Item<UpstreamName>[] | undefined =>
  answerOf(read(...sent)).choices[0]?.items;
export const framesOf = (events: readonly Event[]): Frame[] =>
  events.filter((event) => event.type === "frame");
/** The places of the frames that had to be repaired. */
export const repairedAt = (...sent: Sent[]): number[] =>
  framesOf(read(...sent)).flatMap(({ forwardable }, at) => (forwardable ? [] : [at]));
export const failOf = (...sent: Sent[]): Fault | undefined => answerOf(read(...sent)).fault;

/** What a response says of the request, and of what the upstream made of it. */
export const settings: Fields = {
  previous_response_id: null,
  truncation: "disabled",
  parallel_tool_calls: true,
  text: { format: { type: "text" } },
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: null,
  max_output_tokens: null,
  max_tool_calls: null,
  store: false,
  background: false,
  service_tier: "default",
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
};
export const response = (more: Fields = {}): Fields => ({
  id: "resp_1",
  object: "response",
  created_at: 5,
  completed_at: null,
  model: "big",
  status: "in_progress",
  incomplete_details: null,
  error: null,
  instructions: null,
  tools: [],
  tool_choice: "auto",
  output: [],
  usage: null,
  ...settings,
  ...more,
});
export const created: Fields = { type: "response.created", response: response() };
export const completed = (...output: Fields[]): Fields => ({
  type: "response.completed",
  response: response({
    status: "completed",
    output,
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 1 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 5,
    },
  }),
});
export const added = (item: Fields, index = 0): Fields => ({
  type: "response.output_item.added",
  output_index: index,
  item,
});
export const done = (item: Fields, index = 0): Fields => ({
  type: "response.output_item.done",
  output_index: index,
  item,
});
export const of = (type: string, fields: Fields, item = "msg_1", index = 0): Fields => ({
  type: `response.${type}`,
  item_id: item,
  output_index: index,
  ...fields,
});

export const message = (text = "Hello", more: Fields = {}): Fields => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});
export const openMessage = message("", { status: "in_progress", content: [] });
export const part = of("content_part.added", {
  content_index: 0,
  part: { type: "output_text", text: "", annotations: [] },
});
export const delta = (text: string): Fields =>
  of("output_text.delta", { content_index: 0, delta: text });
export const textDone = (text: string): Fields =>
  of("output_text.done", { content_index: 0, text });

export const call = (args = '{"a":1}', more: Fields = {}): Fields => ({
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "look",
  arguments: args,
  status: "completed",
  ...more,
});
export const openCall = call("", { status: "in_progress" });
export const argument = (text: string): Fields =>
  of("function_call_arguments.delta", { delta: text }, "fc_1");
export const argumentsDone = (text: string): Fields =>
  of("function_call_arguments.done", { arguments: text }, "fc_1");

export const said = (text: string): object[] => [
  { type: "message", parts: [{ type: "text", text }] },
];
export const called = (input: string): object[] => [
  { type: "call", id: "call_1", kind: "function", name: "look", input, status: "completed" },
];
