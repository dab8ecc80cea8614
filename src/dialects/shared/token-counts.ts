import type { Usage } from "../../turn/event.ts";
import { fieldsOf, numberOf } from "./loose.ts";

/** A count of tokens, in the words of either dialect: upstreams do not keep to their own. */
export function counted(value: unknown): Usage | undefined {
  const usage = fieldsOf(value);
  if (usage === undefined) return undefined;
  const input = countOf(usage.prompt_tokens) ?? countOf(usage.input_tokens);
  const output = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens);
  const total = countOf(usage.total_tokens);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const inputDetails = fieldsOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outputDetails = fieldsOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  return {
    input: input ?? rest(total, output),
    output: output ?? rest(total, input),
    total: total ?? (input ?? 0) + (output ?? 0),
    cached:
      countOf(inputDetails?.cached_tokens) ??
      countOf(usage.prompt_cache_hit_tokens) ??
      countOf(usage.cache_read_input_tokens) ??
      countOf(usage.cached_tokens),
    cacheWrite:
      countOf(inputDetails?.cache_write_tokens) ??
      countOf(inputDetails?.cache_creation_tokens) ??
      countOf(usage.cache_creation_input_tokens),
    reasoning: countOf(outputDetails?.reasoning_tokens) ?? countOf(usage.reasoning_tokens),
  };
}

/** What is left of a total for the side that was not counted. */
const rest = (total: number | undefined, other: number | undefined): number =>
  total === undefined || other === undefined ? 0 : Math.max(0, total - other);

/** No answer has more tokens. A larger count is an error, and sums of it would be wrong for good. */
const MAX_TOKENS = 1e12;

/** A count; negative ones are how some upstreams write "not counted". */
export function countOf(value: unknown): number | undefined {
  const count = typeof value === "string" && /^\d{1,15}$/.test(value) ? +value : numberOf(value);
  return count === undefined || !(count >= 0 && count <= MAX_TOKENS) ? undefined : count;
}
