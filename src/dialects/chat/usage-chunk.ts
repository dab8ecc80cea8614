import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { counted } from "../shared/token-counts.ts";
import { fieldsOf, listOf, numberOf } from "../shared/loose.ts";

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

/** Whether a chat reader would take a count as it is. */
export const isWholeUsage = (value: unknown): boolean =>
  ["prompt_tokens", "completion_tokens", "total_tokens"].every(
    (key) => (numberOf(fieldsOf(value)?.[key]) ?? -1) >= 0,
  );

export function writeUsage(usage: Usage): Fields {
  const { input, output, total, cached, cacheWrite, reasoning } = usage;
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
