import { contentText, named, slices, type FakeAnswer } from "./fake-model.ts";
import { json, sse, type Answer, type Body } from "./fake-upstream.ts";

const usage = { input_tokens: 11, output_tokens: 7 };

/** Says it in the Messages dialect, streamed or whole as asked. */
export function answerInMessages(asked: Body, say: FakeAnswer): Answer {
  const stop = say.stop === "length" ? "max_tokens" : say.calls ? "tool_use" : "end_turn";
  return answerWithBlocks(asked, blocksOf(say), stop);
}

/** The same for content blocks as they stand in a whole answer. */
export function answerWithBlocks(
  asked: Body,
  content: readonly Body[],
  stop_reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
): Answer {
  const message = {
    id: "msg_fake",
    type: "message",
    role: "assistant",
    model: "fake-1",
    content,
    stop_reason,
    stop_sequence: null,
    usage,
  };
  if (asked["stream"] !== true) return json(message);
  const early = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return sse(
    named(event("message_start", { message: early })),
    ...content.flatMap(blockEvents).map(named),
    named(event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage })),
    named({ type: "message_stop" }),
  );
}

function blocksOf({ text, refusal, reasoning, calls = [] }: FakeAnswer): Body[] {
  const said = text ?? refusal;
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: reasoning, signature: "sig" }]),
    ...(said === undefined ? [] : [{ type: "text", text: said }]),
    ...calls.map(({ id, name, arguments: input }) => ({
      type: "tool_use",
      id,
      name,
      input: JSON.parse(input) as unknown,
    })),
  ];
}

type BlockEvent = Body & { readonly type: string };

const event = (type: string, fields: Body): BlockEvent => ({ type, ...fields });

function blockEvents(block: Body, index: number): BlockEvent[] {
  const empty = { text: "", thinking: "", signature: "", input: {} };
  const opened = Object.fromEntries(
    Object.entries(block).map(([key, value]) => [key, ownOf(empty, key) ?? (value as unknown)]),
  );
  const delta = (more: object): BlockEvent => ({ type: "content_block_delta", index, delta: more });
  return [
    { type: "content_block_start", index, content_block: opened },
    ...slices(block["text"]).map((text) => delta({ type: "text_delta", text })),
    ...slices(block["thinking"]).map((thinking) => delta({ type: "thinking_delta", thinking })),
    ...(block["signature"] === undefined
      ? []
      : [delta({ type: "signature_delta", signature: block["signature"] as string })]),
    ...slices(block["input"] && JSON.stringify(block["input"])).map((partial_json) =>
      delta({ type: "input_json_delta", partial_json }),
    ),
    { type: "content_block_stop", index },
  ];
}

const ownOf = (fields: Body, key: string): unknown =>
  Object.hasOwn(fields, key) ? (fields[key] as unknown) : undefined;

/** The results of a request, by the call they answer. */
export const messagesResults = (body: Body): Map<string, string> =>
  new Map(
    (body["messages"] as Body[])
      .flatMap(({ content }) => (Array.isArray(content) ? (content as Body[]) : []))
      .filter((block) => block["type"] === "tool_result")
      .map((block) => [block["tool_use_id"] as string, contentText(block["content"])]),
  );
