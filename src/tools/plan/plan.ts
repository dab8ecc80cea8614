import type { Decision } from "../../turn/decision.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { AnyName, UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Item, Params, Turn } from "../../turn/turn.ts";
import { planHistory, type HistoryPlan } from "../history/history.ts";
import { isPlainHistory } from "../history/plain.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { Bound, Identities, ToolVerdict, Verdict } from "./declare.ts";
import { planFormat, withInstructions, type FormatCheck, type FormatPlan } from "./format.ts";
import { sealsItems, type Destination, type Seal } from "./reasoning.ts";
import { offerFor, type ToolOffer } from "./tool-choice.ts";
import { toolsetOf, type Toolset } from "./toolset.ts";

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
  const set = toolsetOf(turn, profile);
  if (set.fault !== undefined) throw set.fault;
  const offer = offerFor(set, turn, profile);
  const isPlain = isPlainHistory(turn, set, profile);
  const isSame =
    isPlain &&
    set.identical &&
    offer.identical &&
    turn.format === undefined &&
    turn.params.parallelCalls === undefined &&
    (turn.repairs ?? none).length === 0;
  // If no name differs, the client's turn is the upstream's.
  const changes = isSame ? sameTurn(turn) : changedTurn({ turn, set, offer, profile, to, isPlain });
  return {
    ...changes,
    asked: turn,
    verdicts: set.verdicts,
    identity: set.identity,
    limits: { allowed: offer.allowed, parallel: turn.params.parallelCalls !== false },
    seal: to.origin === undefined ? undefined : sealOf(turn, profile, changes.identical, to.origin),
  };
}

type Changes = Pick<Plan, "turn" | "decisions" | "check" | "identical">;

const none: readonly Decision[] = [];
const noFormat: FormatPlan = { format: undefined, decisions: none };

const sameTurn = (turn: Turn, decisions = none, check?: FormatCheck): Changes => ({
  turn: turn as unknown as Turn<UpstreamName>,
  decisions,
  check,
  identical: true,
});

type Planned = {
  readonly turn: Turn;
  readonly set: Toolset;
  readonly offer: ToolOffer;
  readonly profile: Profile;
  readonly to: Destination;
  readonly isPlain: boolean;
};

const unchanged = ({ items, places }: Turn): HistoryPlan => ({
  items: items as readonly Item<AnyName>[] as readonly Item<UpstreamName>[],
  places,
  decisions: none,
});

/** The turn as it is sent, with every decision on it. */
function changedTurn({ turn, set, offer, profile, to, isPlain }: Planned): Changes {
  const history = isPlain ? unchanged(turn) : planHistory(turn, set, profile, to);
  const format = turn.format === undefined ? noFormat : planFormat(turn, profile);
  const { params, decision } = planParams(turn, set.offered.length > 0, profile);
  const repairs = turn.repairs ?? none;
  const decisions = [
    ...repairs,
    ...offer.decisions,
    ...(decision === undefined ? none : [decision]),
    ...format.decisions,
    ...history.decisions,
  ];
  const isSame =
    repairs.length === 0 &&
    set.identical &&
    offer.identical &&
    decision === undefined &&
    format.decisions.length === 0 &&
    (history.items as unknown) === turn.items;
  if (isSame) return sameTurn(turn, decisions, format.check);
  const added =
    format.instructions === undefined ? offer.rests : [...offer.rests, format.instructions];
  const { items, places } =
    added.length === 0 ? history : withInstructions(history, added.join("\n\n"), profile);
  const { tools, toolChoice } = offer;
  const sent = { ...turn, tools, toolChoice, items, places, format: format.format, params };
  return { turn: sent, decisions, check: format.check, identical: false };
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

/** The counts of a list of verdicts, made once for each list. */
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
    const kind = kindOf(declared)?.kind ?? "other";
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
