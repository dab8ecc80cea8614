import { StreamNormalizer } from "../../stream/normalize.ts";
import { dedup } from "../../stream/calls/dedup.ts";
import { settle } from "../../stream/calls/settle.ts";
import {
  createStopAfterToolsController,
  type StopRules,
} from "../../stream/calls/stop-after-tools.ts";
import { callsAlone, suppressTail } from "../../stream/calls/text.ts";
import { perChoice, type PerChoice } from "../../stream/per-choice.ts";
import { chain, type EventStage } from "../../stream/stage.ts";
import { StopSequences } from "../../stream/stop-sequences.ts";
import { restoreAnswer } from "../../tools/plan/restore.ts";
import { textCalls } from "../../tools/text-calls/text-calls.ts";
import { showUseTool } from "../../tools/text-calls/show.ts";
import { append } from "../../turn/append.ts";
import type { Clock } from "../../turn/clock.ts";
import type { AnyName, ClientName, UpstreamName } from "../../turn/names.ts";
import type { Extra, Turn } from "../../turn/turn.ts";
import { takesParam } from "../../dialects/shared/params.ts";
import type { Round } from "./round.ts";
import { leavesOutText, mayShape } from "./rules.ts";
import type { Run } from "./run.ts";
import type { Link } from "./select.ts";

type Time = Pick<Clock, "now">;

/** True if the gateway's rules have stopped a choice. */
type IsStopped = (choice: number) => boolean;

/**
 * The stages of one round, without those that have nothing to do: calls in text are read, the
 * answer is normalized, calls are restored, and the stage of the turn follows.
 */
export function roundStages(
  run: Run,
  round: Round,
  time: Time,
  isStopped: IsStopped | undefined,
): readonly EventStage<AnyName>[] {
  const { rules, state, report, stage } = run;
  const { plan, link, shaped, readsText } = round;
  const { params, traits } = plan.asked;
  const stages: EventStage<AnyName>[] = [];
  if (readsText) stages.push(textCalls(plan.identity, state.newId, report));
  stages.push(new StreamNormalizer<UpstreamName>(params.n, isStopped, traits.choices));
  // A rule, or the client's dialect, may need the end of each call, which some dialects leave out.
  const { dedup: leavesOut, stopAfter, output } = rules;
  const ruleNeedsEnds = shaped && (leavesOut || stopAfter || output === "obsidian-xml");
  const clientNeedsEnds =
    plan.verdicts.length > 0 &&
    plan.asked.stream &&
    traits.endsCalls &&
    link.upstream.traits?.endsCalls === false;
  if (ruleNeedsEnds || clientNeedsEnds) {
    const quietMs = rules.stopAfter ? Math.min(QUIET_MS, rules.graceMs) : undefined;
    stages.push(perChoice(() => settle({ clock: time, quietMs, report })));
  }
  append(stages, restoreAnswer(plan, report, run));
  if (stage !== undefined) stages.push(stage);
  return stages;
}

/** Milliseconds of silence after which a stop may treat a call that looks complete as complete. */
const QUIET_MS = 100;

/**
 * The gateway's rules for the calls of a turn, for each choice apart; undefined if none of them
 * can change the answer. A stop counts the calls that the model makes, repeated or not; the cap
 * counts those that the client receives.
 */
export function ruleStages(run: Run, clock: Time): PerChoice<ClientName> | undefined {
  const { rules, figures, leftOut, report, turn } = run;
  const hasStops = run.chain.some((link) => sequencesFor(turn, link).length > 0);
  if (!mayShape(rules, turn) && !hasStops) return undefined;
  const sequences = (): readonly string[] => sequencesFor(turn, run.round?.link ?? run.chain[0]);
  const { stopAfter: stops, stopMode, graceMs, max } = rules;
  const limited = (limit: StopRules): EventStage<ClientName> =>
    createStopAfterToolsController({ rules: limit, clock, figures, leftOut, report });
  const make = (): EventStage<ClientName> => {
    const stages: EventStage<ClientName>[] = [];
    if (hasStops) stages.push(new StopSequences({ sequences, ending: endingOf(turn) }));
    if (stops) stages.push(limited({ limit: stopMode === "first" ? 1 : Infinity, stops, graceMs }));
    if (rules.dedup) stages.push(dedup({ figures, leftOut, report }));
    if (max > 0) stages.push(limited({ limit: max, stops }));
    if (rules.suppressTail) stages.push(suppressTail(report));
    if (leavesOutText(rules, turn)) stages.push(callsAlone(report));
    if (rules.output === "obsidian-xml") stages.push(showUseTool(turn, rules.delimiter));
    return chain(stages);
  };
  return perChoice(make, turn.params.n);
}

const endingOf =
  ({ dialect, traits }: Turn) =>
  (sequence: string): Extra | undefined => {
    const fields = traits.stoppedAt?.(sequence);
    return fields === undefined ? undefined : { dialect, fields };
  };

/** More than any API takes; every character of an answer is compared with each. */
const MOST_SEQUENCES = 64;
const none: readonly string[] = [];

/** The stop sequences of a turn that an upstream does not take, so that the gateway stops at them. */
function sequencesFor({ params }: Turn, { upstream, profile }: Link): readonly string[] {
  const { stop = none } = params;
  if (stop.length === 0) return none;
  if (takesParam("stop", profile, upstream.traits)) return none;
  return stop.filter((sequence) => sequence !== "").slice(0, MOST_SEQUENCES);
}
