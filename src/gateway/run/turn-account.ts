/** The account of a turn that is over: log, metrics, files and spans are all made of it. */

import {
  noCalls,
  type CallDetail,
  type DisclosureFigures,
  type Outcome,
  type TurnDone,
} from "../../observe/happening.ts";
import type { TurnAhead } from "../../observe/spans.ts";
import { summary } from "../../tools/plan/plan.ts";
import type { Fault } from "../../turn/fault.ts";
import type { Answer } from "./running-answer.ts";
import type { Round } from "./round.ts";
import { providerOf, type Link } from "./select.ts";
import type { TurnProgress } from "./turn-progress.ts";
import type { Job } from "./turn-run.ts";

type Ended = {
  readonly round: Round | undefined;
  readonly answer: Answer | undefined;
  readonly ended: {
    readonly outcome: Outcome;
    readonly status: number;
    readonly fault: Fault | undefined;
  };
  readonly progress: TurnProgress;
  /** By the clock that never goes back. */
  readonly nowMs: number;
  /** The date. */
  readonly at: number;
};

export function turnDone(
  { requestId, source, route, turn, chain, rules, disclosure }: Job,
  { round, answer, ended: { outcome, status, fault }, progress, nowMs, at }: Ended,
): TurnDone {
  const link = round?.link ?? chain[0];
  const seen = answer?.seen;
  // Of a whole answer that failed or that nobody waited for, nothing was given.
  const isGiven = turn.stream || outcome === "completed" || outcome === "incomplete";
  const calls = seen?.calls ?? noCalls;
  const { plannedMs, askedMs, headersMs, attempts, calls: list } = progress;
  const folded = disclosedBy(disclosure);
  return {
    type: "turn",
    at,
    requestId,
    tenant: source.tenant,
    agent: source.agent,
    run: source.run,
    requestBytes: source.requestBytes,
    toolBytes: folded?.eagerBytes ?? source.toolBytes,
    toolBytesSent: folded?.sentBytes ?? source.toolBytes,
    door: turn.dialect,
    route,
    model: turn.model,
    upstream: link.name,
    provider: providerOf(link),
    stream: turn.stream,
    straight: round?.straight ?? false,
    rounds: answer?.rounds.count ?? 0,
    outcome,
    status,
    fault: fault?.code,
    choices: turn.params.n ?? 1,
    calls: isGiven ? calls : { ...calls, given: 0 },
    callsByChoice: isGiven ? (seen?.callsByChoice ?? []) : [],
    rules,
    stops: seen?.stops ?? [],
    usage: answer?.rounds.usage.total,
    answerId: seen?.start === undefined ? undefined : answer?.id(),
    answerModel: seen?.start?.model,
    plan: round === undefined ? "" : summary(round.plan),
    disclosure: folded,
    decisions: (round?.decisions.length ?? 0) + (answer?.repairs().length ?? 0),
    attempts,
    callDetails: isGiven ? list.details : list.details.map(notGiven),
    ms: nowMs - progress.startedMs,
    plannedMs: reached(plannedMs),
    askedMs: reached(askedMs),
    headersMs: reached(headersMs),
    firstEventMs: sinceStart(seen?.firstEvent, progress),
    firstCallMs: reached(list.firstMs),
  };
}

const reached = (ms: number): number | undefined => (ms < 0 ? undefined : ms);

/** A moment of the clock as milliseconds from the turn's beginning. */
export const sinceStart = (
  moment: number | undefined,
  { startedMs }: Pick<TurnProgress, "startedMs">,
): number | undefined => (moment === undefined ? undefined : moment - startedMs);

const notGiven = (call: CallDetail): CallDetail =>
  call.outcome === "given" ? { ...call, outcome: "cut" } : call;

const disclosedBy = (figures: DisclosureFigures | undefined): DisclosureFigures | undefined =>
  figures === undefined || figures.strategy === "" ? undefined : { ...figures };

/** What is known of a turn, or of one of its rounds, before it runs. */
export const turnAhead = (link: Link, stream: boolean): TurnAhead => ({
  upstream: link.name,
  provider: providerOf(link),
  stream,
});
