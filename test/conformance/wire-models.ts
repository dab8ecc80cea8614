import { done, frame, type Body } from "../support/fake-upstream.ts";
import { failure, httpBackend, type Backend, type Choice, type WireModel } from "./backend.ts";
import { stopOf, type Heard, type Offered, type UpstreamCall } from "./heard.ts";
import { geminiWire } from "./gemini-upstream.ts";
import { messagesWire } from "./messages.ts";
import { COUNTS } from "./scenario.ts";

const pieces = (text = ""): string[] => text.match(/[^]{1,5}/g) ?? [];

const chatStops = { end: "stop", calls: "tool_calls", length: "length", filter: "content_filter" };
const chatCounts = {
  prompt_tokens: COUNTS.input,
  completion_tokens: COUNTS.output,
  total_tokens: COUNTS.input + COUNTS.output,
};

const chatCall = ({ id, name, input }: UpstreamCall): Body => ({
  id,
  type: "function",
  function: { name, arguments: input },
});

const chatChunk = (index: number, delta: Body, finish_reason: string | null = null): string =>
  frame({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index, delta, finish_reason }],
  });

const chatDeltas = ({ reasoning, text, called }: Choice): Body[] => [
  { role: "assistant" },
  ...pieces(reasoning).map((piece) => ({ reasoning_content: piece })),
  ...pieces(text).map((content) => ({ content })),
  ...called.flatMap((call, index) => [
    { tool_calls: [{ index, ...chatCall({ ...call, input: "" }) }] },
    ...pieces(call.input).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]),
];

function chatChoice(choice: unknown): Heard["choice"] {
  if (choice === "none" || choice === "required") return choice;
  return typeof choice === "object" ? { name: (choice as Body)["function"].name } : "auto";
}

const chat: WireModel = {
  dialect: "chat",
  can: ["choices"],
  heard: ({ body }) => ({
    model: body["model"],
    stream: body["stream"] === true,
    tools: ((body["tools"] ?? []) as Body[]).map(({ function: { name, parameters } }): Offered => ({
      kind: "function",
      name,
      schema: parameters,
    })),
    choice: chatChoice(body["tool_choice"]),
    schema: body["response_format"]?.json_schema?.schema as Body,
  }),
  whole: (choices) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.text ?? null,
        reasoning_content: choice.reasoning,
        ...(choice.called.length > 0 && { tool_calls: choice.called.map(chatCall) }),
      },
      finish_reason: chatStops[stopOf(choice)],
    })),
    usage: chatCounts,
  }),
  stream: (choices) => [
    ...choices.flatMap((choice, index) => [
      ...chatDeltas(choice).map((delta) => chatChunk(index, delta)),
      chatChunk(index, {}, chatStops[stopOf(choice)]),
    ]),
    frame({ id: "chatcmpl-1", choices: [], usage: chatCounts }),
    done,
  ],
  begin: (text) => [chatChunk(0, { role: "assistant", content: text })],
  error: { body: { error: failure }, frames: [frame({ error: failure })] },
};

const responsesCounts = {
  input_tokens: COUNTS.input,
  output_tokens: COUNTS.output,
  total_tokens: COUNTS.input + COUNTS.output,
};

const message = (text: string): Body => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

const responsesCall = ({ id, kind, name, namespace, input }: UpstreamCall): Body => ({
  type: kind === "custom" ? "custom_tool_call" : "function_call",
  id: `fc_${id}`,
  call_id: id,
  name,
  ...(namespace !== undefined && { namespace }),
  [kind === "custom" ? "input" : "arguments"]: input,
  status: "completed",
});

const outputOf = ({ reasoning, text, called }: Choice): Body[] => [
  ...(reasoning === undefined
    ? []
    : [{ type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: reasoning }] }]),
  ...(text === undefined ? [] : [message(text)]),
  ...called.map(responsesCall),
];

function responseOf(choice: Choice): Body {
  const stop = stopOf(choice);
  const reason = { length: "max_output_tokens", filter: "content_filter", end: "", calls: "" }[
    stop
  ];
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: reason === "" ? "completed" : "incomplete",
    incomplete_details: reason === "" ? null : { reason },
    output: outputOf(choice),
    usage: responsesCounts,
  };
}

const event = (type: string, fields: Body): string =>
  `event: response.${type}\n${frame({ type: `response.${type}`, ...fields })}`;
const created = event("created", { response: { id: "resp_1", status: "in_progress", output: [] } });

function itemEvents(item: Body, output_index: number): string[] {
  const at = { output_index, item_id: item["id"] as string };
  const { content: [part] = [], ...bare } = item as { content?: [Body?] };
  const opened = part === undefined ? item : { ...bare, content: [], status: "in_progress" };
  return [
    event("output_item.added", { output_index, item: opened }),
    ...pieces(part?.["text"] as string | undefined).map((delta) =>
      event("output_text.delta", { ...at, content_index: 0, delta }),
    ),
    event("output_item.done", { output_index, item }),
  ];
}

function responsesChoice(choice: unknown): Heard["choice"] {
  if (choice === "none" || choice === "required") return choice;
  return typeof choice === "object" ? { name: (choice as Body)["name"] } : "auto";
}

function offeredIn(tool: Body, namespace?: string): Offered[] {
  const { type, name, tools, parameters } = tool as Body & { type: string; name: string };
  if (type === "namespace") return (tools as Body[]).flatMap((inner) => offeredIn(inner, name));
  return [{ kind: type === "custom" ? "custom" : "function", name, namespace, schema: parameters }];
}

const responses: WireModel = {
  dialect: "responses",
  can: [],
  heard: ({ body }) => ({
    model: body["model"],
    stream: body["stream"] === true,
    tools: ((body["tools"] ?? []) as Body[]).flatMap((tool) => offeredIn(tool)),
    choice: responsesChoice(body["tool_choice"]),
    schema: body["text"]?.format?.schema as Body,
  }),
  whole: ([choice]) => choice && responseOf(choice),
  stream: ([choice]) => {
    if (choice === undefined) return [];
    const response = responseOf(choice);
    const output = response["output"] as Body[];
    return [
      created,
      ...output.flatMap(itemEvents),
      event(response["status"] as string, { response }),
    ];
  },
  begin: (text) => [created, ...itemEvents(message(text), 0).slice(0, -1)],
  error: {
    body: { error: failure },
    frames: [event("failed", { response: { id: "resp_1", status: "failed", error: failure } })],
  },
};

export const httpBackends: readonly Backend[] = [chat, responses, messagesWire, geminiWire].map(
  httpBackend,
);
