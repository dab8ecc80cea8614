import { ownExtra } from "./extra.ts";
import type { Usage } from "../../turn/event.ts";
import type { Fields } from "../../turn/turn.ts";
import { countOf, counted, fieldsOf, numberOf } from "../shared/loose.ts";

const counts = [
  "input_tokens",
  "output_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
] as const;

const known: ReadonlySet<string> = new Set([...counts, "output_tokens_details"]);

/** The counts of one answer: those said later replace those said before. */
export class UsageReader {
  readonly #known: Record<string, number> = {};
  #thinking: number | undefined;
  #extra: Record<string, unknown> | undefined;

  /** Takes a `usage` object; gives what is known now, if it told anything. */
  each(raw: unknown): Usage | undefined {
    const usage = fieldsOf(raw);
    if (usage === undefined) return undefined;
    let isTold = false;
    for (const name of counts) {
      const count = countOf(usage[name]);
      if (count === undefined) continue;
      this.#known[name] = count;
      isTold = true;
    }
    // Compatible servers may count in the words of another dialect.
    if (!isTold) return counted(usage);
    for (const [key, value] of Object.entries(usage))
      if (!known.has(key) && value != null) (this.#extra ??= {})[key] = value;
    this.#thinking =
      countOf(fieldsOf(usage.output_tokens_details)?.thinking_tokens) ?? this.#thinking;
    return this.#usage();
  }

  #usage(): Usage {
    const cached = this.#known.cache_read_input_tokens;
    const cacheWrite = this.#known.cache_creation_input_tokens;
    // What was cached is not counted with the rest here, and everywhere else it is.
    const input = (this.#known.input_tokens ?? 0) + (cached ?? 0) + (cacheWrite ?? 0);
    const output = this.#known.output_tokens ?? 0;
    const own = { input, output, total: input + output, cached, cacheWrite };
    const extra = this.#extra && { extra: { dialect: "messages", fields: { ...this.#extra } } };
    return { ...own, reasoning: this.#thinking, ...extra };
  }
}

/** Whether the strictest readers take it as it is. */
export const isWholeUsage = (raw: unknown): boolean =>
  numberOf(fieldsOf(raw)?.input_tokens) !== undefined &&
  numberOf(fieldsOf(raw)?.output_tokens) !== undefined;

/** Counts that are not known yet are none, never null. */
export function writeUsage(usage: Usage | undefined): Fields {
  const { input = 0, output = 0, cached, cacheWrite, reasoning, extra } = usage ?? {};
  return {
    ...ownExtra(extra),
    input_tokens: Math.max(0, input - (cached ?? 0) - (cacheWrite ?? 0)),
    cache_creation_input_tokens: cacheWrite ?? 0,
    cache_read_input_tokens: cached ?? 0,
    output_tokens: output,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
