import type { Decision } from "../../turn/decision.ts";
import type { Fault } from "../../turn/fault.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Params, Turn } from "../../turn/turn.ts";
import { planHistory } from "../history/history.ts";
import type { Bound, Identities, ToolVerdict, Verdict } from "./declare.ts";
import { planFormat, withInstructions, type FormatCheck, type FormatPlan } from "./format.ts";
import { sealsItems, type Destination, type Seal } from "./reasoning.ts";
import { offerFor } from "./tool-choice.ts";
import { toolsetOf } from "./toolset.ts";

export type { ToolVerdict, Verdict } from "./declare.ts";

/** The changes to one request that let one upstream take it. */
export type Plan = {
  /** The turn as it is sent to the upstream. */
  readonly turn: Turn<UpstreamName>;
  /** The client's turn, for which answers are made. */
  readonly asked: Turn;
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: Identities;
  /** The client's limits on an answer. */
  readonly limits: Limits;
  /** A check of the answer, if the upstream cannot be held to the format. */
  readonly check: FormatCheck | undefined;
  /** Marks the reasoning of the answer with its origin, if the client can keep it. */
  readonly seal: Seal | undefined;
  /** True if nothing is renamed, degraded, dropped or repaired: the client's own body may be sent. */
  readonly identical: boolean;
};

type Limits = {
  /** The tools that the answer may call; undefined: any. */
  readonly allowed: ReadonlySet<Bound> | undefined;
  /** True if it may make several calls at once. */
  readonly parallel: boolean;
};

/** Plans a request for an upstream. Throws a Fault if the request cannot be met. */
export function planTools(turn: Turn, profile: Profile, to: Destination = {}): Plan {
  const { plan, fault } = previewTools(turn, profile, to);
  if (fault !== undefined) throw fault;
  return plan;
}

/** Plans a request for display: a fault comes beside the plan. */
export function previewTools(
  turn: Turn,
  profile: Profile,
  to: Destination = {},
): { readonly plan: Plan; readonly fault: Fault | undefined } {
  const set = toolsetOf(turn, profile);
  const { offer, fault } = offerFor(set, turn, profile);
  const history = planHistory(turn, set, profile, to);
  const format = turn.format === undefined ? noFormat : planFormat(turn, profile);
  const { params, decision } = planParams(turn, set.offered.length > 0, profile);
  const added =
    format.instructions === undefined ? offer.rests : [...offer.rests, format.instructions];
  const { items, places } =
    added.length === 0 ? history : withInstructions(history, added.join("\n\n"), profile);
  const decisions = joined(
    turn.repairs ?? none,
    offer.decisions,
    decision === undefined ? none : [decision],
    format.decisions,
    history.decisions,
  );
  const isSame =
    (turn.repairs ?? none).length === 0 &&
    set.identical &&
    offer.identical &&
    decision === undefined &&
    format.decisions.length === 0 &&
    (history.items as unknown) === turn.items;
  const plan: Plan = {
    // If no name differs, the client's turn is the upstream's.
    turn: isSame
      ? (turn as unknown as Turn<UpstreamName>)
      : {
          ...turn,
          tools: offer.tools,
          toolChoice: offer.toolChoice,
          items,
          places,
          format: format.format,
          params,
        },
    asked: turn,
    verdicts: set.verdicts,
    decisions,
    identity: set.identity,
    limits: { allowed: offer.allowed, parallel: turn.params.parallelCalls !== false },
    check: format.check,
    seal: to.origin === undefined ? undefined : sealOf(turn, profile, isSame, to.origin),
    identical: isSame,
  };
  return { plan, fault: set.faults[0] ?? fault };
}

const none: readonly Decision[] = [];
const noFormat: FormatPlan = { format: undefined, decisions: none };

/** All decisions in one list; a list that is the only one with entries is not copied. */
function joined(...lists: readonly (readonly Decision[])[]): readonly Decision[] {
  let all = none;
  for (const list of lists) if (list.length > 0) all = all.length === 0 ? list : [...all, ...list];
  return all;
}

/**
 * The seal on answers for a client whose dialect can carry reasoning. In the
 * straight lane nothing is added to the upstream's answer.
 */
function sealOf(turn: Turn, profile: Profile, isSame: boolean, from: string): Seal | undefined {
  const isOwn = profile.dialect === turn.dialect;
  const { sealsReasoning, sealsInDetails: inDetails, signsReasoning } = turn.traits;
  if ((isSame && isOwn) || !(sealsReasoning || inDetails === true)) return undefined;
  // A provider of the client's own dialect puts what it wants back into details.
  if (inDetails === true && isOwn) return undefined;
  const isWorded = signsReasoning === true;
  const reasoning = isWorded || profile.reasoning !== "none";
  const hasItems = sealsItems(profile);
  return { from, dialect: turn.dialect, reasoning, isWorded, inDetails, hasItems };
}

export function countVerdicts(verdicts: readonly ToolVerdict[]): Record<Verdict, number> {
  const counts = { native: 0, degraded: 0, deferred: 0, ignored: 0, refused: 0 };
  for (const { verdict } of verdicts) counts[verdict]++;
  return counts;
}

/** The counted verdicts of a plan, in the words and order of the `x-patchbay-plan` header. */
export const summary = ({ verdicts }: Pick<Plan, "verdicts">): string => summaryOf(verdicts);

const summaryOf = memoizeByIdentity((verdicts: readonly ToolVerdict[]): string => {
  const { native, degraded, deferred, ignored } = countVerdicts(verdicts);
  return `native=${native} degraded=${degraded} deferred=${deferred} ignored=${ignored}`;
});

/** Plans `parallel_tool_calls`. If the upstream has no such parameter, further calls are withheld from the answer. */
function planParams(
  turn: Turn,
  hasTools: boolean,
  profile: Profile,
): { readonly params: Params; readonly decision?: Decision } {
  const { parallelCalls, ...params } = turn.params;
  if (parallelCalls === undefined) return turn;
  const path = "parallel_tool_calls";
  if (!hasTools && turn.dialect !== profile.dialect)
    return {
      params,
      decision: { path, action: "repaired", reason: "it says nothing without tools" },
    };
  if (profile.params.parallelCalls !== null) return turn;
  const reason = parallelCalls
    ? "the upstream does as it likes"
    : "the upstream cannot be told, so only the first call of an answer is passed on";
  return { params, decision: { path, action: "reshaped", reason } };
}
