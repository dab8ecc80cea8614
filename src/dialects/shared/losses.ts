/** Reports what an answer says that the client's dialect has no place for, once a turn. */

import type { OnDecision } from "../../turn/decision.ts";

/** Hears of something of an answer that has no place in the client's dialect. */
export type OnLoss = (what: string, choice: number) => void;

/** Tells of each such thing once in a turn, in however many pieces it comes. */
export function tellingLosses(dialect: string, report: OnDecision | undefined): OnLoss {
  const told = new Set<string>();
  return (what, choice) => {
    if (told.has(what)) return;
    told.add(what);
    const reason = `a ${dialect} answer has no form for ${what}`;
    report?.({ path: `output.choices[${choice}]`, action: "dropped", reason });
  };
}

/** What is about how an answer was made, or is told in another way. */
const noise: ReadonlySet<string> = new Set([
  "citations",
  "matched_stop",
  "native_finish_reason",
  "obfuscation",
  "prompt_token_ids",
  "provider",
  "seed",
  "service_tier",
  "stop_reason",
  "system_fingerprint",
  "timings",
  "token_ids",
  "x_groq",
]);

/** Whether anybody misses it: a filter says something only where it found something. */
export const isWorthTelling = (key: string, value: unknown): boolean =>
  key.includes("filter") ? hasFound(value) : !noise.has(key);

const DEEPEST = 5;

function hasFound(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === "filtered" || key === "detected" ? inner === true : hasFound(inner, depth + 1),
  );
}
