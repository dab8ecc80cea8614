import { listParams } from "../../dialects/shared/params.ts";
import type { StoredPlan } from "../../history/log.ts";
import { countVerdicts, type Plan, type ToolVerdict, type Verdict } from "../../tools/plan/plan.ts";
import { boundDecisions, isLossy, type Action, type Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { Profile } from "../../turn/profile.ts";
import type { CallRules, StopMode } from "../../turn/rules.ts";
import { SHARED_LENGTH, type SharedText } from "../../turn/shared-text.ts";
import type { Fields } from "../../turn/turn.ts";
import type { Upstream } from "../../upstreams/upstream.ts";
import { leavesOutText } from "./rules.ts";

/** A plan as clients and operators read it. It holds names and reasons, never content. */
export type PlanReport = {
  readonly object: "plan";
  /** `upstream/model`. */
  readonly upstream: string;
  readonly profile: string;
  /** Whether the upstream's own frames are forwarded. */
  readonly straight: boolean;
  /** Whether strictness would refuse it. */
  readonly lossy: boolean;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly tools: readonly ToolReport[];
  readonly parameters: readonly ParameterReport[];
  /** The gateway's rules for the calls in the answer. */
  readonly rules: readonly RuleReport[];
  /** Whatever was done to the request, the answer's repairs among them once there is one. */
  readonly decisions: readonly Decision[];
};

export type ToolReport = {
  readonly path: string;
  readonly kind: string;
  readonly namespace: string | null;
  readonly name: string;
  readonly verdict: Verdict;
  readonly upstream_name: string | null;
  readonly reason: string;
};

export type ParameterReport = {
  readonly path: string;
  /** `native`, or what was done to it. */
  readonly verdict: "native" | Action;
  readonly upstream_name: string | null;
  readonly reason: string;
};

/** A rule of the gateway that may change the answer, by the name of its setting. */
export type RuleReport = {
  readonly path: string;
  readonly value: string | number | boolean;
  readonly reason: string;
};

/** The fields of a round that its plan reports; this file imports no round, which imports the state. */
type Planned = {
  readonly link: { readonly name: string; readonly upstream: Pick<Upstream, "traits"> };
  readonly profile: Profile;
  readonly plan: Plan;
  readonly straight: boolean;
  readonly shaped: boolean;
  readonly readsText: boolean;
  readonly decisions: readonly Decision[];
};

/** The kept part of a planned round: the source of its report, without content. */
export type PlanRecord = Pick<Planned, "profile" | "straight" | "decisions"> & {
  /** `upstream/model`. */
  readonly upstream: string;
  readonly tools: readonly ToolVerdict[];
  readonly parameters: ReturnType<typeof listParams>;
  readonly rules: readonly RuleReport[];
};

/** `repairs` is what had to be done to the answer, once there is one. */
export const planRecord = (
  round: Planned,
  { rules, repairs = [] }: { readonly rules: CallRules; readonly repairs?: readonly Decision[] },
): PlanRecord => {
  const { link, profile, plan, straight, shaped, decisions } = round;
  return {
    upstream: link.name,
    profile,
    straight,
    decisions:
      decisions.length + repairs.length === 0 ? none : [...boundDecisions(decisions), ...repairs],
    tools: plan.verdicts,
    parameters: listParams(plan.turn, profile, link.upstream.traits),
    rules: shaped || rules.parallel === false ? listRules(rules, round) : none,
  };
};

/** The rules for the calls of a turn; all but `parallel` also hold for calls of undeclared tools. */
function listRules(rules: CallRules, { plan, readsText }: Planned): readonly RuleReport[] {
  const { parallel, max, stopAfter, stopMode, graceMs, dedup, suppressTail, output = "" } = rules;
  const list: RuleReport[] = [];
  const hold = (setting: string, value: RuleReport["value"], reason: string): void =>
    void list.push({ path: `tools.${setting}`, value, reason });
  if (parallel === false && plan.asked.tools.length > 0)
    hold("parallel", false, "a choice delivers only its first call");
  if (max > 0) hold("block_max", max, `a choice delivers at most ${max} calls`);
  if (stopAfter) hold("stop_after_mode", stopMode, stopReason(stopMode, graceMs));
  if (dedup) hold("block_dedup", true, "calls that repeat an earlier one are left out");
  if (suppressTail) hold("suppress_tail", true, "text behind the last call is left out");
  if (output === "obsidian-xml") hold("output", output, "calls are shown as text too");
  if (leavesOutText(rules, plan.asked)) hold("output", output, "an answer with calls has no text");
  if (readsText) hold("text_calls", true, "calls that the model writes as text are taken for such");
  return list;
}

const stopReason = (mode: StopMode, graceMs: number): string =>
  mode === "first"
    ? "a choice is ended behind its first call"
    : `a choice is ended when no call has followed another for ${graceMs} ms`;

export function reportPlan(of: PlanRecord): PlanReport {
  return { ...reportRest(of), tools: of.tools.map(toolReport) };
}

/** The report without its tools, which come last. */
function reportRest(of: PlanRecord): Omit<PlanReport, "tools"> {
  const { upstream, profile, tools, straight, decisions } = of;
  return {
    object: "plan",
    upstream,
    profile: profile.name,
    straight,
    lossy: decisions.some(isLossy),
    verdicts: countVerdicts(tools).verdicts,
    parameters: of.parameters.map(({ path, target }) => parameterReport(path, target, decisions)),
    rules: of.rules,
    decisions,
  };
}

const toolReport = (tool: ToolVerdict): ToolReport => ({
  path: tool.path,
  kind: tool.kind,
  namespace: tool.namespace ?? null,
  name: tool.name,
  verdict: tool.verdict,
  upstream_name: tool.upstreamName ?? null,
  reason: tool.reason,
});

function parameterReport(
  path: string,
  target: string | undefined,
  decisions: readonly Decision[],
): ParameterReport {
  const decision = decisions.find((one) => one.path === path);
  if (decision !== undefined)
    return {
      path,
      verdict: decision.action,
      upstream_name: decision.action === "dropped" ? null : (target ?? null),
      reason: decision.reason,
    };
  // A parameter without a name there and without a decision is the default there.
  const reason = target === undefined ? "asks for what happens anyway" : "the upstream accepts it";
  return { path, verdict: "native", upstream_name: target ?? null, reason };
}

type KnownPlan = { readonly record: PlanRecord; readonly plan: StoredPlan };

/** The latest plans for a list of tools. */
const knownPlans = new WeakMap<readonly ToolVerdict[], KnownPlan[]>();
const MAX_KNOWN = 8;
const MAX_BYTES = 65_536;
const none: readonly never[] = [];

/**
 * A plan that is written as JSON when it is first read. Turns with the same plan, as in a
 * conversation, share one object, so that a store in memory keeps little for each and a database
 * receives the same text again.
 */
export function keptPlan(round: Planned, asked: Parameters<typeof planRecord>[1]): StoredPlan {
  const record = planRecord(round, asked);
  const tools = record.tools.length === 0 ? none : record.tools;
  let known = knownPlans.get(tools);
  if (known === undefined) knownPlans.set(tools, (known = []));
  for (const one of known) if (isSame(one.record, record)) return one.plan;
  const plan = storedPlan(record);
  if (plan.bytes > MAX_BYTES) return plan;
  if (known.length === MAX_KNOWN) known.shift();
  known.push({ record, plan });
  return plan;
}

const lists = ["decisions", "parameters", "rules"] as const;

/** True if two plans for the same tools have the same report. */
function isSame(one: PlanRecord, other: PlanRecord): boolean {
  if (one.upstream !== other.upstream || one.profile !== other.profile) return false;
  if (one.straight !== other.straight) return false;
  for (let kind = 0; kind < lists.length; kind++) {
    const key = lists[kind] ?? "rules";
    const list = one[key];
    const twins = other[key];
    if (list.length !== twins.length) return false;
    for (let at = 0; at < list.length; at++)
      if (!isSameEntry(list[at] ?? {}, twins[at] ?? {})) return false;
  }
  return true;
}

/** True if two flat objects have the same fields. */
function isSameEntry(one: Fields, other: Fields): boolean {
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
