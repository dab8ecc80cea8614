import type { Usage } from "../turn/event.ts";
import { fieldsOf, numberOf } from "./loose.ts";

/** A count of tokens, in the words of either dialect: upstreams do not keep to their own. */
export function counted(value: unknown): Usage | undefined {
  const usage = fieldsOf(value);
  if (usage === undefined) return undefined;
  const input = numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens);
  const output = numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens);
  const total = numberOf(usage.total_tokens);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const inputDetails = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outputDetails = fieldsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  return {
    input: input ?? rest(total, output),
    output: output ?? rest(total, input),
    total: total ?? (input ?? 0) + (output ?? 0),
    cached:
      numberOf(inputDetails?.cached_tokens) ??
      numberOf(usage.prompt_cache_hit_tokens) ??
      numberOf(usage.cached_tokens),
    reasoning: numberOf(outputDetails?.reasoning_tokens) ?? numberOf(usage.reasoning_tokens),
  };
}

/** What is left of a total for the side that was not counted. */
const rest = (total: number | undefined, other: number | undefined): number =>
  total === undefined || other === undefined ? 0 : Math.max(0, total - other);
