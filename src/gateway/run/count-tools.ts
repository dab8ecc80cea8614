/** Counts what became of the tools of a turn. */

import type { Metrics } from "../../observe/metrics.ts";
import { kindOf } from "../../tools/kinds/kinds.ts";
import type { Plan } from "../../tools/plan/plan.ts";

/** Kinds we do not know are a client's words, and metrics have no room for all of them. */
export function countTools(metrics: Metrics, { verdicts }: Plan): void {
  for (const { verdict, kind } of verdicts) metrics.tool(verdict, kindOf(kind)?.kind ?? "other");
}
