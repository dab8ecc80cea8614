import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, numberOf } from "../shared/loose.ts";
import { isStatus } from "./fields.ts";

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
  has(response, always) &&
  (listOf(response.tools) ?? []).every(isWholeTool) &&
  (response.usage === null || isCounted(response.usage));

const isCounted = (usage: unknown): boolean => {
  const fields = fieldsOf(usage);
  return (
    [fields?.input_tokens, fields?.output_tokens, fields?.total_tokens].every(
      (count) => numberOf(count) !== undefined,
    ) &&
    numberOf(fieldsOf(fields?.input_tokens_details)?.cached_tokens) !== undefined &&
    numberOf(fieldsOf(fields?.output_tokens_details)?.reasoning_tokens) !== undefined
  );
};

function isWholeTool(tool: unknown): boolean {
  const fields = fieldsOf(tool);
  return fields !== undefined && (fields.type !== "function" || has(fields, ofFunctions));
}

const has = (fields: Fields, keys: readonly string[]): boolean =>
  keys.every((key) => fields[key] !== undefined);

/** What the items that every client knows always have. */
const ofItems: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["message", ["id", "status", "role", "content"]],
  ["reasoning", ["id", "summary"]],
  ["function_call", ["id", "call_id", "name", "arguments", "status"]],
  ["custom_tool_call", ["id", "call_id", "name", "input"]],
]);
/** What of them must not change while they are made. */
const lasting = ["id", "role", "call_id", "name"];

/** Whether an item could be shown; `first` is how it was announced. */
export function isOwnItem(item: Fields, first: Fields = item): boolean {
  const keys = ofItems.get(item.type);
  if (keys === undefined) return true;
  return (
    keys.every((key) => isFilled(key, item[key])) &&
    lasting.every((key) => item[key] === first[key])
  );
}

function isFilled(key: string, value: unknown): boolean {
  if (key === "summary") return Array.isArray(value);
  if (key === "content") return listOf(value)?.every(isOwnPart) === true;
  return key === "status" ? isStatus(value) : typeof value === "string";
}

function isOwnPart(part: unknown): boolean {
  const fields = fieldsOf(part);
  return fields?.type === "refusal"
    ? typeof fields.refusal === "string"
    : fields?.type === "output_text" &&
        typeof fields.text === "string" &&
        Array.isArray(fields.annotations);
}

/** Whether the whole answer repeats an item as it was when it was done. Sealed text differs each time. */
export const agrees = (item: Fields, done: Fields): boolean =>
  !ofItems.has(item.type) ||
  item.type === "reasoning" ||
  (["status", "arguments", "input"].every((key) => item[key] === done[key]) &&
    textOfParts(item) === textOfParts(done));

const textOfParts = (item: Fields): string =>
  (listOf(item.content) ?? [])
    .map((part) => {
      const fields = fieldsOf(part);
      const { type, text, refusal, annotations } = fields ?? {};
      return JSON.stringify([type, text ?? refusal, listOf(annotations) ?? []]);
    })
    .join("\n");
