import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { counted } from "../shared/token-counts.ts";
import { fieldsOf, listOf } from "../shared/loose.ts";
import { hasShape } from "../shared/plain.ts";

/** The count of tokens in a frame or body, wherever an upstream puts it. */
export function readUsage(raw: Fields): Usage | undefined {
  return (
    counted(raw.usage) ??
    counted(fieldsOf(raw.x_groq)?.usage) ??
    listOf(raw.choices)
      ?.map((choice) => counted(fieldsOf(choice)?.usage))
      .find((usage) => usage !== undefined)
  );
}

const usage = {
  prompt_tokens: "count",
  completion_tokens: "count",
  total_tokens: "count",
} as const;

/** Whether a count is as the API writes it. */
export const isOwnUsage = (value: unknown): boolean => hasShape(value, usage);

export function writeUsage(count: Usage): Fields {
  const { input, output, total, cached, cacheWrite, reasoning } = count;
  const details = {
    ...(cached !== undefined && { cached_tokens: cached }),
    ...(cacheWrite !== undefined && { cache_write_tokens: cacheWrite }),
  };
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    ...(Object.keys(details).length > 0 && { prompt_tokens_details: details }),
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
