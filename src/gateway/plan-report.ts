import type { ToolVerdict, Verdict } from "../tools/plan.ts";
import { isLossy, type Decision } from "../turn/decision.ts";
import type { Fields } from "../turn/turn.ts";
import { dialects } from "./dialects.ts";
import type { House } from "./house.ts";
import { ready, type Readied } from "./ready.ts";
import { selectChain } from "./select.ts";

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

/** What is kept of a turn made ready: all that its report needs, and nothing of what was said. */
export type Planned = Pick<Readied, "link" | "straight" | "decisions"> & {
  readonly tools: readonly ToolVerdict[];
};

/** `mended` is what had to be done to the answer, once there is one. */
export const planned = (
  { link, plan, straight, decisions }: Readied,
  mended: readonly Decision[] = [],
): Planned => ({
  link,
  straight,
  decisions: mended.length === 0 ? decisions : [...decisions, ...mended],
  tools: plan.verdicts,
});

export function reportPlan({ link, tools, straight, decisions }: Planned): PlanReport {
  const verdicts = { native: 0, degraded: 0, deferred: 0, ignored: 0, refused: 0 };
  for (const { verdict } of tools) verdicts[verdict]++;
  return {
    object: "plan",
    upstream: `${link.upstream.name}/${link.model}`,
    profile: link.upstream.profile.name,
    straight,
    lossy: decisions.some(isLossy),
    verdicts,
    tools: tools.map(toolReport),
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

/** Plans a Chat or Responses body without calling anyone. */
export function planRequest(
  body: Fields,
  { config, upstreams }: Pick<House, "config" | "upstreams">,
  strict: boolean,
): PlanReport {
  const turn = ("messages" in body ? dialects.chat : dialects.responses).readRequest(body);
  const [link] = selectChain(turn.model, config, upstreams);
  return reportPlan(planned(ready(turn, link, strict)));
}
