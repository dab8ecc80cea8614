import { normalizeStream } from "../../stream/normalize.ts";
import { callsAlone } from "../../stream/calls/alone.ts";
import { dedup } from "../../stream/calls/dedup.ts";
import { settle } from "../../stream/calls/settle.ts";
import {
  createStopAfterToolsController,
  type StopRules,
} from "../../stream/calls/stop-after-tools.ts";
import { suppressTail } from "../../stream/calls/tail.ts";
import { perChoice, type PerChoice } from "../../stream/per-choice.ts";
import { chain, type Stage } from "../../stream/stage.ts";
import { stopSequences } from "../../stream/stop-sequences.ts";
import { restoreAnswer } from "../../tools/plan/restore.ts";
import { textCalls } from "../../tools/text-calls/text-calls.ts";
import { showUseTool } from "../../tools/text-calls/show.ts";
import type { Clock, NewId } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { OnLeftOut, TurnEvent } from "../../turn/event.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Extra, Turn } from "../../turn/turn.ts";
import type { Round } from "./round.ts";
import { leavesOutText, mayShape } from "./rules.ts";
import type { Tally } from "./tally.ts";

type Upstream = TurnEvent<UpstreamName>;
type Client = TurnEvent<ClientName>;

export type StageOptions = {
  readonly rules: CallRules;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Where it is counted what became of the calls. */
  readonly figures: Tally["seen"]["calls"];
  /** Is told of each call that the client is not given. */
  readonly leftOut: OnLeftOut;
  readonly report: OnDecision;
  /** The stop sequences that the gateway sees to itself, for the round under way; none: for no round of this turn. */
  readonly stopsAt?: (() => readonly string[]) | undefined;
};

/** Whether a choice was stopped by the gateway's rules. */
type IsStopped = (choice: number) => boolean;

/**
 * The stages that each round has for itself: the answer is normalized and its
 * calls are restored. Stages that have nothing to do are not there.
 */
export const roundStages = (
  round: Round,
  options: StageOptions,
  isStopped?: IsStopped,
): Stage<Upstream, Client> =>
  chain(normalized(round, options, isStopped), restoreAnswer(round.plan, options.report, options));

/** How long a call that looks complete must be silent before a stop may count on it. */
const QUIET_MS = 100;

function normalized(
  round: Round,
  { rules, clock, newId, report }: StageOptions,
  isStopped?: IsStopped,
): Stage<Upstream, Upstream> {
  const { plan, readsText } = round;
  const { params, traits } = plan.asked;
  let stage: Stage<Upstream, Upstream> = normalizeStream<UpstreamName>(
    params.n,
    isStopped,
    traits.choices,
  );
  if (readsText) stage = chain(textCalls(plan.identity, newId, report), stage);
  if (!needsEnds(rules, round)) return stage;
  const quietMs = rules.stopAfter ? Math.min(QUIET_MS, rules.graceMs) : undefined;
  return chain(
    stage,
    perChoice(() => settle<UpstreamName>({ clock, quietMs, report })),
  );
}

/**
 * Whether anybody waits for the end of a call: a rule, or a client whose dialect
 * tells it, where the upstream's has no word for it.
 */
function needsEnds(rules: CallRules, { plan, link, shaped }: Round): boolean {
  const { dedup: leavesOut, stopAfter, output } = rules;
  if (shaped && (leavesOut || stopAfter || output === "obsidian-xml")) return true;
  if (plan.verdicts.length === 0) return false;
  // An upstream without a dialect of ours tells the end of each call by itself.
  const isTold = link.upstream.traits?.endsCalls ?? true;
  return plan.asked.stream && plan.asked.traits.endsCalls && !isTold;
}

/**
 * The gateway's rules for the calls of a turn, each choice for itself; nothing
 * where none of them can change it. A stop counts the calls that the model makes,
 * repeated or not; the cap, those that the client is given.
 */
export function ruleStages(
  asked: Turn,
  { rules, clock, figures, leftOut, report, stopsAt }: StageOptions,
): PerChoice<ClientName> | undefined {
  if (!mayShape(rules, asked) && stopsAt === undefined) return undefined;
  const { stopAfter: stops, stopMode, graceMs, max } = rules;
  const limited = (limit: StopRules): Stage<Client, Client> =>
    createStopAfterToolsController({ rules: limit, clock, figures, leftOut, report });
  const make = (): Stage<Client, Client> => {
    const stages: Stage<Client, Client>[] = [];
    if (stopsAt !== undefined)
      stages.push(stopSequences({ sequences: stopsAt, ending: endingOf(asked) }));
    if (stops) stages.push(limited({ limit: stopMode === "first" ? 1 : Infinity, stops, graceMs }));
    if (rules.dedup) stages.push(dedup({ figures, leftOut, report }));
    if (max > 0) stages.push(limited({ limit: max, stops }));
    if (rules.suppressTail) stages.push(suppressTail(report));
    if (leavesOutText(rules, asked)) stages.push(callsAlone(report));
    if (rules.output === "obsidian-xml") stages.push(showUseTool(asked, rules.delimiter));
    return stages.reduce((first, second) => chain(first, second), same);
  };
  return perChoice(make, asked.params.n);
}

const same: Stage<Client, Client> = { each: (event, emit) => emit(event) };

const endingOf =
  ({ dialect, traits }: Turn) =>
  (sequence: string): Extra | undefined => {
    const fields = traits.stoppedAt?.(sequence);
    return fields === undefined ? undefined : { dialect, fields };
  };
