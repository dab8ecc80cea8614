import { normalizeStream } from "../stream/normalize.ts";
import { callsAlone } from "../stream/calls/alone.ts";
import { dedup } from "../stream/calls/dedup.ts";
import { settle } from "../stream/calls/settle.ts";
import {
  createStopAfterToolsController,
  type StopRules,
} from "../stream/calls/stop-after-tools.ts";
import { suppressTail } from "../stream/calls/tail.ts";
import { perChoice, type PerChoice } from "../stream/per-choice.ts";
import { chain, type Stage } from "../stream/stage.ts";
import { restoreAnswer } from "../tools/plan/restore-answer.ts";
import { textCalls } from "../tools/text-calls/text-calls.ts";
import { showUseTool } from "../tools/text-calls/use-tool/show.ts";
import type { Clock, NewId } from "../turn/clock.ts";
import type { OnDecision } from "../turn/decision.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName, UpstreamName } from "../turn/names.ts";
import type { CallRules } from "../turn/rules.ts";
import { choicesIn, endsCalls } from "./dialects.ts";
import type { Round } from "./ready.ts";
import { leavesOutText } from "./rules.ts";
import type { Tally } from "./tally.ts";

type Upstream = TurnEvent<UpstreamName>;
type Client = TurnEvent<ClientName>;

export type AnswerOptions = {
  readonly round: Round;
  readonly rules: CallRules;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly tally: Tally;
  readonly report: OnDecision;
};

/**
 * All stages between an upstream and a client, in their order: an answer is made
 * lawful, its calls are restored, then the gateway's rules for calls hold, and last
 * it is counted. Stages that have nothing to do are not there.
 */
export function answerStages(options: AnswerOptions): Stage<Upstream, Client> {
  const { round, tally, report } = options;
  const { plan, shaped } = round;
  const restored = restoreAnswer(plan, report, tally.seen.calls);
  if (!shaped) return chain(lawful(options), chain(restored, tally));
  const rules = shape(options);
  return chain(lawful(options, rules.isDone), chain(restored, chain(rules, tally)));
}

/** How long a call that looks complete must be silent before a stop may count on it. */
const QUIET_MS = 100;

function lawful(
  { round, rules, clock, newId, report }: AnswerOptions,
  isStopped?: (choice: number) => boolean,
): Stage<Upstream, Upstream> {
  const { plan, readsText } = round;
  const { params, dialect } = plan.asked;
  const most = choicesIn(dialect);
  let stage: Stage<Upstream, Upstream> = normalizeStream<UpstreamName>(params.n, isStopped, most);
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
function needsEnds(rules: CallRules, { plan, profile, shaped }: Round): boolean {
  const { dedup: leavesOut, stopAfter, output } = rules;
  if (shaped && (leavesOut || stopAfter || output === "obsidian-xml")) return true;
  if (plan.verdicts.length === 0) return false;
  return plan.asked.stream && endsCalls(plan.asked.dialect) && !endsCalls(profile.dialect);
}

/**
 * What the rules ask of each choice for itself. A stop counts the calls that the
 * model makes, repeated or not; the cap, those that the client is given.
 */
function shape({ round, rules, clock, tally, report }: AnswerOptions): PerChoice<ClientName> {
  const { asked } = round.plan;
  const { stopAfter: stops, stopMode, graceMs, max } = rules;
  const figures = tally.seen.calls;
  const limited = (limit: StopRules): Stage<Client, Client> =>
    createStopAfterToolsController({ rules: limit, clock, figures, report });
  const make = (): Stage<Client, Client> => {
    const stages: Stage<Client, Client>[] = [];
    if (stops) stages.push(limited({ limit: stopMode === "first" ? 1 : Infinity, stops, graceMs }));
    if (rules.dedup) stages.push(dedup({ figures, report }));
    if (max > 0) stages.push(limited({ limit: max, stops }));
    if (rules.suppressTail) stages.push(suppressTail(report));
    if (leavesOutText(rules, asked)) stages.push(callsAlone(report));
    if (rules.output === "obsidian-xml") stages.push(showUseTool(asked, rules.delimiter));
    return stages.reduce((first, second) => chain(first, second), same);
  };
  return perChoice(make, asked.params.n);
}

const same: Stage<Client, Client> = { each: (event, emit) => emit(event) };
