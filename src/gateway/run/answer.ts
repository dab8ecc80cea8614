import type { WriteContext } from "../../dialects/dialect.ts";
import type { Flow, Source } from "../../stream/flow.ts";
import { folding } from "../../stream/fold.ts";
import { PausableClock } from "../../stream/pausable-clock.ts";
import type { PerChoice } from "../../stream/per-choice.ts";
import { pump } from "../../stream/pump.ts";
import { sseComment } from "../../stream/sse.ts";
import { chain } from "../../stream/stage.ts";
import { callComment, callHeaders } from "../../observe/figures.ts";
import { noStore } from "../../history/none.ts";
import {
  boundDecisions,
  MAX_DECISIONS,
  type Decision,
  type OnDecision,
} from "../../turn/decision.ts";
import type { Frame, TurnEvent, Usage } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import { inputTokens } from "../../upstreams/tokens.ts";
import { recordAnswer, type AnswerRecord } from "./answer-record.ts";
import { openDoor, type Door } from "./door.ts";
import { Answer, type KeptAnswer } from "./running-answer.ts";
import type { Round } from "./round.ts";
import { Rounds, type OpenRound, type RoundsOwner } from "./rounds.ts";
import { roundStages, ruleStages, type StageOptions } from "./stages.ts";
import type { Link } from "./select.ts";
import type { GatewayState } from "../state.ts";
import { keepThoughts } from "./thoughts.ts";
import { sequencesFor } from "./stop-sequences.ts";
import { tally, type Tally } from "./tally.ts";
import type { TurnProgress } from "./turn-progress.ts";
import type { Job } from "./turn-run.ts";
import { tellEstimate } from "./usage-meter.ts";

/** What a round came to. */
export type RoundResult = {
  readonly usage: Usage | undefined;
  readonly fault: Fault | undefined;
};

export type AnswerOptions = RoundsOwner & {
  readonly first: Round;
  readonly progress: TurnProgress;
  /** What the round's upstream will say. */
  open(round: Round): Source<TurnEvent<UpstreamName>>;
  /** It failed and the client has been sent nothing. */
  readonly refused: (fault: Fault) => void;
  readonly roundEnded: (round: Round, result: RoundResult) => void;
  readonly completed: (status: number) => void;
  /** Asked when all of the answer is written and its end is still to be sent: what that waits for. */
  readonly ending: () => Promise<boolean> | undefined;
};

/**
 * Answers a turn: its rounds one after another, each through stages of its own,
 * then the stages of the turn as a whole (rules for calls, counts) and the door.
 */
export function answerTurn(state: GatewayState, job: Job, options: AnswerOptions): Answer {
  const { clock, newId } = state;
  const { rules } = job;
  const counted = tally(clock, options.progress);
  const repairs = repairList();
  /** The upstream's time: it stands still while a full reply holds the upstream up. */
  const time = new PausableClock(clock, options.crashed);
  const { report } = repairs;
  const figures = counted.seen.calls;
  const stopsAt = stopsOf(job, () => rounds.round.link);
  const { leftOut } = options.progress.calls;
  const watched = { figures, leftOut, report };
  const staging: StageOptions = { rules, clock: time, newId, ...watched, stopsAt };
  const limits = ruleStages(job.turn, staging);
  const record = isStored(state, job) ? recordAnswer(job.dialect) : undefined;
  const context = writeContext(state, job, {
    report,
    record,
    closingComment: () => closingComment(figures, job),
  });
  const rounds = new Rounds(options.first, {
    open: (round) => openRound(round, options.open(round), { job, staging, limits }),
    ended: (round, fault) => options.roundEnded(round, { usage: rounds.usage.current, fault }),
    time,
    // An upstream that keeps what is referred to reads all of it too.
    inputTokens: ({ refers, plan }) => (refers ? inputTokens(job.turn) : inputTokens(plan.turn)),
    relabel: record === undefined ? undefined : relabeling(job, context.id),
    maxLength: state.config.server.answer_limit,
    turn: noting(options, report),
  });
  const thoughts = state.store === noStore ? undefined : keepThoughts(job, () => rounds.round.link);
  const isJoined = options.next !== undefined || options.goOn !== undefined;
  const told =
    isJoined || limits ? chain(tellEstimate(rounds.usage, limits, report), counted) : counted;
  const limited = limits === undefined ? told : chain(limits, told);
  const stages = chain(rounds, thoughts === undefined ? limited : chain(thoughts, limited));
  let flow: Flow | undefined;
  const door = openDoor({
    dialect: job.dialect,
    turn: job.turn,
    context,
    reply: job.reply,
    headers: () => job.headers(rounds.round),
    figures: () => callHeaders(figures, rules),
    straight: () => rounds.round.straight,
    full: () => flow?.pause(),
    refused: options.refused,
    forwarded: record?.forwarded,
    ending: options.ending,
    completed: options.completed,
  });
  const kept = keptAnswer(door, job, context);
  const sink = kept ?? door;
  const running = pump(rounds.source, stages, sink, time);
  flow = running;
  const { seen } = counted;
  const left = { repairs, record, thoughts, kept };
  const own = { dialect: job.turn.dialect, id: context.id };
  return new Answer({ ...left, seen, rounds, running, stages, door, sink, own });
}

/** The stop sequences that the gateway sees to for the upstream under way; undefined where it need not for any. */
function stopsOf({ turn, chain: links }: Job, link: () => Link): StageOptions["stopsAt"] {
  if (!links.some((one) => sequencesFor(turn, one).length > 0)) return undefined;
  return () => sequencesFor(turn, link());
}

/** Replaces the upstream's ids in its frames by those under which the answer is stored. */
const relabeling =
  ({ dialect: { storage }, added }: Job, id: string) =>
  (frame: Frame, { refers }: Round): Frame => {
    const previous = refers ? added.previous : undefined;
    const data = storage?.relabel(frame.data, { id, previous });
    // If the id has another place in the frame, the door's writer takes over from the upstream.
    return data === undefined ? { ...frame, forwardable: false } : { ...frame, data };
  };

/** Folds what the client is told, where the answer is to be kept. */
function keptAnswer(
  door: Door,
  { thread, completion, dialect, turn }: Job,
  context: WriteContext,
): KeptAnswer | undefined {
  if (thread === undefined && completion === undefined) return undefined;
  const folded = folding<ClientName>();
  return {
    each(event) {
      if (event.type !== "frame") folded.each(event);
      door.each(event);
    },
    flush: () => door.flush(),
    end: () => door.end(),
    whole() {
      const answer = folded.answer();
      // What was lost and what may be referred to has been heard of already.
      const silent = { ...context, report: undefined, keep: undefined };
      return answer.fault === undefined ? dialect.writeAnswer(answer, turn, silent) : undefined;
    },
  };
}

/** That another upstream went on with an answer is told with all else that was done to it. */
function noting(owner: AnswerOptions, report: OnDecision): RoundsOwner {
  const { goOn } = owner;
  if (goOn === undefined) return owner;
  return {
    ...owner,
    goOn(fault, said) {
      const next = goOn(fault, said);
      const after = said === "" ? "and nothing was shown" : `after ${said.length} characters`;
      if (next !== undefined)
        report({
          path: "model",
          action: "noticed",
          reason: `the upstream broke off (${fault.code}) ${after}; ${next.link.name} went on`,
        });
      return next;
    },
  };
}

type RoundContext = {
  readonly job: Job;
  readonly staging: StageOptions;
  readonly limits: PerChoice<ClientName> | undefined;
};

function openRound(
  round: Round,
  source: OpenRound["source"],
  { job, staging, limits }: RoundContext,
): OpenRound {
  const own = roundStages(round, staging, limits?.isDone);
  return { stages: job.stage === undefined ? own : chain(own, job.stage), source };
}

function closingComment(calls: Tally["seen"]["calls"], { rules }: Job): string {
  return calls.given > 0 || calls.truncated ? sseComment(callComment(calls, rules)) : "";
}

/** Gathers what had to be done to an answer. */
function repairList() {
  const listed: Decision[] = [];
  let more = 0;
  return {
    report: (decision: Decision): void => {
      if (listed.length < MAX_DECISIONS) listed.push(decision);
      else more++;
    },
    all: (): readonly Decision[] => boundDecisions(listed, more),
  };
}

type WriteOptions = Pick<WriteContext, "report" | "closingComment"> & {
  readonly record: AnswerRecord | undefined;
};

function writeContext(state: GatewayState, job: Job, options: WriteOptions): WriteContext {
  const { report, record, closingComment: closing } = options;
  const id = job.answerId ?? job.dialect.newAnswerId(state.newId);
  const now = (): number => Math.floor(state.clock.date() / 1000);
  const { newId } = state;
  const kept = { keep: record?.keep, record: record?.record };
  return { id, created: now(), now, newId, ...kept, report, closingComment: closing };
}

/** Whether the answer is to be found again. */
const isStored = (
  { store }: GatewayState,
  { dialect, turn, isPrivate, conversation }: Job,
): boolean =>
  store !== noStore &&
  (isPrivate || conversation !== undefined || dialect.storage?.isWanted(turn) === true);
