/** Plans as they are kept, to be looked up by the ids of their turns. */

import type { StoredPlan } from "../../history/store.ts";
import type { ToolVerdict } from "../../tools/plan/plan.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import { SHARED_LENGTH, type SharedText } from "../../turn/shared-text.ts";
import { planRecord, reportRest, toolReport, type PlanRecord } from "../http/plan-report.ts";
import type { Round } from "./round.ts";

type KnownPlan = { readonly record: PlanRecord; readonly plan: StoredPlan };

/** The latest plans for a list of tools. */
const knownPlans = new WeakMap<readonly ToolVerdict[], KnownPlan[]>();
const MAX_KNOWN = 8;
const MAX_BYTES = 65_536;
const noTools: readonly ToolVerdict[] = [];

/**
 * A plan that is written out only where somebody asks for it. Turns with the same
 * plan share one object, as those of a conversation mostly do: what a store keeps
 * in memory of each is little then, and a database is given the same text again.
 */
export function keptPlan(round: Round, asked: Parameters<typeof planRecord>[1]): StoredPlan {
  const record = planRecord(round, asked);
  const tools = record.tools.length === 0 ? noTools : record.tools;
  let known = knownPlans.get(tools);
  if (known === undefined) knownPlans.set(tools, (known = []));
  for (const one of known) if (isSame(one.record, record)) return one.plan;
  const plan = storedPlan(record);
  if (plan.bytes > MAX_BYTES) return plan;
  if (known.length === MAX_KNOWN) known.shift();
  known.push({ record, plan });
  return plan;
}

/** Whether two plans for the same tools report the same. */
function isSame(one: PlanRecord, other: PlanRecord): boolean {
  return (
    one.link.upstream === other.link.upstream &&
    one.link.model === other.link.model &&
    one.profile === other.profile &&
    one.straight === other.straight &&
    areSame(one.decisions, other.decisions) &&
    areSame(one.parameters, other.parameters) &&
    areSame(one.rules, other.rules)
  );
}

/** Whether two lists of flat objects are the same, field by field. */
function areSame<Entry extends object>(one: readonly Entry[], other: readonly Entry[]): boolean {
  if (one.length !== other.length) return false;
  for (const [at, entry] of one.entries()) {
    const twin = other[at];
    if (twin === undefined || !isSameEntry(entry, twin)) return false;
  }
  return true;
}

function isSameEntry<Entry extends object>(one: Entry, other: Entry): boolean {
  if (one === other) return true;
  for (const key in one) if (one[key] !== other[key]) return false;
  for (const key in other) if (!(key in one)) return false;
  return true;
}

function storedPlan(record: PlanRecord): StoredPlan {
  let text: string | undefined;
  const head = (): string => (text ??= planHead(record));
  return {
    bytes: planBytes(record),
    json: () => `${head()}${toolsText(record.tools).text}}`,
    parts() {
      const shared = toolsText(record.tools);
      return shared.text.length < SHARED_LENGTH ? undefined : { head: head(), shared };
    },
  };
}

/** The report as JSON without its tools, which come last. */
const planHead = (of: PlanRecord): string =>
  `${JSON.stringify(reportRest(of)).slice(0, -1)},"tools":`;

/** Written once for as long as a list of tools comes back. */
const toolsText = memoizeByIdentity((tools: readonly ToolVerdict[]): SharedText => ({
  text: JSON.stringify(tools.map(toolReport)),
}));

/** An object and its slots, beside the characters of its text at up to two bytes each. */
const ENTRY_BYTES = 128;
const textBytes = (...texts: readonly (string | undefined)[]): number =>
  texts.reduce((sum, text) => sum + 2 * (text?.length ?? 0), ENTRY_BYTES);

/** The verdicts on a list of tools are made once for as long as the list comes back. */
const verdictBytes = new WeakMap<readonly ToolVerdict[], number>();

/** About how much memory a plan holds on to: names, kinds and paths are the client's words, of any length. */
export function planBytes({ tools, parameters, rules, decisions }: PlanRecord): number {
  let bytes = verdictBytes.get(tools);
  if (bytes === undefined) {
    bytes = 0;
    for (const { path, kind, namespace, name, upstreamName, reason } of tools)
      bytes += textBytes(path, kind, namespace, name, upstreamName, reason);
    verdictBytes.set(tools, bytes);
  }
  for (const { path, target } of parameters) bytes += textBytes(path, target);
  for (const { path, reason } of decisions) bytes += textBytes(path, reason);
  return bytes + rules.length * ENTRY_BYTES;
}
