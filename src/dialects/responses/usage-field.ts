import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";

/** Writes the token counts of an answer as `usage`. */
export const writeUsage = (usage: Usage): Fields => ({
  input_tokens: usage.input,
  input_tokens_details: {
    cached_tokens: usage.cached ?? 0,
    ...(usage.cacheWrite !== undefined && { cache_write_tokens: usage.cacheWrite }),
  },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  total_tokens: usage.total,
});
