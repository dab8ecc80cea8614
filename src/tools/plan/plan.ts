import type { Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import { memoizeByIdentity } from "../../turn/memoize.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { DialectName, Params, ToolChoice, Turn } from "../../turn/turn.ts";
import { planHistory } from "../history/history.ts";
import { planToolChoice, type ToolChoicePlan } from "./tool-choice.ts";
import { type Bound, type Identities, restsOf, type ToolVerdict, type Verdict } from "./declare.ts";
import { type FormatCheck, planFormat, withInstructions } from "./format.ts";
import { type Destination, type Seal, sealsItems } from "./reasoning.ts";
import { type Toolset, toolsetOf } from "./toolset.ts";

export type { ToolVerdict, Verdict } from "./declare.ts";

/** What is done to one request so that one upstream can take it. */
export type Plan = {
  /** The turn as it is sent to the upstream. */
  readonly turn: Turn<UpstreamName>;
  /** The turn of the client, for which answers are made. */
  readonly asked: Turn;
  readonly verdicts: readonly ToolVerdict[];
  readonly decisions: readonly Decision[];
  readonly identity: Identities;
  /** What the client allows of an answer. */
  readonly limits: Limits;
  /** What the answer must be, where the upstream cannot be held to it. */
  readonly check: FormatCheck | undefined;
  /** How the reasoning of the answer is marked with its origin, where the client keeps it. */
  readonly seal: Seal | undefined;
  /** Nothing is renamed, degraded, dropped or repaired: the client's own body may be sent. */
  readonly identical: boolean;
};

type Limits = {
  /** The tools it may call; none named: any. */
  readonly allowed: ReadonlySet<Bound> | undefined;
  /** Whether it may make several calls at once. */
  readonly parallel: boolean;
};

/** Plans a request for an upstream. Throws a Fault where the request cannot be met. */
export function planTools(turn: Turn, profile: Profile, to: Destination = {}): Plan {
  const { plan, fault } = previewTools(turn, profile, to);
  if (fault !== undefined) throw fault;
  return plan;
}

/** The same for display: what stands in the way of sending it comes with the plan. */
export function previewTools(
  turn: Turn,
  profile: Profile,
  to: Destination = {},
): { readonly plan: Plan; readonly fault: Fault | undefined } {
  const { origin } = to;
  const set = toolsetOf(turn, profile);
  const { choice, fault } = toolChoiceFor(set, turn.toolChoice, { profile, dialect: turn.dialect });
  const history = planHistory(turn, set, profile, to);
  const format = planFormat(turn.format, profile, {
    path: turn.traits.format.path,
    isOwn: turn.dialect === profile.dialect,
    openStrict: turn.traits.openStrict,
  });
  const params = planParams(turn, set, profile);
  const instructions = addedInstructions(format.instructions, set, choice);
  const { items, places } =
    instructions === undefined ? history : withInstructions(history, instructions, profile);
  const { repairs = none } = turn;
  const isSame =
    repairs.length === 0 &&
    set.identical &&
    choice.identical &&
    params.decisions.length === 0 &&
    format.decisions.length === 0 &&
    (history.items as unknown) === turn.items;
  const decisions = [
    ...repairs,
    ...set.decisions,
    ...choice.decisions,
    ...params.decisions,
    ...format.decisions,
    ...history.decisions,
  ];
  const plan: Plan = {
    // The names are the same on both sides, so the client's turn is the upstream's.
    turn: isSame
      ? (turn as unknown as Turn<UpstreamName>)
      : {
          ...turn,
          tools: choice.tools,
          toolChoice: choice.toolChoice,
          items,
          places,
          format: format.format,
          params: params.params,
        },
    asked: turn,
    verdicts: set.verdicts,
    decisions: decisions.length === 0 ? none : decisions,
    identity: set.identity,
    limits: { allowed: choice.allowed, parallel: turn.params.parallelCalls !== false },
    check: format.check,
    seal: origin === undefined ? undefined : sealOf(turn, profile, isSame, origin),
    identical: isSame,
  };
  return { plan, fault: set.faults[0] ?? fault };
}

const none: readonly Decision[] = [];

/** Text that is added to the instructions, if any. */
function addedInstructions(
  format: string | undefined,
  { offered }: Toolset,
  { tools }: ToolChoicePlan,
): string | undefined {
  const rests = restsOf(offered, tools);
  const instructions = format === undefined ? rests : [...rests, format];
  return instructions.length === 0 ? undefined : instructions.join("\n\n");
}

/**
 * How answers are marked for a client whose dialect can carry reasoning. In the
 * straight lane nothing is added to what the upstream says.
 */
function sealOf(turn: Turn, profile: Profile, isSame: boolean, from: string): Seal | undefined {
  const isStraight = isSame && profile.dialect === turn.dialect;
  const { sealsReasoning, sealsInDetails: inDetails, signsReasoning } = turn.traits;
  if (isStraight || !(sealsReasoning || inDetails === true)) return undefined;
  // A provider of the client's own dialect says in details what it wants back.
  if (inDetails === true && profile.dialect === turn.dialect) return undefined;
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

/** The plan's verdicts, counted, in the words and order of the `x-patchbay-plan` header. */
export const summary = ({ verdicts }: Pick<Plan, "verdicts">): string => summaryOf(verdicts);

const summaryOf = memoizeByIdentity((verdicts: readonly ToolVerdict[]): string => {
  const { native, degraded, deferred, ignored } = countVerdicts(verdicts);
  return `native=${native} degraded=${degraded} deferred=${deferred} ignored=${ignored}`;
});

/** How many different choices are remembered with one list of tools. */
const MOST = 64;

type To = { readonly profile: Profile; readonly dialect: DialectName };

function toolChoiceFor(
  set: Toolset,
  choice: ToolChoice | undefined,
  to: To,
): { readonly choice: ToolChoicePlan; readonly fault?: Fault } {
  const key = `${to.dialect}${choice === undefined ? "" : JSON.stringify(choice)}`;
  const known = set.toolChoices.get(key);
  if (known !== undefined) return { choice: known };
  try {
    const plan = planToolChoice(choice, set, to);
    if (set.toolChoices.size < MOST) set.toolChoices.set(key, plan);
    return { choice: plan };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { choice: planToolChoice(undefined, set, to), fault: error };
  }
}

/** An upstream that cannot be told to make one call at once has its further calls withheld. */
function planParams(
  turn: Turn,
  { offered }: Toolset,
  profile: Profile,
): { readonly params: Params; readonly decisions: readonly Decision[] } {
  const { parallelCalls, ...params } = turn.params;
  if (parallelCalls === undefined) return { params: turn.params, decisions: none };
  const path = "parallel_tool_calls";
  if (offered.length === 0 && turn.dialect !== profile.dialect) {
    const reason = "it says nothing without tools";
    return { params, decisions: [{ path, action: "repaired", reason }] };
  }
  if (profile.params.parallelCalls !== null) return { params: turn.params, decisions: none };
  const reason = parallelCalls
    ? "the upstream does as it likes"
    : "the upstream cannot be told, so only the first call of an answer is passed on";
  return { params, decisions: [{ path, action: "reshaped", reason }] };
}
