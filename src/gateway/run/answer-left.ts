import type { KeptAnswer } from "../../dialects/dialect.ts";
import type { ResponseRecord } from "../../history/log.ts";
import type { Outcome } from "../../observe/happening.ts";
import { keepsAnswers, writeOrigin } from "../history/origin.ts";
import { threadRecord } from "../history/thread.ts";
import type { Round } from "./round.ts";
import type { Run } from "./run.ts";
import type { AnswerLeft } from "./save-turn.ts";

/** What the answer to a turn leaves behind; undefined if no upstream was asked. */
export function answerLeft(run: Run, outcome: Outcome): AnswerLeft | undefined {
  const { round, record, start } = run;
  if (round === undefined || run.rounds === 0) return undefined;
  const whole = record?.whole();
  const isBegun = whole !== undefined && start !== undefined;
  return {
    id: run.answerId,
    round,
    rules: run.rules,
    repairs: run.repairs,
    items: whole?.items ?? record?.items() ?? [],
    response: isBegun ? responseRecord(run, round, whole) : undefined,
    seals: run.seals,
    isPrivate: run.isPrivate,
    lease: run.lease,
    thoughts: run.isPrivate ? [] : (run.thoughts?.items() ?? []),
    ...threadLeft(run, outcome),
  };
}

/** An answer of several rounds has the id of the first; an upstream that keeps answers goes on from the last. */
function responseRecord(
  { dialect, added, turn, upstreamAnswerId, state }: Run,
  round: Round,
  { json, shared }: KeptAnswer,
): ResponseRecord {
  const isKept = upstreamAnswerId !== undefined && keepsAnswers(round.profile, turn.dialect);
  const { name: upstream } = round.link.upstream;
  return {
    previous: added.previous,
    input: added.input ?? dialect.storage?.inputOf(added.body, state.newId) ?? [],
    json,
    shared,
    origin: isKept ? writeOrigin({ upstream, id: upstreamAnswerId }) : undefined,
  };
}

/** An answer is kept whole or not at all: who was given a part of it sends the conversation again. */
function threadLeft(
  run: Run,
  outcome: Outcome,
): Pick<AnswerLeft, "response" | "items"> | undefined {
  const { thread } = run;
  const isWhole = outcome === "completed" || outcome === "incomplete";
  const text = thread === undefined || !isWhole ? undefined : run.wholeAnswer();
  if (thread === undefined || text === undefined) return undefined;
  return threadRecord(thread, run.answerId, text);
}
