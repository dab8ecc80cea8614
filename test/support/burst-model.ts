import { chunk, named, type FakeCall } from "./fake-model.ts";
import {
  done,
  frame,
  json,
  sse,
  type Answer,
  type Body,
  type ReceivedRequest,
} from "./fake-upstream.ts";

/** What a model does next: makes a call, says something, or waits until nobody listens any more. */
export type Part = { readonly call: FakeCall } | { readonly text: string } | "wait";

const counts = { input: 11, output: 7, total: 18 };

/** Plays a burst in the chat dialect: all of a call, or of a text, in one piece. */
export function burstInChat({ body, closed }: ReceivedRequest, parts: readonly Part[]): Answer {
  const usage = {
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    total_tokens: counts.total,
  };
  const finish = parts.some(isCall) ? "tool_calls" : "stop";
  if (body["stream"] !== true) return json(wholeChat(parts, finish, usage));
  let index = 0;
  const steps = parts.map((part) => {
    if (part === "wait") return closed;
    if ("text" in part) return chunk(0, { content: part.text });
    return chunk(0, { tool_calls: [{ index: index++, ...chatCall(part.call) }] });
  });
  const last = chunk(0, {}, finish);
  const { choices: _, ...head } = JSON.parse(last.slice("data: ".length)) as Body;
  return sse(
    chunk(0, { role: "assistant", content: null }),
    ...steps,
    last,
    frame({ ...head, choices: [], usage }),
    done,
  );
}

const isCall = (part: Part): part is { readonly call: FakeCall } =>
  part !== "wait" && "call" in part;

const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part !== "wait" && "text" in part ? part.text : "")).join("");

const chatCall = ({ id, name, arguments: input }: FakeCall): Body => ({
  id,
  type: "function",
  function: { name, arguments: input },
});

const wholeChat = (parts: readonly Part[], finish_reason: string, usage: Body): Body => ({
  id: "chatcmpl-fake",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "fake-1",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: textOf(parts) || null,
        tool_calls: parts.filter(isCall).map(({ call }) => chatCall(call)),
      },
      finish_reason,
    },
  ],
  usage,
});

/** Plays it in the Responses dialect, of which Codex is a client too. */
export function burstInResponses(
  { body, closed }: ReceivedRequest,
  parts: readonly Part[],
): Answer {
  const items = parts.map((part, at) => (part === "wait" ? part : itemOf(part, at)));
  const output = items.filter((item) => item !== "wait");
  const response = {
    id: "resp_fake",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    model: "fake-1",
    output,
    usage: {
      input_tokens: counts.input,
      output_tokens: counts.output,
      total_tokens: counts.total,
    },
  };
  if (body["stream"] !== true) return json(response);
  let sequence = 0;
  const say = (type: string, fields: Body): string =>
    named({ type, sequence_number: sequence++, ...fields } as { type: string });
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  return sse(
    say("response.created", { response: begun }),
    ...items.map((item) =>
      item === "wait" ? closed : itemEvents(item, output.indexOf(item), say),
    ),
    say("response.completed", { response }),
  );
}

function itemOf(part: Exclude<Part, "wait">, at: number): Body {
  if ("text" in part)
    return {
      type: "message",
      id: `msg_${at}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: part.text, annotations: [] }],
    };
  const { id, name, arguments: input } = part.call;
  return {
    type: "function_call",
    id: `fc_${at}`,
    call_id: id,
    name,
    arguments: input,
    status: "completed",
  };
}

function itemEvents(
  item: Body,
  output_index: number,
  say: (type: string, fields: Body) => string,
): string {
  const at = { output_index, item_id: item["id"] as string };
  const whole = (rest: Body): Body => ({ ...item, status: "in_progress", ...rest });
  if (item["type"] === "function_call") {
    const delta = item["arguments"] as string;
    return [
      say("response.output_item.added", { output_index, item: whole({ arguments: "" }) }),
      say("response.function_call_arguments.delta", { ...at, delta }),
      say("response.function_call_arguments.done", { ...at, arguments: delta }),
      say("response.output_item.done", { output_index, item }),
    ].join("");
  }
  const [part] = item["content"] as [Body];
  const within = { ...at, content_index: 0 };
  const { text } = part as { text: string };
  return [
    say("response.output_item.added", { output_index, item: whole({ content: [] }) }),
    say("response.content_part.added", { ...within, part: { ...part, text: "" } }),
    say("response.output_text.delta", { ...within, delta: text }),
    say("response.output_text.done", { ...within, text }),
    say("response.content_part.done", { ...within, part }),
    say("response.output_item.done", { output_index, item }),
  ].join("");
}
