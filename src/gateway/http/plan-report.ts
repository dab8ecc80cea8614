import { listParams } from "../../dialects/shared/params.ts";
import { countVerdicts, type ToolVerdict, type Verdict } from "../../tools/plan/plan.ts";
import { boundDecisions, isLossy, type Action, type Decision } from "../../turn/decision.ts";
import type { Weigh } from "../../history/store.ts";
import type { CallRules, StopMode } from "../../turn/rules.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Turn } from "../../turn/turn.ts";
import { modelProfile } from "../../profiles/models.ts";
import type { DisclosureSettings } from "../fold/settings.ts";
import { disclosureStage } from "../fold/stage.ts";
import { toolSizeOf, type ToolSize } from "../fold/tool-size.ts";
import type { GatewayState } from "../state.ts";
import { prepareRound, type Asked, type Round } from "../run/round.ts";
import { leavesOutText } from "../run/rules.ts";
import { selectChain } from "../run/select.ts";

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
  /** What the gateway asks of the calls in the answer. */
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

/** What is kept of a turn made ready: all that its report needs, and no content. */
export type PlanRecord = Pick<Round, "link" | "profile" | "straight" | "decisions"> & {
  readonly tools: readonly ToolVerdict[];
  readonly parameters: ReturnType<typeof listParams>;
  readonly rules: readonly RuleReport[];
};

/** `repairs` is what had to be done to the answer, once there is one. */
export const planRecord = (
  round: Round,
  { rules, repairs = [] }: { readonly rules: CallRules; readonly repairs?: readonly Decision[] },
): PlanRecord => {
  const { link, profile, plan, straight, decisions } = round;
  return {
    link,
    profile,
    straight,
    decisions: [...boundDecisions(decisions), ...repairs],
    tools: plan.verdicts,
    parameters: listParams(plan.turn, profile, link.upstream.traits),
    rules: listRules(rules, round),
  };
};

/** The rules that hold for the calls of a turn: all but one also for calls of what nobody declared. */
function listRules(rules: CallRules, { plan, readsText }: Round): readonly RuleReport[] {
  const { parallel, max, stopAfter, stopMode, graceMs, dedup, suppressTail, output = "" } = rules;
  const list: RuleReport[] = [];
  const hold = (setting: string, value: RuleReport["value"], reason: string): void =>
    void list.push({ path: `tools.${setting}`, value, reason });
  if (parallel === false && plan.asked.tools.length > 0)
    hold("parallel", false, "a choice is given its first call alone");
  if (max > 0) hold("block_max", max, `a choice is given no more calls than ${max}`);
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
export function reportRest(of: PlanRecord): Omit<PlanReport, "tools"> {
  const { link, profile, tools, straight, decisions } = of;
  return {
    object: "plan",
    upstream: link.name,
    profile: profile.name,
    straight,
    lossy: decisions.some(isLossy),
    verdicts: countVerdicts(tools),
    parameters: of.parameters.map(({ path, target }) => parameterReport(path, target, decisions)),
    rules: of.rules,
    decisions,
  };
}

export const toolReport = (tool: ToolVerdict): ToolReport => ({
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
  // What has no word there and no decision asks for nothing that would not happen anyway.
  const reason = target === undefined ? "asks for what happens anyway" : "the upstream takes it";
  return { path, verdict: "native", upstream_name: target ?? null, reason };
}

/** The plan of a past turn of a tenant's, as JSON: by the id of its answer or, while it is recent, of its request. */
export async function findPlan(
  { store, recent }: Pick<GatewayState, "store" | "recent">,
  tenant: Tenant,
  id: string,
  weigh: Weigh,
): Promise<string | undefined> {
  const stored = await store.findPlan(tenant, id, weigh);
  if (stored !== undefined) return stored;
  const found = recent.find(id, tenant);
  if (found?.plan !== undefined) {
    weigh(found.plan.bytes);
    return found.plan.json();
  }
  const answerId = found?.turn.type === "turn" ? found.turn.answerId : undefined;
  return answerId === undefined ? undefined : store.findPlan(tenant, answerId, weigh);
}

/** A plan that is made before anyone is called also tells how much of the request its tools are. */
export type PlanPreview = PlanReport & { readonly tool_size: ToolSize | null };

/** Plans a turn without calling anyone. */
export function planTurn(
  turn: Turn,
  { config, upstreams }: Pick<GatewayState, "config" | "upstreams">,
  asked: Asked & { readonly disclosure: DisclosureSettings },
): PlanPreview {
  const [link] = selectChain(turn.model, config, upstreams);
  const profile = modelProfile(link.upstream.profile, link.model);
  const stage = disclosureStage(turn, [profile], asked.disclosure);
  const report = reportPlan(planRecord(prepareRound(turn, link, { ...asked, stage }), asked));
  return { ...report, tool_size: toolSizeOf(turn, profile, asked.disclosure) ?? null };
}
