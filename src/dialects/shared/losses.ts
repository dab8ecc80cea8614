/** Reports the parts of an answer that the client's dialect has no form for, once a turn. */

import type { OnDecision } from "../../turn/decision.ts";
import type { StopReason } from "../../turn/event.ts";

/** Receives the name of a part that the client's dialect has no form for. */
export type OnLoss = (what: string, choice: number) => void;

/** Reports an answer that its upstream paused: the client receives the end of a truncated answer. */
export function losePause(
  { choice, stop }: { readonly choice: number; readonly stop: StopReason },
  lose: OnLoss,
): void {
  if (stop === "pause") lose("a pause; the answer ends as if it reached its length limit", choice);
}

/** Reports each kind of lost part once in a turn. */
export function lossReporter(dialect: string, report: OnDecision | undefined): OnLoss {
  const reported = new Set<string>();
  return (what, choice) => {
    if (reported.has(what)) return;
    reported.add(what);
    const reason = `a ${dialect} answer has no form for ${what}`;
    report?.({ path: `output.choices[${choice}]`, action: "dropped", reason });
  };
}

/** Fields about how an answer was made, or whose content is written elsewhere. */
const noise: ReadonlySet<string> = new Set([
  "avgLogprobs",
  "citationMetadata",
  "citations",
  "groundingMetadata",
  "matched_stop",
  "native_finish_reason",
  "obfuscation",
  "prompt_token_ids",
  "provider",
  "safetyRatings",
  "seed",
  "service_tier",
  "stop_reason",
  "system_fingerprint",
  "timings",
  "token_ids",
  "x_groq",
]);

/** True if a client misses the field. The result of a filter matters only if it found something. */
export const isReportable = (key: string, value: unknown): boolean =>
  key.includes("filter") ? hasFound(value) : !noise.has(key);

const DEEPEST = 5;

function hasFound(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === "filtered" || key === "detected" ? inner === true : hasFound(inner, depth + 1),
  );
}
