import type { KeptAnswer } from "../../dialects/dialect.ts";
import type { ResponseRecord } from "../../history/store.ts";
import type { Outcome } from "../../observe/happening.ts";
import type { NewId } from "../../turn/clock.ts";
import type { Answer } from "./running-answer.ts";
import { keepsAnswers, writeOrigin } from "../history/origin.ts";
import type { Round } from "./round.ts";
import type { AnswerLeft } from "./save-turn.ts";
import { threadRecord } from "../history/thread.ts";
import type { Job } from "./turn-run.ts";

type Ended = {
  /** The round that was asked last. */
  readonly round: Round;
  readonly answer: Answer;
  readonly outcome: Outcome;
  readonly newId: NewId;
};

/** What the answer to a turn leaves behind. */
export function answerLeft(job: Job, ended: Ended): AnswerLeft {
  const { round, answer } = ended;
  const { record, seen } = answer;
  const whole = record?.whole();
  const isBegun = whole !== undefined && seen.start !== undefined;
  return {
    id: answer.id(),
    isNewId: job.answerId === undefined && answer.hasOwnId(),
    round,
    rules: job.rules,
    repairs: answer.repairs(),
    items: whole?.items ?? record?.items() ?? [],
    response: isBegun ? responseRecord(job, ended, whole) : undefined,
    seals: seen.seals,
    isPrivate: job.isPrivate,
    lease: job.lease,
    thoughts: job.isPrivate ? [] : (answer.thoughts?.items() ?? []),
    ...threadLeft(job, ended),
  };
}

/** An answer of several rounds has the id of the first; an upstream that keeps answers goes on from the last. */
function responseRecord(
  { dialect, added, turn }: Job,
  { round, answer, newId }: Ended,
  { json, shared }: KeptAnswer,
): ResponseRecord {
  const { answerId } = answer.rounds;
  const isKept = answerId !== undefined && keepsAnswers(round.profile, turn.dialect);
  const { name: upstream } = round.link.upstream;
  return {
    previous: added.previous,
    input: added.input ?? dialect.storage?.inputOf(added.body, newId) ?? [],
    json,
    shared,
    origin: isKept ? writeOrigin({ upstream, id: answerId }) : undefined,
  };
}

/** An answer is kept whole or not at all: who was given a part of it sends the conversation again. */
function threadLeft(
  { thread }: Job,
  { answer, outcome }: Ended,
): Pick<AnswerLeft, "response" | "items"> | undefined {
  const isWhole = outcome === "completed" || outcome === "incomplete";
  const text = thread === undefined || !isWhole ? undefined : answer.whole();
  if (thread === undefined || text === undefined) return undefined;
  return threadRecord(thread, answer.id(), text);
}
