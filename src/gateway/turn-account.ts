/** The account of a turn that is over: log, metrics, files and spans are all made of it. */

import {
  noCalls,
  type DisclosureFigures,
  type Outcome,
  type TurnDone,
} from "../telemetry/happening.ts";
import { summary } from "../tools/plan/plan.ts";
import type { Fault } from "../turn/fault.ts";
import type { Answer } from "./answer.ts";
import type { Round } from "./round.ts";
import { linkName, providerOf } from "./select.ts";
import type { Job } from "./turn-run.ts";

type Ended = {
  readonly round: Round | undefined;
  readonly answer: Answer | undefined;
  readonly ended: {
    readonly outcome: Outcome;
    readonly status: number;
    readonly fault: Fault | undefined;
  };
  /** By the clock that never goes back. */
  readonly startedMs: number;
  readonly nowMs: number;
  /** The date. */
  readonly at: number;
};

export function turnDone(
  { requestId, route, turn, chain, rules, disclosure }: Job,
  { round, answer, ended: { outcome, status, fault }, startedMs, nowMs, at }: Ended,
): TurnDone {
  const link = round?.link ?? chain[0];
  const seen = answer?.seen;
  // Of a whole answer that failed or that nobody waited for, nothing was given.
  const isGiven = turn.stream || outcome === "completed" || outcome === "incomplete";
  const calls = seen?.calls ?? noCalls;
  return {
    type: "turn",
    at,
    requestId,
    door: turn.dialect,
    route,
    model: turn.model,
    upstream: linkName(link),
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
    usage: seen?.usage,
    answerId: seen?.start === undefined ? undefined : answer?.id(),
    answerModel: seen?.start?.model,
    plan: round === undefined ? "" : summary(round.plan),
    disclosure: disclosedBy(disclosure),
    decisions: (round?.decisions.length ?? 0) + (answer?.repairs().length ?? 0),
    ms: nowMs - startedMs,
    firstEventMs: seen?.firstEvent === undefined ? undefined : seen.firstEvent - startedMs,
  };
}

const disclosedBy = (figures: DisclosureFigures | undefined): DisclosureFigures | undefined =>
  figures === undefined || figures.strategy === "" ? undefined : { ...figures };
