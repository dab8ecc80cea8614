import type { Fields, Turn } from "../../turn/turn.ts";
import { readModel } from "../shared/model.ts";
import { readParams } from "../shared/params.ts";
import { collectRepairs } from "../shared/repairs.ts";
import { invalid, shaped } from "../shared/shape.ts";
import { readToolChoice } from "./tool-choice.ts";
import { readFormat } from "./format.ts";
import { idleFields } from "./idle-fields.ts";
import { declaresFunctions, oldFields } from "./old-form.ts";
import { readMessages } from "./read-messages.ts";
import { bodySchema } from "./schema.ts";
import { responsesDoor } from "../responses/route.ts";
import { chatTraits } from "./traits.ts";
import { readTools } from "./tools.ts";

/** What is read here and not by the table of parameters. */
const own = new Set([
  "model",
  "messages",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "response_format",
  "stream",
  "stream_options",
  "logprobs",
]);

/** Reads a Chat Completions request as a turn; a Fault names the field that is wrong. */
export function readRequest(body: Fields): Turn {
  const model = readModel(body.model);
  if (body.messages === undefined && body.input !== undefined)
    throw invalid("messages", `is missing; a request with \`input\` goes to ${responsesDoor}`);
  const { messages, stream, stream_options, logprobs } = shaped(bodySchema, body, "");
  const { params, extra } = readParams(chatTraits, body, own);
  const { include_usage, ...options } = stream_options ?? {};
  if (include_usage != null && typeof include_usage !== "boolean")
    throw invalid("stream_options.include_usage", "must be true or false");
  const repairs = collectRepairs();
  for (const name of oldFields(body)) repairs.add(name, "chat has tools now");
  const { items, places } = readMessages(messages, repairs.add);
  const idle = idleFields(body);
  for (const name of idle) repairs.add(name, "it means nothing without tools");
  const tools = readTools(body.tools, body.functions);
  repairs.include(tools.repairs);
  const toolChoice = idle.includes("tool_choice")
    ? undefined
    : readToolChoice(body.tool_choice, body.function_call, repairs.add);
  return {
    dialect: "chat",
    traits: chatTraits,
    model,
    items,
    places,
    tools: tools.tools,
    toolChoice,
    format: readFormat(body.response_format),
    params: {
      ...(logprobs === true && { logprobs: 0 }),
      ...params,
      ...(idle.includes("parallel_tool_calls") && { parallelCalls: undefined }),
      // The old form has room for one call.
      ...(declaresFunctions(body) && { parallelCalls: false }),
    },
    stream: stream === true,
    usageWanted: include_usage === true,
    extra: {
      dialect: "chat",
      // They mean nothing without a stream, and upstreams refuse them then.
      fields:
        stream === true && Object.keys(options).length > 0
          ? { ...extra, stream_options: options }
          : extra,
    },
    repairs: repairs.decisions(),
    body,
  };
}
