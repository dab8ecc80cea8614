/** The figures of a turn's calls under the names that the older Codex proxy gave them. */

import type { CallRules } from "../turn/rules.ts";
import type { CallFigures, TurnDone } from "./happening.ts";

/**
 * What is told of a turn's calls, in the words of the older Codex proxy, so that
 * what was built to read those goes on reading. Every view of a turn takes its
 * figures from here; none counts for itself.
 */
export type FiguresTold = {
  readonly tool_call_count_total: number;
  /** 1 for a turn whose calls were cut short, else 0: a sum over turns counts such turns. */
  readonly tool_call_truncated_total: 0 | 1;
  readonly stop_after_tools_mode: CallRules["stopMode"];
  readonly stop_after_tools_enabled: boolean;
  readonly tool_block_max: number;
  readonly suppress_tail_after_tools: boolean;
};

export const figuresOf = ({ calls, rules }: Pick<TurnDone, "calls" | "rules">): FiguresTold => ({
  tool_call_count_total: calls.given,
  tool_call_truncated_total: calls.truncated ? 1 : 0,
  stop_after_tools_mode: rules.stopMode,
  stop_after_tools_enabled: rules.stopAfter,
  tool_block_max: rules.max,
  suppress_tail_after_tools: rules.suppressTail,
});

/** What the head of a whole answer tells. */
export const callHeaders = (
  { given, truncated }: CallFigures,
  { stopMode }: CallRules,
): Record<string, string> => ({
  "x-codex-stop-after-tools-mode": stopMode,
  "x-codex-tool-call-count": String(given),
  "x-codex-tool-call-truncated": String(truncated),
});

/** What the last comment of a stream tells: the same figures, as JSON. */
export const callComment = ({ given, truncated }: CallFigures, { stopMode }: CallRules): string =>
  JSON.stringify({
    tool_call_count: given,
    tool_call_truncated: truncated,
    stop_after_tools_mode: stopMode,
  });
