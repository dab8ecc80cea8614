import type { ResponseRecord, SealOwner, StoredItem } from "../store/store.ts";
import type { Report, TurnDone } from "../telemetry/happening.ts";
import type { Decision } from "../turn/decision.ts";
import { Fault } from "../turn/fault.ts";
import type { CallRules } from "../turn/rules.ts";
import type { Tenant } from "../turn/tenant.ts";
import { planBytes, planRecord, reportPlan } from "./plan-report.ts";
import type { Round } from "./round.ts";
import { ownSealKey } from "./seals.ts";
import type { GatewayState } from "./state.ts";
import { reportTrouble } from "./to-fault.ts";
import { usageEntry } from "./usage-report.ts";

/** What an answer leaves behind. */
export type AnswerLeft = {
  /** Its id as the client saw it. */
  readonly id: string;
  readonly round: Round;
  readonly rules: CallRules;
  /** What had to be done to it. */
  readonly repairs: readonly Decision[];
  /** The items that later requests may refer to. */
  readonly items: readonly StoredItem[];
  /** What makes it one that can be continued. */
  readonly response?: ResponseRecord | undefined;
  /** The seals on its reasoning. */
  readonly seals: readonly string[];
};

/**
 * Writes what a turn leaves behind, in one write when the turn is over. Nobody
 * waits for it: the client has its answer, and a write that fails is reported.
 */
export function saveTurn(
  { store, config, report }: Pick<GatewayState, "store" | "config" | "report">,
  tenant: Tenant,
  done: TurnDone,
  answer: AnswerLeft | undefined,
): void {
  const failed = (error: unknown): void => reportLost(error, report, done.requestId);
  const usage = usageEntry(done, config);
  const { at } = done;
  const turn =
    answer === undefined
      ? { tenant, at, items: none, seals: none, usage }
      : {
          tenant,
          at,
          answerId: answer.id,
          items: answer.items,
          response: answer.response,
          plan: storedPlan(answer),
          seals: sealOwners(answer),
          usage,
        };
  try {
    store.saveTurn(turn).catch(failed);
  } catch (error) {
    failed(error); // The turn has ended well, whatever a store does.
  }
}

const none: readonly never[] = [];

/** A Fault of a store names its database and the remedy; what else is thrown may quote what it choked on. */
function reportLost(error: unknown, report: Report, requestId: string): void {
  if (!(error instanceof Fault)) return reportTrouble(error, report, requestId);
  const { code: fault, message: problem } = error;
  report({ type: "store", event: "lost", requestId, fault, problem });
}

function storedPlan({ round, rules, repairs }: AnswerLeft): {
  readonly bytes: number;
  report(): ReturnType<typeof reportPlan>;
} {
  const plan = planRecord(round, { rules, repairs });
  return { bytes: planBytes(plan), report: () => reportPlan(plan) };
}

/** Where the plan marks reasoning, it says itself whose it is. */
function sealOwners({ round: { plan, link }, seals }: AnswerLeft): readonly SealOwner[] {
  if (plan.seal !== undefined || seals.length === 0) return none;
  const upstream = link.upstream.name;
  return seals.map((seal) => ({ seal: ownSealKey(seal), upstream }));
}
