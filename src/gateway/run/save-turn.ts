import { noStore } from "../../history/none.ts";
import type { Lease } from "../../history/leases.ts";
import type {
  ConversationEntry,
  ResponseRecord,
  StoredItem,
  StoredTurn,
} from "../../history/log.ts";
import type { Report, TurnDone } from "../../observe/happening.ts";
import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { keptPlan } from "./plan-record.ts";
import type { Round } from "./round.ts";
import { sealNote } from "../history/seals.ts";
import type { GatewayState } from "../state.ts";
import { reportTrouble, toFault } from "../http/to-fault.ts";
import { usageEntry } from "../http/usage-report.ts";

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
  /** What makes it one that can be retrieved and continued. */
  readonly response?: ResponseRecord | undefined;
  /** The answer as a stored completion. */
  readonly list?: StoredTurn["list"];
  /** The seals on its reasoning. */
  readonly seals: readonly string[];
  /** Whether it may be continued on its own connection alone. */
  readonly isPrivate: boolean;
  /** The lease that its writes depend on. */
  readonly lease?: Lease | undefined;
  /** What was thought before its calls, for clients that do not give it back. */
  readonly thoughts: readonly StoredItem[];
};

/** Whether a turn is stored: known at once where the store is in memory. */
export type Saving = boolean | Promise<boolean>;

/**
 * Writes what a turn leaves behind when the turn is over. A write
 * that fails is reported and changes no answer. Says whether it is stored.
 */
export function saveTurn(
  { store, config, report }: Pick<GatewayState, "store" | "config" | "report">,
  tenant: Tenant,
  done: TurnDone,
  answer: AnswerLeft | undefined,
  conversation?: ConversationEntry,
): Saving {
  if (store === noStore) return false;
  const usage = usageEntry(done, config);
  const { at } = done;
  const failed = (error: unknown): false => {
    reportLost(error, report, done.requestId);
    // The usage of the turn still counts.
    if (error instanceof Fault && error.code === "store.superseded")
      store.append({ tenant, at, items: none, usage })?.catch(() => {});
    return false;
  };
  const turn =
    answer === undefined
      ? { tenant, at, items: none, usage }
      : {
          tenant,
          at,
          answerId: answer.id,
          items: answer.items,
          notes: [...answer.thoughts, ...sealNotes(answer)],
          response: answer.response,
          list: answer.list,
          plan: keptPlan(answer.round, answer),
          isPrivate: answer.isPrivate,
          lease: answer.lease,
          conversation,
          usage,
        };
  try {
    return store.append(turn)?.then(() => true, failed) ?? true;
  } catch (error) {
    return failed(error); // The turn has ended well, whatever a store does.
  }
}

/** How long the end of an answer waits for the store. */
const WAIT_MS = 2000;

/** Whether a turn is stored, as far as that is known in time. It is not waited for while the database is known to be away. */
export function withinWait(
  { store, clock, report }: Pick<GatewayState, "store" | "clock" | "report">,
  saving: Saving,
  requestId: string,
): Promise<boolean> {
  const late = (fault?: Fault): false => {
    report({ type: "store", event: "late", requestId, fault: fault?.code });
    return false;
  };
  if (typeof saving === "boolean") return Promise.resolve(saving);
  const trouble = store.trouble();
  if (trouble !== undefined) return Promise.resolve(late(trouble));
  return new Promise((resolve) => {
    const cancel = clock.at(clock.now() + WAIT_MS, () => resolve(late()));
    void saving.then(resolve).finally(cancel);
  });
}

const none: readonly never[] = [];

/**
 * What is done where a turn could not be stored: it is reported, and its answer
 * is none the worse. A write may wait for long, and keeps only this meanwhile.
 */
export const unsaved =
  (report: Report, requestId: string) =>
  (error: unknown): false => (toFault(error, report, requestId), false);

/** A Fault of a store names its database and the remedy; what else is thrown may quote what it choked on. */
function reportLost(error: unknown, report: Report, requestId: string): void {
  if (!(error instanceof Fault)) return reportTrouble(error, report, requestId);
  const { code: fault, message: problem } = error;
  report({ type: "store", event: "lost", requestId, fault, problem });
}

/** Where the plan marks reasoning, it says itself whose it is. */
function sealNotes({ round: { plan, link }, seals }: AnswerLeft): readonly StoredItem[] {
  if (plan.seal !== undefined || seals.length === 0) return none;
  return seals.map((seal) => sealNote(seal, link.upstream.name));
}
