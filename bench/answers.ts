import type { Reply, Scenario } from "./scenarios.ts";

/** Bytes to write, some of them many times over, so that a large answer costs little memory. */
export type Part = { readonly bytes: Buffer; readonly times: number };

export type Answer = {
  readonly whole: readonly Part[];
  readonly stream: readonly Part[];
  /** The same stream for a request with `stream_options.include_usage`. */
  readonly counted: readonly Part[];
};

const usage = { prompt_tokens: 400, completion_tokens: 100, total_tokens: 500 };

/** Every byte that a scenario's model says, worked out before the first request. */
export function answerOf(scenario: Scenario): Answer {
  const { id: model, reply } = scenario;
  const first = opening(reply);
  const frames = [
    chunk(model, first),
    ...reply.fragments.map((fragment) => chunk(model, fragmentDelta(reply, fragment))),
    chunk(model, {}, reply.type === "call" ? "tool_calls" : "stop"),
  ];
  const counted = JSON.stringify({ ...base(model, "chat.completion.chunk"), choices: [], usage });
  const pack = (last: readonly string[]) => {
    const pieces = [...frames, ...last].map((frame) => httpChunk(`data: ${frame}\n\n`));
    return scenario.pace === "drip" ? drip(pieces) : burst(pieces);
  };
  return {
    whole: wholeOf(wholeAnswer(model, reply)),
    stream: pack(["[DONE]"]),
    counted: pack([counted, "[DONE]"]),
  };
}

/** A call whose arguments come one character at a time, `count` of them. */
export function longAnswer(model: string, count: number): Answer {
  const reply: Reply = { type: "call", name: "write_file", fragments: [] };
  const frame = (delta: unknown, finish: string | null = null) =>
    httpChunk(`data: ${chunk(model, delta, finish)}\n\n`);
  const argument = (text: string) => frame(fragmentDelta(reply, text));
  const head = [frame(opening(reply)), argument('{"content":"')].join("");
  const tail = [argument('"}'), frame({}, "tool_calls"), httpChunk("data: [DONE]\n\n")].join("");
  const block = Buffer.from(argument("a").repeat(1000));
  const parts = [
    { bytes: Buffer.from(streamHead + head), times: 1 },
    { bytes: block, times: count / 1000 },
    { bytes: Buffer.from(tail + lastChunk), times: 1 },
  ];
  return { whole: parts, stream: parts, counted: parts };
}

const streamHead =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const lastChunk = "0\r\n\r\n";

/** Real providers flush every frame, so each frame is a separate HTTP chunk. */
export function httpChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

export function burst(pieces: readonly string[]): Part[] {
  return once(streamHead + pieces.join("") + lastChunk);
}

export function drip(pieces: readonly string[]): Part[] {
  return [streamHead, ...pieces, lastChunk].flatMap(once);
}

/** An answer in one piece of JSON. */
export function wholeOf(json: string): Part[] {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n`;
  return once(head + json);
}

function once(text: string): Part[] {
  return [{ bytes: Buffer.from(text), times: 1 }];
}

function base(model: string, object: string) {
  return { id: "chatcmpl-bench", object, created: 1_760_000_000, model, system_fingerprint: "fp" };
}

function chunk(model: string, delta: unknown, finish: string | null = null): string {
  const choice = { index: 0, delta, logprobs: null, finish_reason: finish };
  return JSON.stringify({ ...base(model, "chat.completion.chunk"), choices: [choice] });
}

function opening(reply: Reply): unknown {
  if (reply.type === "text") return { role: "assistant", content: "" };
  const started = { name: reply.name, arguments: "" };
  const entry = { index: 0, id: "call_bench", type: "function", function: started };
  return { role: "assistant", content: null, tool_calls: [entry] };
}

function fragmentDelta(reply: Reply, fragment: string): unknown {
  if (reply.type === "text") return { content: fragment };
  return { tool_calls: [{ index: 0, function: { arguments: fragment } }] };
}

function wholeAnswer(model: string, reply: Reply): string {
  const said = reply.fragments.join("");
  const message =
    reply.type === "text"
      ? { role: "assistant", content: said, refusal: null }
      : { role: "assistant", content: null, refusal: null, tool_calls: [wholeCall(reply, said)] };
  const finish = reply.type === "text" ? "stop" : "tool_calls";
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  return JSON.stringify({ ...base(model, "chat.completion"), choices: [choice], usage });
}

function wholeCall(reply: Reply & { readonly type: "call" }, said: string) {
  return { id: "call_bench", type: "function", function: { name: reply.name, arguments: said } };
}
