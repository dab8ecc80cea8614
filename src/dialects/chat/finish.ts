/** Finish reasons of chat answers, read and written. */

import type { StopReason } from "../../turn/event.ts";
import { Fault, type FaultCode } from "../../turn/fault.ts";

/** What upstreams call the end of an answer, in lower case. */
const words: ReadonlyMap<string, StopReason | FaultCode> = new Map(
  Object.entries({
    stop: "end",
    end: "end",
    end_turn: "end",
    eos: "end",
    eos_token: "end",
    stop_sequence: "end",
    complete: "end",
    completed: "end",
    tool_calls: "calls",
    tool_call: "calls",
    tool_use: "calls",
    function_call: "calls",
    length: "length",
    max_tokens: "length",
    max_output_tokens: "length",
    max_length: "length",
    model_length: "length",
    token_limit: "length",
    time_limit: "length",
    model_context_window_exceeded: "length",
    pause: "pause",
    pause_turn: "pause",
    content_filter: "filter",
    content_filtered: "filter",
    filtered: "filter",
    safety: "filter",
    image_safety: "filter",
    sensitive: "filter",
    recitation: "filter",
    blocklist: "filter",
    prohibited_content: "filter",
    spii: "filter",
    refusal: "filter",
    guardrail_intervened: "filter",
    error: "upstream.said_error",
    model_error: "upstream.said_error",
    malformed_function_call: "upstream.said_error",
    unexpected_tool_call: "upstream.said_error",
    too_many_tool_calls: "upstream.said_error",
    function_call_filter: "upstream.said_error",
    network_error: "upstream.failed",
    abort: "upstream.failed",
    aborted: "upstream.failed",
    cancelled: "upstream.failed",
    timeout: "upstream.timeout",
    insufficient_system_resource: "upstream.overloaded",
  } satisfies Record<string, StopReason | FaultCode>),
);

const own = new Set(["stop", "tool_calls", "length", "content_filter"]);

export type Finish = {
  readonly stop: StopReason | Fault;
  /** Whether it is a word of the OpenAI API. */
  readonly forwardable: boolean;
};

/** An end we have no word for is an end all the same. Some say more closely what they mean: `kind: cause`. */
export function readFinish(reason: string): Finish {
  const [kind = "", cause = ""] = reason.toLowerCase().split(/:\s*/);
  const stop = words.get(cause) ?? words.get(kind) ?? "end";
  if (isStop(stop)) return { stop, forwardable: own.has(reason) };
  const fault = new Fault(
    stop,
    `The upstream broke off its answer (finish reason \`${reason}\`); try again.`,
    { upstreamCode: reason },
  );
  return { stop: fault, forwardable: false };
}

const isStop = (word: StopReason | FaultCode): word is StopReason => !word.includes(".");

const reasons: Readonly<Record<StopReason, string>> = {
  end: "stop",
  calls: "tool_calls",
  length: "length",
  filter: "content_filter",
  // The nearest word for an answer of which there is more.
  pause: "length",
};

/** `legacy`: for clients that make calls in the old form, and made one. */
export const writeFinish = (stop: StopReason, legacy: boolean): string =>
  legacy && stop === "calls" ? "function_call" : reasons[stop];
