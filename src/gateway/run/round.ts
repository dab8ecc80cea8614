/** One request to one upstream: its plan, and the stages of its answer. */

import { takesParam, takesParams } from "../../dialects/shared/params.ts";
import { StreamNormalizer } from "../../stream/normalize.ts";
import { dedup } from "../../stream/calls/dedup.ts";
import { settle } from "../../stream/calls/settle.ts";
import {
  createStopAfterToolsController,
  type StopRules,
} from "../../stream/calls/stop-after-tools.ts";
import { callsAlone, suppressTail } from "../../stream/calls/text.ts";
import { perChoice, type PerChoice, chain, type EventStage } from "../../stream/stage.ts";
import { StopSequences } from "../../stream/stop-sequences.ts";
import { restoreAnswer } from "../../tools/plan/restore.ts";
import { textCalls } from "../../tools/text-calls/text-calls.ts";
import { showUseTool } from "../../tools/text-calls/show.ts";
import { append } from "../../turn/append.ts";
import type { Clock } from "../../turn/clock.ts";
import { planTools, type Plan } from "../../tools/plan/plan.ts";
import { sourceOf } from "../../stream/flow.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { AnyName, ClientName, UpstreamName } from "../../turn/names.ts";
import { isLossy, type Decision } from "../../turn/decision.ts";
import { Fault } from "../../turn/fault.ts";
import type { Profile } from "../../turn/profile.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Extra, Turn } from "../../turn/turn.ts";
import type { Prepared } from "../../upstreams/upstream.ts";
import { keepsAnswers } from "../history/origin.ts";
import type { ReferringTurn } from "../history/recall.ts";
import { leavesOutText } from "./rules.ts";
import type { Run } from "./run.ts";
import type { Chain, Link } from "./select.ts";
import type { TurnStage } from "./turn-stage.ts";

/** One request to one upstream, ready to be sent: a turn has one or more. */
export type Round = {
  readonly link: Link;
  /** Capabilities of the upstream with the link's model. */
  readonly profile: Profile;
  readonly plan: Plan;
  readonly prepared: Prepared;
  /** True if the gateway's rules for calls may change the answer. */
  readonly shaped: boolean;
  /** Same dialect on both sides and nothing to change: the upstream's frames go through untouched. */
  readonly straight: boolean;
  /** True if calls are looked for in the text of the answer. */
  readonly readsText: boolean;
  readonly decisions: readonly Decision[];
  /** True if the request refers to an answer that the upstream keeps. */
  readonly refers: boolean;
};

/**
 * Plans a turn for an upstream and writes its request; nothing is sent. `stage` is the stage of
 * the turn, or one in its place that asks for the rest of an answer.
 */
export function planRound(whole: Turn, link: Link, asking: Asking, stage = asking.stage): Round {
  const { rules, sealOwner, referring, chain = [link] } = asking;
  const { profile } = link;
  const isKept = referring?.upstream === link.upstream.name && keepsAnswers(profile, whole.dialect);
  const own = isKept ? referring.turn : whole;
  const asked = stage?.ask?.(profile, own) ?? own;
  const turn = rules.parallel === true ? asked : oneCallAtOnce(asked, rules, profile);
  // The first link of the chain most likely gave the earlier answer, where that is not known.
  const canDecrypt = (seal: string): boolean =>
    (sealOwner?.(seal) ?? chain[0]?.upstream.name) === link.upstream.name;
  const planned = planTools(turn, profile, { origin: link.name, canDecrypt });
  const amended = stage?.amend?.(planned) ?? planned;
  // Calls beyond the first are withheld if the plan says that one was asked for.
  const mayWithhold = rules.parallel !== "unrequested" || asked.params.parallelCalls === false;
  const plan = mayWithhold ? amended : allowingParallel(amended);
  // The request may be forwarded as it is also where the answer is not, unless part of it was met here.
  const alike =
    asked === own &&
    own.gatewayFields === undefined &&
    plan.identical &&
    profile.dialect === turn.dialect &&
    takesParams(turn, profile);
  // A client that wants no calls wants to read what the model writes about them. A client that
  // wants calls shown as text has a model that may write them so.
  const readsText =
    plan.verdicts.length > 0 &&
    turn.toolChoice?.type !== "none" &&
    (rules.textCalls ?? (profile.tools.written === true || rules.output === "obsidian-xml"));
  // A model may also call what the client did not declare.
  const shaped = readsText || mayShape(rules, turn);
  const sent = shaped && mustStream(rules) ? { ...plan.turn, stream: true } : plan.turn;
  const prepared = link.upstream.prepare(sent, { model: link.model, profile, straight: alike });
  const decisions =
    prepared.decisions.length === 0 ? plan.decisions : [...plan.decisions, ...prepared.decisions];
  const straight = alike && link.upstream.emitsFrames === true && !shaped && stage === undefined;
  return { link, profile, plan, prepared, shaped, straight, readsText, decisions, refers: isKept };
}

/** Throws a Fault if a part of the request would be lost. */
export function requireWhole({ decisions }: Pick<Round, "decisions">): void {
  if (decisions.some(isLossy)) throw lossy(decisions.filter(isLossy));
}

/** The same round with an empty answer in place of the upstream's. */
export const withoutAnswer = (round: Round): Round => ({
  ...round,
  straight: false,
  prepared: { ...round.prepared, open: () => sourceOf(nothing) },
});

const nothing: readonly TurnEvent<UpstreamName>[] = [
  { type: "turn-start" },
  { type: "usage", usage: { input: 0, output: 0, total: 0 } },
  { type: "turn-end", choice: 0, stop: "end" },
];

/** Settings of a turn for all its rounds. */
export type Asking = {
  readonly rules: CallRules;
  /** The upstream that sealed reasoning of an earlier answer, if that is known. */
  readonly sealOwner?: ((seal: string) => string | undefined) | undefined;
  /** The turn for the upstream that keeps what it refers to. */
  readonly referring?: ReferringTurn | undefined;
  /** The turn's own stage, which may ask the upstream something else. */
  readonly stage?: TurnStage | undefined;
  readonly chain?: Chain | undefined;
};

/** True if a rule may change the answer to a turn. */
const mayShape = (rules: CallRules, turn: Turn): boolean =>
  rules.dedup ||
  rules.max > 0 ||
  rules.stopAfter ||
  rules.suppressTail ||
  rules.output === "obsidian-xml" ||
  (rules.output === "openai-json" && leavesOutText(rules, turn));

/**
 * A whole answer cannot be stopped in the middle, and in the chat dialect it does not show
 * whether text came before or after a call. The upstream is asked for a stream then, also if the
 * client wants a whole answer.
 */
const mustStream = ({ stopAfter, suppressTail, output }: CallRules): boolean =>
  stopAfter || suppressTail || output === "obsidian-xml";

/** Asks for one call at a time, if the gateway's rules or the client want that. */
function oneCallAtOnce(turn: Turn, { parallel }: CallRules, profile: Profile): Turn {
  if (turn.params.parallelCalls === false || turn.tools.length === 0) return turn;
  if (parallel === "unrequested" && profile.params.parallelCalls === null) return turn;
  const what = parallel === false ? "allows one call at a time" : "asks for one call at a time";
  const reason = `this gateway ${what} (\`tools.parallel: ${parallel}\`)`;
  return {
    ...turn,
    params: { ...turn.params, parallelCalls: false },
    repairs: [...(turn.repairs ?? []), { path: "parallel_tool_calls", action: "reshaped", reason }],
  };
}

const allowingParallel = (plan: Plan): Plan => ({
  ...plan,
  limits: { ...plan.limits, parallel: true },
});

function lossy(losses: readonly Decision[]): Fault {
  const list = losses
    .map(({ path, action, reason }) => `\`${path}\` ${action}: ${reason}`)
    .join("; ");
  return new Fault(
    "plan.lossy",
    `Strictness is on, and parts of the request would be lost: ${list}. Leave these out, choose another model, or turn strictness off.`,
    { param: losses[0]?.path },
  );
}

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
    traits.sendsCallsLast !== true &&
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

/** The stop sequences of a turn that an upstream does not take, so that the gateway stops at them. */
function sequencesFor({ params }: Turn, { upstream, profile }: Link): readonly string[] {
  const { stop = [] } = params;
  if (stop.length === 0) return [];
  const sequences = stop.filter((sequence) => sequence !== "").slice(0, MOST_SEQUENCES);
  if (!takesParam("stop", profile, upstream.traits)) return sequences;
  return profile.maxStops === undefined ? [] : sequences.slice(profile.maxStops);
}
