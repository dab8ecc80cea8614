import type { CompletionForm, DoorDialect } from "../../dialects/dialect.ts";
import { dropSource } from "../../dialects/shared/source-text.ts";
import { summary } from "../../tools/plan/plan.ts";
import type { Lease } from "../../history/leases.ts";
import {
  type DisclosureFigures,
  type Outcome,
  type RoundDone,
  type TurnDone,
  type TurnSource,
} from "../../observe/happening.ts";
import type { RoundSpan, TurnSpan } from "../../observe/spans.ts";
import { reasonOf } from "../../turn/failure-reason.ts";
import { Fault } from "../../turn/fault.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Prepared } from "../../upstreams/upstream.ts";
import { endRecording, openTapped, type TurnRecording } from "./recorder.ts";
import { saveAnswer } from "./save-answer.ts";
import type { HeldConversation } from "../history/conversation.ts";
import type { Reply } from "../http/exchange.ts";
import { answerLeft } from "./answer-left.ts";
import { answerTurn, type RoundResult } from "./answer.ts";
import type { Answer } from "./running-answer.ts";
import { countTools } from "./count-tools.ts";
import { faultForClient, notRead } from "../http/client-fault.ts";
import type { GatewayState } from "../state.ts";
import { isForgotten } from "../history/origin.ts";
import type { Added, ReferringTurn } from "../history/recall.ts";
import type { TurnPermit } from "../http/limits/tenant-limits.ts";
import { keptPlan } from "./kept-plan.ts";
import { goingOn, mayGoOn } from "./go-on.ts";
import { spendOf } from "./prices.ts";
import { planRound, requireWhole, withoutAnswer, type Round } from "./round.ts";
import type { RunningTurn, RunningTurnView } from "./running-turns.ts";
import { unsaved, withinWait, type AnswerLeft, type Saving } from "./save-turn.ts";
import { providerOf, type Link } from "./select.ts";
import { outcomeOf } from "./tally.ts";
import type { ThreadEntry } from "../history/thread.ts";
import { sinceStart, turnAhead, turnDone } from "./turn-account.ts";
import { TurnProgress } from "./turn-progress.ts";
import type { TurnStage } from "./turn-stage.ts";
import { toFault } from "../http/to-fault.ts";

/** A request that has been read and may become a turn. */
export type Job = {
  readonly requestId: string;
  readonly tenant: Tenant;
  /** Where it comes from. */
  readonly source: TurnSource;
  readonly dialect: DoorDialect;
  /** The path that took the request. */
  readonly route: string;
  /** The whole conversation. */
  readonly turn: Turn;
  /** False: it is planned, stored and answered with nothing; no upstream is asked. */
  readonly generates: boolean;
  /** How its answer is kept as a completion, where it is. */
  readonly completion?: CompletionForm | undefined;
  /** The conversation that it belongs to. */
  readonly conversation?: HeldConversation | undefined;
  /** Whether its answer may be continued on its own connection alone. */
  readonly isPrivate: boolean;
  /** The id of the answer, where it is known before. */
  readonly answerId?: string | undefined;
  /** The lease of an answer that is made in the background. */
  readonly lease?: Lease | undefined;
  /** The turn for the upstream that keeps what it refers to. */
  readonly referring?: ReferringTurn | undefined;
  readonly added: Added;
  readonly chain: readonly [Link, ...Link[]];
  readonly strict: boolean;
  readonly rules: CallRules;
  readonly sealOwner: (seal: string) => string | undefined;
  readonly reply: Reply;
  /** Where it is recorded. */
  readonly recording?: TurnRecording | undefined;
  /** What let it in: memory, and its tenant's limits. */
  readonly permit?: Pick<TurnPermit, "follow" | "leave"> | undefined;
  /** Where somebody follows traces. */
  readonly span?: TurnSpan | undefined;
  /** The turn's own stage, where it has one. */
  readonly stage?: TurnStage | undefined;
  /** What it adds to a thread that is kept here. */
  readonly thread?: ThreadEntry | undefined;
  /** What folding its tools comes to, where they may be folded. */
  readonly disclosure?: DisclosureFigures | undefined;
  /** What every reply to it says in its head. */
  headers(round: Round | undefined): Record<string, string>;
  /** Answers with an error; only while nothing has been said. */
  refuse(fault: Fault, headers: Readonly<Record<string, string>>): void;
};

/**
 * The walk of a turn: rounds, stages, reply. Until a round's first event the
 * next upstream of the chain may still take over; afterwards failure is an event
 * like any other.
 */
export function runTurn(state: GatewayState, job: Job): Pick<TurnRun, "cancel"> {
  const run = new TurnRun(state, job);
  run.begin();
  return run;
}

class TurnRun implements RunningTurn {
  place = -1;
  readonly #state: GatewayState;
  readonly #job: Job;
  readonly #progress: TurnProgress;
  readonly #startedAt: number;
  /** Which link of the chain is asked. */
  #link = 0;
  /** The round that was made ready last, and the answer. */
  #round: Round | undefined;
  #answer: Answer | undefined;
  #roundSpan: RoundSpan | undefined;
  #halted = false;
  /** What an upstream that broke off had said, where another goes on with it. */
  #said: string | undefined;
  /** An upstream does not know what it was taken to keep: it is sent the whole conversation. */
  #mustSendWhole = false;
  #isSaved = false;

  constructor(state: GatewayState, job: Job) {
    this.#state = state;
    this.#job = job;
    this.#progress = new TurnProgress(job.requestId, state.clock, state.bus);
    this.#startedAt = state.clock.date();
  }

  begin(): void {
    const { running, metrics, report } = this.#state;
    const { requestId, source, route, turn, reply, recording, chain, permit } = this.#job;
    running.add(this);
    permit?.follow(() => this.#tokens());
    recording?.begun({ model: turn.model, chain: chain.map(({ name }) => name) });
    metrics.running(1);
    report({
      type: "begun",
      requestId,
      door: turn.dialect,
      route,
      model: turn.model,
      upstream: this.#current().name,
      stream: turn.stream,
      ...source,
    });
    reply.onDrain(() => this.#answer?.resume());
    reply.onLeave((why) => {
      this.#abandon();
      if (why === "stalled") this.#finish("failed", 408, notRead());
      else this.#finish("left", 499);
    });
    try {
      this.#answerWith(this.#prepare());
    } catch (error) {
      this.#fail(this.#faultOf(error));
    }
  }

  view(): RunningTurnView {
    const { requestId, source, turn } = this.#job;
    const progress = this.#progress;
    return {
      requestId,
      ...source,
      door: turn.dialect,
      model: turn.model,
      upstream: this.#current().name,
      stream: turn.stream,
      rounds: this.#answer?.rounds.count ?? 1,
      startedAt: this.#startedAt,
      step: progress.step,
      plan: this.#round === undefined ? "" : summary(this.#round.plan),
      ms: progress.now(),
      calls: progress.calls.details.length,
      attempts: progress.attempts.length,
      firstEventMs: sinceStart(this.#answer?.seen.firstEvent, progress),
    };
  }

  tick(): void {
    this.#answer?.tick();
  }

  halt(): void {
    this.cancel(
      new Fault("gateway.stopping", "The gateway is shutting down; send the request again."),
    );
  }

  /** Ends it with a failure, if it is not over. */
  cancel(fault: Fault): void {
    this.#halted = true;
    this.#breakOff(fault);
  }

  #abandon(): void {
    if (this.#answer?.record === undefined) this.#answer?.stop();
    else
      this.#answer.abandon(new Fault("client.left", "The client left before the answer was over."));
  }

  #answerWith(first: Round): void {
    const { stage } = this.#job;
    this.#answer = answerTurn(this.#state, this.#job, {
      first,
      progress: this.#progress,
      open: (round) => this.#open(round),
      faultForClient,
      instead: (fault) => this.#instead(fault),
      goOn: this.#mayGoOn() ? (fault, said) => this.#goOn(fault, said) : undefined,
      isWhole: !this.#job.turn.stream,
      // No other upstream is sent the same: its text need not stay in memory for the turn.
      begun: () => dropSource(this.#job.turn.body),
      next:
        stage?.continues === undefined
          ? undefined
          : () => (stage.continues?.() === true ? this.#prepare() : undefined),
      roundEnded: (round, result) => this.#roundEnded(round, result),
      refused: (fault) => this.#fail(fault),
      ending: () => this.#saved(),
      completed: (status) => this.#completed(status),
      crashed: (error) => this.#breakOff(this.#faultOf(error)),
      toFault: (error) => this.#faultOf(error),
    });
  }

  /** Makes the next round ready, for the first link from the current one on that takes it. */
  #prepare(): Round {
    const { turn, chain } = this.#job;
    for (;;)
      try {
        const whole = this.#mustSendWhole ? { ...this.#job, referring: undefined } : this.#job;
        const said = this.#said;
        const asked = said === undefined ? whole : { ...whole, stage: goingOn(whole.stage, said) };
        const planned = planRound(turn, this.#current(), asked, chain[0]);
        this.#round = planned;
        if (this.#job.strict) requireWhole(planned);
        const round = this.#job.generates ? planned : withoutAnswer(planned);
        countTools(this.#state.metrics, round.plan);
        this.#round = round;
        this.#progress.planned();
        if (chain[this.#link + 1] === undefined) dropSource(turn.body);
        return round;
      } catch (error) {
        const fault = this.#faultOf(error);
        if (!this.#fallBack(fault)) throw fault;
      }
  }

  #current(): Link {
    return this.#job.chain[this.#link] ?? this.#job.chain[0];
  }

  #open(round: Round): ReturnType<Prepared["open"]> {
    const { link } = round;
    const { requestId, tenant, span, turn, chain, recording } = this.#job;
    const isLast = chain[this.#link + 1] === undefined;
    this.#progress.asked(link.name);
    this.#roundSpan = span?.startRound(turnAhead(link, turn.stream));
    const worked = (ms: number): void => this.#state.watch("answer", requestId, ms);
    const headers = this.#roundSpan?.headers;
    const watch = this.#progress;
    const options = { retry: isLast, requestId, tenant, headers, worked, watch };
    return openTapped(round, options, recording);
  }

  #roundEnded({ link }: Round, { usage, fault }: RoundResult): void {
    if (fault?.code === "client.left") return;
    this.#progress.attemptEnded(fault);
    const done: RoundDone = {
      type: "round",
      requestId: this.#job.requestId,
      round: this.#answer?.rounds.count ?? 1,
      upstream: link.name,
      provider: providerOf(link),
      fault: fault?.code,
      usage,
      ms: this.#progress.roundMs(),
    };
    this.#state.report(done);
    this.#roundSpan?.end(done);
    this.#roundSpan = undefined;
  }

  /** The upstream failed before its first event: the round for the next link, if that may do better. */
  #instead(fault: Fault): Round | undefined {
    if (this.#round?.refers === true && isForgotten(fault)) {
      this.#mustSendWhole = true;
      return this.#prepare();
    }
    return this.#fallBack(fault) ? this.#prepare() : undefined;
  }

  /** Where a turn has rounds of its own, or its rules may have held something back, nobody else goes on. */
  #mayGoOn(): boolean {
    const { chain, stage, generates } = this.#job;
    const isAlone = stage?.continues === undefined && this.#round?.shaped !== true;
    return chain.length > 1 && isAlone && generates;
  }

  /** The upstream failed in mid-answer: the round in which the next link goes on, if it may. */
  #goOn(fault: Fault, said: string): Round | undefined {
    if (!mayGoOn(this.#job.turn, said) || !this.#fallBack(fault)) return undefined;
    this.#said = said;
    return this.#prepare();
  }

  /** Goes on to the next link of the chain, if there is one and the failure may be this link's alone. */
  #fallBack(fault: Fault): boolean {
    const { requestId, chain } = this.#job;
    const next = chain[this.#link + 1];
    if (next === undefined || this.#halted || !fault.mayFallBack) return false;
    const [from, to] = [this.#current().name, next.name];
    this.#link++;
    const reason = reasonOf(fault);
    this.#state.report({ type: "fallback", requestId, from, to, fault: fault.code, reason });
    return true;
  }

  /** All that it has used so far. */
  #tokens(): number {
    return this.#answer?.rounds.usage.total?.total ?? 0;
  }

  #fail(fault: Fault): void {
    // Asked for before the client hears of it, and may ask again.
    this.#job.conversation?.release().catch(() => {}); // Its lease ends by itself.
    this.#job.refuse(fault, this.#job.headers(this.#round));
    this.#finish("failed", fault.status, fault);
  }

  #completed(status: number): void {
    this.#finish(this.#answer === undefined ? "completed" : outcomeOf(this.#answer.seen), status);
  }

  /** Ends it with a failure of ours; if something throws while that is written, a reply under way just ends. */
  #breakOff(fault: Fault): void {
    try {
      this.#answer?.interrupt(fault);
    } catch {
      if (this.#answer?.shown() !== true) return this.#fail(fault);
      this.#job.reply.end();
      this.#finish("failed", fault.status, fault);
    }
  }

  #faultOf(error: unknown): Fault {
    return toFault(error, this.#state.report, this.#job.requestId);
  }

  #finish(outcome: Outcome, status: number, reason = this.#answer?.seen.fault): void {
    const { running, metrics } = this.#state;
    // That a client has left is its outcome, and no failure.
    const fault = outcome === "left" ? undefined : reason;
    if (!running.remove(this)) return;
    metrics.running(-1);
    this.#job.permit?.leave(this.#tokens());
    const done = this.#done(outcome, status, fault);
    const spent = spendOf(this.#state.config.prices, done);
    if (spent !== undefined) metrics.spent(spent.cost, spent.name);
    this.#tell(done);
  }

  /** All that is ever told of a turn is made of this one account of it. */
  #tell(done: TurnDone): void {
    if (this.#round !== undefined && done.answerId === undefined)
      this.#state.recent.keepPlan(done.requestId, keptPlan(this.#round, this.#job));
    this.#state.report(done);
    endRecording(this.#job, done, { round: this.#round, answer: this.#answer });
    if (!this.#isSaved) void this.#save(done);
    this.#roundSpan?.end();
    this.#job.span?.end(done);
  }

  /** What a client is told to have completed can be retrieved: its end waits until it is stored, unless that takes too long. */
  #saved(): Promise<boolean> | undefined {
    const answer = this.#answer;
    if (answer === undefined) return undefined;
    if (answer.record === undefined && this.#job.completion === undefined) return undefined;
    const saving = this.#save(this.#done(outcomeOf(answer.seen), 200, answer.seen.fault));
    return saving === true ? undefined : withinWait(this.#state, saving, this.#job.requestId);
  }

  #save(done: TurnDone): Saving {
    this.#isSaved = true;
    const failed = unsaved(this.#state.report, this.#job.requestId);
    try {
      const ended = { answer: this.#answer, done, left: this.#answerLeft(done) };
      const saving = saveAnswer(this.#state, this.#job, ended);
      return typeof saving === "boolean" ? saving : saving.catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  #answerLeft({ outcome }: TurnDone): AnswerLeft | undefined {
    const [round, answer] = [this.#round, this.#answer];
    if (round === undefined || answer === undefined) return undefined;
    return answerLeft(this.#job, { round, answer, outcome, newId: this.#state.newId });
  }

  #done(outcome: Outcome, status: number, fault: Fault | undefined): TurnDone {
    const { clock } = this.#state;
    return turnDone(this.#job, {
      round: this.#round,
      answer: this.#answer,
      ended: { outcome, status, fault },
      progress: this.#progress,
      nowMs: clock.now(),
      at: clock.date(),
    });
  }
}
