import { chain, type Stage } from "../../stream/stage.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import { checkArguments, hasRewritten } from "./check-arguments.ts";
import { keepFormat } from "./format.ts";
import type { Plan } from "./plan.ts";
import { sealReasoning } from "./reasoning.ts";
import { restoreCalls, type Withholding } from "./restore.ts";

/** All that a plan asks of the answer: calls restored and looked at, the format kept, reasoning marked as whose it is. */
export function restoreAnswer(
  plan: Plan,
  report?: OnDecision,
  withholding?: Withholding,
): Stage<TurnEvent<UpstreamName>, TurnEvent<ClientName>> {
  let stages = restoreCalls(plan, report, withholding);
  if (report !== undefined && hasRewritten(plan))
    stages = chain(stages, checkArguments(plan, report));
  if (plan.check !== undefined) stages = chain(stages, keepFormat(plan.check));
  if (plan.seal !== undefined) stages = chain(stages, sealReasoning(plan.seal));
  return stages;
}
