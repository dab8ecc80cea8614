import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { fieldsOf, listOf, numberOf } from "../loose.ts";

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

function counted(value: unknown): Usage | undefined {
  const usage = fieldsOf(value);
  if (usage === undefined) return undefined;
  const input = numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens);
  const output = numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens);
  const total = numberOf(usage.total_tokens);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const inputDetails = fieldsOf(usage.prompt_tokens_details);
  const outputDetails = fieldsOf(usage.completion_tokens_details);
  return {
    input: input ?? 0,
    output: output ?? 0,
    total: total ?? (input ?? 0) + (output ?? 0),
    cached:
      numberOf(inputDetails?.cached_tokens) ??
      numberOf(usage.prompt_cache_hit_tokens) ??
      numberOf(usage.cached_tokens),
    reasoning: numberOf(outputDetails?.reasoning_tokens) ?? numberOf(usage.reasoning_tokens),
  };
}

export function writeUsage({ input, output, total, cached, reasoning }: Usage): Fields {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
