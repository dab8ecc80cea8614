import { takesParams } from "../dialects/params.ts";
import { planTools, type Plan } from "../tools/plan.ts";
import { isLossy, type Decision } from "../turn/decision.ts";
import { Fault } from "../turn/fault.ts";
import type { Profile } from "../turn/profile.ts";
import type { Turn } from "../turn/turn.ts";
import { modelProfile } from "../upstreams/profiles/models.ts";
import type { Prepared } from "../upstreams/upstream.ts";
import { placeOf, type Link } from "./select.ts";

/** A turn made ready for one upstream. */
export type Readied = {
  readonly link: Link;
  /** What the upstream can do with the link's model. */
  readonly profile: Profile;
  readonly plan: Plan;
  readonly prepared: Prepared;
  /** Same dialect on both sides and nothing to change: the upstream's frames go through untouched. */
  readonly straight: boolean;
  readonly decisions: readonly Decision[];
};

/** Plans a turn for an upstream and writes its request. Nobody is called. */
export function ready(turn: Turn, link: Link, strict: boolean): Readied {
  const profile = modelProfile(link.upstream.profile, link.model);
  const plan = planTools(turn, profile, { origin: placeOf(link) });
  const straight = plan.identical && profile.dialect === turn.dialect && takesParams(turn, profile);
  const prepared = link.upstream.prepare(plan.turn, { model: link.model, straight });
  const decisions =
    prepared.decisions.length === 0 ? plan.decisions : [...plan.decisions, ...prepared.decisions];
  if (strict && decisions.some(isLossy)) throw lossy(decisions.filter(isLossy));
  return { link, profile, plan, prepared, straight, decisions };
}

function lossy(losses: readonly Decision[]): Fault {
  const list = losses
    .map(({ path, action, reason }) => `\`${path}\` ${action}: ${reason}`)
    .join("; ");
  return new Fault(
    "plan.lossy",
    `Strictness is on and the request would not arrive whole: ${list}. Leave these out, choose another model, or turn strictness off.`,
    { param: losses[0]?.path },
  );
}
