import { type Answer, burst, drip, httpChunk, wholeOf } from "./answers.ts";
import type { Scenario } from "./scenarios.ts";

const usage = { input_tokens: 400, output_tokens: 100 };

/** The answer of a scenario's model in the Messages dialect, made before the first request. */
export function messagesAnswerOf({ id: model, reply, pace }: Scenario): Answer {
  const said = reply.fragments.join("");
  const head = { id: "msg_bench", type: "message", role: "assistant", model, stop_sequence: null };
  const stop_reason = reply.type === "call" ? "tool_use" : "end_turn";
  const opened =
    reply.type === "call"
      ? { type: "tool_use", id: "toolu_bench", name: reply.name, input: {} }
      : { type: "text", text: "" };
  const delta = (text: string) =>
    reply.type === "call"
      ? { type: "input_json_delta", partial_json: text }
      : { type: "text_delta", text };
  const start = { ...head, content: [], stop_reason: null, usage };
  const events = [
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: opened },
    ...reply.fragments.map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: delta(text),
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  const pieces = events.map((event) =>
    httpChunk(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  );
  const stream = pace === "drip" ? drip(pieces) : burst(pieces);
  const block =
    reply.type === "call"
      ? { ...opened, input: JSON.parse(said) as unknown }
      : { type: "text", text: said };
  const body = JSON.stringify({ ...head, content: [block], stop_reason, usage });
  return { whole: wholeOf(body), stream, counted: stream };
}
