import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Params, Turn } from "../../turn/turn.ts";
import { type HistoryPlan, isPlainHistory, planHistory } from "../history/history.ts";
import { toolKindOf } from "../kinds/kinds.ts";
import type { Bound, ToolIdentityMap } from "../names/identity.ts";
import type { ToolVerdict, Verdict } from "./declare.ts";
import { planFormat, withInstructions, type FormatCheck, type FormatPlan } from "./format.ts";
import { sealsItems, type ReasoningTarget, type Seal } from "./reasoning.ts";
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
  readonly identity: ToolIdentityMap;
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
  readonly parallel: boolean;
};

/** Plans a request for an upstream. Throws a Fault if the request cannot be met. */
export function planTools(turn: Turn, profile: Profile, to: ReasoningTarget = {}): Plan {
  const set = toolsetOf(turn, profile);
  if (set.fault !== undefined) throw set.fault;
  const offer = offerFor(set, turn, profile);
  // If no name differs, the client's turn is the upstream's.
  const same = turn as unknown as Turn<UpstreamName>;
  const history: HistoryPlan = isPlainHistory(turn, set, profile)
    ? { items: same.items, places: same.places, decisions: none }
    : planHistory(turn, set, profile, to);
  const hasTools = set.offered.length > 0;
  const format: FormatPlan =
    turn.format === undefined ? unchanged : planFormat(turn, hasTools, profile);
  const parallel =
    turn.params.parallelCalls === undefined ? undefined : planParallel(turn, hasTools, profile);
  const { repairs = none } = turn;
  const identical =
    repairs.length === 0 &&
    set.identical &&
    offer.identical &&
    parallel === undefined &&
    format.decisions.length === 0 &&
    history.items === same.items;
  const { tools, toolChoice, rests } = offer;
  const { instructions } = format;
  const added = instructions === undefined ? rests : [...rests, instructions];
  const { items, places } =
    added.length === 0 ? history : withInstructions(history, added.join("\n\n"), profile);
  const { params } = parallel ?? turn;
  return {
    turn: identical
      ? same
      : { ...turn, tools, toolChoice, items, places, format: format.format, params },
    asked: turn,
    verdicts: set.verdicts,
    decisions: [
      ...repairs,
      ...offer.decisions,
      ...(parallel === undefined ? none : [parallel.decision]),
      ...format.decisions,
      ...history.decisions,
    ],
    identity: set.identity,
    limits: { allowed: offer.allowed, parallel: turn.params.parallelCalls !== false },
    check: format.check,
    seal: to.origin === undefined ? undefined : sealOf(turn, profile, identical, to.origin),
    identical,
  };
}

const none: readonly Decision[] = [];
const unchanged: FormatPlan = { format: undefined, decisions: none };

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

type Counted = {
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** The number of tools by verdict and kind. Unknown kinds are words of clients and count as `other`. */
  readonly kinds: readonly { readonly verdict: Verdict; readonly kind: string; count: number }[];
  /** The value of the `x-patchbay-plan` header. */
  readonly summary: string;
};

export const countVerdicts = memoizeByIdentity((list: readonly ToolVerdict[]): Counted => {
  const verdicts = { native: 0, degraded: 0, deferred: 0, ignored: 0, refused: 0 };
  const kinds = new Map<string, { verdict: Verdict; kind: string; count: number }>();
  for (const { verdict, kind: declared } of list) {
    verdicts[verdict]++;
    const kind = toolKindOf(declared)?.kind ?? "other";
    const known = kinds.get(verdict + kind);
    if (known === undefined) kinds.set(verdict + kind, { verdict, kind, count: 1 });
    else known.count++;
  }
  const { native, degraded, deferred, ignored } = verdicts;
  const summary = `native=${native} degraded=${degraded} deferred=${deferred} ignored=${ignored}`;
  return { verdicts, kinds: [...kinds.values()], summary };
});

/** The counted verdicts of a plan, in the words and order of the `x-patchbay-plan` header. */
export const summary = ({ verdicts }: Pick<Plan, "verdicts">): string =>
  countVerdicts(verdicts).summary;

type ParallelPlan = { readonly params: Params; readonly decision: Decision };

/**
 * Plans `parallel_tool_calls`; undefined if it is sent unchanged. If the upstream has no such
 * parameter, further calls are withheld from the answer.
 */
function planParallel(turn: Turn, hasTools: boolean, profile: Profile): ParallelPlan | undefined {
  const { parallelCalls, ...params } = turn.params;
  const path = "parallel_tool_calls";
  if (!hasTools && turn.dialect !== profile.dialect) {
    const reason = "it has no effect without tools";
    return { params, decision: { path, action: "repaired", reason } };
  }
  if (profile.params.parallelCalls !== null) return undefined;
  const reason =
    parallelCalls === true
      ? "the upstream decides how many calls an answer has"
      : "the upstream has no such parameter, so only the first call of an answer is sent to the client";
  return { params, decision: { path, action: "reshaped", reason } };
}
