import type { OnDecision } from "../turn/decision.ts";

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
