import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf } from "../loose.ts";

/** What every response object of the API has, at any moment. */
const always = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
];
const ofFunctions = ["name", "description", "parameters", "strict"];

/** Whether a response object could be shown to a client that counts on all of it. */
export const isComplete = (response: Fields): boolean =>
  has(response, always) && (listOf(response.tools) ?? []).every(isTold);

function isTold(tool: unknown): boolean {
  const fields = fieldsOf(tool);
  return fields !== undefined && (fields.type !== "function" || has(fields, ofFunctions));
}

const has = (fields: Fields, keys: readonly string[]): boolean =>
  keys.every((key) => fields[key] !== undefined);
