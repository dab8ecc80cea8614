import { framesOf } from "../support/client-answer.ts";
import { frame, type Body } from "../support/fake-upstream.ts";
import { failure, type Choice, type WireModel } from "./backend.ts";
import { parameters, type Read, type ReadCall, type TestDoor } from "./door.ts";
import { stopOf, type Heard, type UpstreamCall } from "./heard.ts";
import { COUNTS } from "./scenario.ts";

const stops = { end: "end_turn", calls: "tool_use", length: "max_tokens", filter: "refusal" };
const stopIn = (reason: string): string =>
  Object.entries(stops).find(([, word]) => word === reason)?.[0] ?? reason;

const choiceIn = (choice: "none" | "required" | { readonly name: string }): Body => {
  if (typeof choice === "object") return { type: "tool", name: choice.name };
  return { type: choice === "required" ? "any" : choice };
};

function readMessage(message: Body): Read {
  const blocks = message["content"] as Body[];
  const calls = blocks
    .filter(({ type }) => type === "tool_use")
    .map(({ name, input }): ReadCall => ({
      kind: "function",
      name: name as string,
      input: JSON.stringify(input),
    }));
  const joined = (key: string): string =>
    blocks.map((block) => (block[key] ?? "") as string).join("");
  const { input_tokens: input, output_tokens: output } = message["usage"] as Body;
  return {
    choices: [
      {
        text: joined("text"),
        reasoning: joined("thinking"),
        calls,
        stop: stopIn(message["stop_reason"] as string),
      },
    ],
    usage: { input, output },
  };
}

/** Reads as the SDK does: by the name of the event, blocks by their place, one at a time. */
function readStream(text: string): Read {
  let message: Body = { content: [], usage: {}, stop_reason: "" };
  let open: Body | undefined;
  let error: string | undefined;
  let isOver = false;
  for (const { data, event: name } of framesOf(text)) {
    const event = JSON.parse(data) as Body;
    if (event["type"] !== name) throw new Error(`a frame named ${name} is a ${event["type"]}`);
    if (isOver) throw new Error("something follows the end");
    const content = message["content"] as Body[];
    switch (name) {
      case "message_start":
        message = event["message"] as Body;
        if ((message["content"] as Body[]).length > 0) throw new Error("content in the start");
        break;
      case "content_block_start":
        if (open !== undefined || event["index"] !== content.length) throw new Error("out of turn");
        open = { ...(event["content_block"] as Body), json: "" };
        content.push(open);
        break;
      case "content_block_delta":
        if (open === undefined || event["index"] !== content.length - 1) throw new Error("stray");
        grow(open, event["delta"] as Body);
        break;
      case "content_block_stop":
        if (open?.["type"] === "tool_use") open["input"] = JSON.parse(open["json"] as string);
        open = undefined;
        break;
      case "message_delta":
        Object.assign(message, event["delta"]);
        Object.assign(message["usage"], event["usage"]);
        break;
      case "message_stop":
        isOver = true;
        break;
      case "error":
        error = (event["error"] as Body)["message"] as string;
        isOver = true;
        break;
      default:
    }
  }
  if (!isOver) throw new Error("the stream has no end");
  // A call whose block was never closed is thrown away.
  const content = (message["content"] as Body[]).filter(
    (block) => block !== open || block["type"] !== "tool_use",
  );
  return { ...readMessage({ ...message, content }), ...(error !== undefined && { error }) };
}

function grow(block: Body, { type, ...piece }: Body): void {
  const [key = ""] = Object.keys(piece);
  const target = type === "input_json_delta" ? "json" : key;
  block[target] = ((block[target] ?? "") as string) + (piece[key] as string);
}

export const messagesDoor: TestDoor = {
  name: "messages",
  can: new Set(),
  request: ({ tools, choice, schema }, { model, stream }) => ({
    path: "/v1/messages",
    body: {
      model,
      stream,
      max_tokens: 1000,
      messages: [{ role: "user", content: "Go." }],
      tools: tools?.map(({ name }) => ({ name, input_schema: parameters })),
      ...(choice && { tool_choice: choiceIn(choice) }),
      ...(schema && { output_config: { format: { type: "json_schema", schema } } }),
    },
  }),
  readStream,
  readBody: (text) => readMessage(JSON.parse(text) as Body),
  readError: (text) => String((JSON.parse(text) as { error: Body }).error["message"]),
};

const counts = { input_tokens: COUNTS.input, output_tokens: COUNTS.output };

const blocksOf = ({ reasoning, text, called }: Choice): Body[] => [
  ...(reasoning === undefined
    ? []
    : [{ type: "thinking", thinking: reasoning, signature: "signed" }]),
  ...(text === undefined ? [] : [{ type: "text", text }]),
  ...called.map(({ id, name, input }: UpstreamCall) => ({
    type: "tool_use",
    id,
    name,
    input: JSON.parse(input) as unknown,
  })),
];

const messageOf = (choice: Choice): Body => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: blocksOf(choice),
  stop_reason: stops[stopOf(choice)],
  stop_sequence: null,
  usage: counts,
});

const event = (type: string, fields: Body = {}): string =>
  `event: ${type}\n${frame({ type, ...fields })}`;

const started = event("message_start", {
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: counts,
  },
});

const pieces = (text: string): string[] => text.match(/[^]{1,5}/g) ?? [];

function blockEvents(block: Body, index: number): string[] {
  const delta = (more: Body): string => event("content_block_delta", { index, delta: more });
  const { text, thinking, input } = block;
  const empty = {
    ...block,
    ...(text !== undefined && { text: "" }),
    ...(thinking !== undefined && { thinking: "", signature: "" }),
    ...(input !== undefined && { input: {} }),
  };
  return [
    event("content_block_start", { index, content_block: empty }),
    ...pieces((text ?? "") as string).map((piece) => delta({ type: "text_delta", text: piece })),
    ...pieces((thinking ?? "") as string).map((piece) =>
      delta({ type: "thinking_delta", thinking: piece }),
    ),
    ...(thinking === undefined ? [] : [delta({ type: "signature_delta", signature: "signed" })]),
    ...(input === undefined ? [] : pieces(JSON.stringify(input))).map((piece) =>
      delta({ type: "input_json_delta", partial_json: piece }),
    ),
    event("content_block_stop", { index }),
  ];
}

function heardChoice(choice: Body | undefined): Heard["choice"] {
  switch (choice?.["type"]) {
    case "any":
      return "required";
    case "none":
      return "none";
    case "tool":
      return { name: choice["name"] as string };
    default:
      return "auto";
  }
}

export const messagesWire: WireModel = {
  dialect: "messages",
  can: [],
  heard: ({ body }) => ({
    model: body["model"],
    stream: body["stream"] === true,
    tools: ((body["tools"] ?? []) as Body[]).map(({ name, input_schema }) => ({
      kind: "function",
      name: name as string,
      schema: input_schema as Body,
    })),
    choice: heardChoice(body["tool_choice"] as Body | undefined),
    schema: body["output_config"]?.format?.schema as Body,
  }),
  whole: ([choice]) => choice && messageOf(choice),
  stream: ([choice]) => {
    if (choice === undefined) return [];
    return [
      started,
      ...blocksOf(choice).flatMap(blockEvents),
      event("message_delta", {
        delta: { stop_reason: stops[stopOf(choice)], stop_sequence: null },
        usage: counts,
      }),
      event("message_stop"),
    ];
  },
  begin: (text) => [started, ...blockEvents({ type: "text", text }, 0).slice(0, -1)],
  error: { body: { type: "error", error: failure }, frames: [event("error", { error: failure })] },
};
