/** The counts and rules of a turn's calls, under the names that the older Codex proxy gave them. */

import type { CallFigures, TurnDone } from "./happening.ts";

type Called = Pick<TurnDone, "calls" | "rules">;

/** Fields of log lines and spans. Readers of the older proxy's fields find the same names here. */
export const figuresOf = ({ calls, rules }: Called) => ({
  tool_call_count_total: calls.given,
  /** 1 for a turn whose calls were cut short, else 0, so that a sum over turns counts such turns. */
  tool_call_truncated_total: calls.truncated ? 1 : 0,
  stop_after_tools_mode: rules.stopMode,
  stop_after_tools_enabled: rules.stopAfter,
  tool_block_max: rules.max,
  suppress_tail_after_tools: rules.suppressTail,
});

export const callHeaders = (
  { given, truncated }: CallFigures,
  { stopMode }: Called["rules"],
): Record<string, string> => ({
  "x-codex-stop-after-tools-mode": stopMode,
  "x-codex-tool-call-count": String(given),
  "x-codex-tool-call-truncated": String(truncated),
});

/** The JSON of the last comment of a stream. */
export const callComment = (
  { given, truncated }: CallFigures,
  { stopMode }: Called["rules"],
): string =>
  JSON.stringify({
    tool_call_count: given,
    tool_call_truncated: truncated,
    stop_after_tools_mode: stopMode,
  });
