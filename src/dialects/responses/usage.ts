import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, numberOf } from "../loose.ts";

export function readUsage(usage: Fields): Usage {
  const input = numberOf(usage.input_tokens) ?? 0;
  const output = numberOf(usage.output_tokens) ?? 0;
  return {
    input,
    output,
    total: numberOf(usage.total_tokens) ?? input + output,
    cached: numberOf(fieldsOf(usage.input_tokens_details)?.cached_tokens),
    reasoning: numberOf(fieldsOf(usage.output_tokens_details)?.reasoning_tokens),
  };
}

export const writeUsage = (usage: Usage): Fields => ({
  input_tokens: usage.input,
  input_tokens_details: { cached_tokens: usage.cached ?? 0 },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  total_tokens: usage.total,
});
