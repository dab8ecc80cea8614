import type {
  AnswerForm,
  CompletionForm,
  DoorDialect,
  WriteContext,
} from "../../dialects/dialect.ts";
import type { Lease } from "../../history/leases.ts";
import { callComment } from "../../observe/figures.ts";
import {
  noCalls,
  type AttemptReport,
  type CallDetail,
  type CallFigures,
  type CallOutcome,
  type DisclosureFigures,
  type Outcome,
  type RoundDone,
  type TurnDone,
  type TurnSource,
  type TurnStep,
} from "../../observe/happening.ts";
import type { TurnSpan } from "../../observe/spans.ts";
import type { AnswerFold } from "../../stream/fold.ts";
import { sseComment } from "../../stream/sse.ts";
import { summary } from "../../tools/plan/plan.ts";
import { listWith } from "../../turn/append.ts";
import { boundDecisions, MAX_DECISIONS, type Decision } from "../../turn/decision.ts";
import {
  addUsage,
  isCut,
  type CallStart,
  type StopReason,
  type TurnEvent,
  type TurnStart,
  type Usage,
} from "../../turn/event.ts";
import { reasonOf } from "../../turn/failure-reason.ts";
import type { Fault } from "../../turn/fault.ts";
import type { AnyName, ClientName } from "../../turn/names.ts";
import type { CallRules } from "../../turn/rules.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Writable } from "../../turn/writable.ts";
import { inputTokens, tokensOf } from "../../upstreams/tokens.ts";
import type { AttemptWatch } from "../../upstreams/upstream.ts";
import type { HeldConversation } from "../history/conversation.ts";
import type { Added, RecalledRequest, ReferringTurn } from "../history/recall.ts";
import type { ThreadEntry } from "../history/thread.ts";
import type { Reply, TurnRecording } from "../http/exchange.ts";
import type { TurnPermit } from "../http/tenant-limits.ts";
import type { GatewayState, RequestContext } from "../state.ts";
import { toFault } from "../http/to-fault.ts";
import { turnHeaders, type TurnOptions, turnSource } from "../http/turn-headers.ts";
import type { HeldBytes } from "../http/budget.ts";
import type { AnswerRecord } from "./record.ts";
import type { Round } from "./round.ts";
import type { RunningTurnView } from "./running-turns.ts";
import type { Chain, Link, ModelRoute } from "./select.ts";
import type { ThoughtKeeper } from "./thoughts.ts";
import type { TurnStage } from "./turn-stage.ts";

/** The attempts and calls that are listed one by one; the counts include all. */
const MAX_ATTEMPTS = 32;
const MAX_CALLS = 64;
/** Characters of a listed name: names are the words of clients and models, of any length. */
const MAX_NAME = 128;

const none: readonly never[] = [];

/** The dialect, the route and the options of a turn. */
type Deciding = {
  readonly dialect: DoorDialect;
  readonly route: ModelRoute;
  readonly options: TurnOptions;
};

/**
 * One turn, from its admission to its record: made when its request has been read, and filled in
 * place while it runs. Log line, metrics, console and store are views of it.
 */
export class Run implements AttemptWatch {
  readonly state: GatewayState;
  readonly requestId: string;
  readonly tenant: Tenant;
  /** The pattern of the path that took the request. */
  readonly path: string;
  readonly source: TurnSource;
  readonly route: ModelRoute;
  readonly chain: Chain;
  readonly rules: CallRules;
  readonly options: TurnOptions;
  readonly sealOwner: RecalledRequest["sealOwner"];
  /** The thread and the conversation that the turn belongs to. */
  readonly thread: ThreadEntry | undefined;
  readonly conversation: HeldConversation | undefined;
  readonly recording: TurnRecording | undefined;
  /** True if only later requests of the same connection may continue the answer. */
  readonly isPrivate: boolean;
  dialect: DoorDialect;
  /** The form in which the dialect stores answers. */
  answers: AnswerForm | undefined;
  /** The whole conversation. */
  turn: Turn;
  /** The turn for the upstream that keeps what it refers to; dropped when that has forgotten it. */
  referring: ReferringTurn | undefined;
  added: Added;
  reply: Reply;
  stage: TurnStage | undefined;
  completion: CompletionForm | undefined;
  /** The id and the lease of an answer that is made in the background. */
  presetId: string | undefined;
  lease: Lease | undefined;
  limits: TurnPermit | undefined;
  memory: HeldBytes | undefined;
  /** False: the turn is planned and stored, and no upstream is asked. */
  generates = true;
  span: TurnSpan | undefined;
  /** Counts of folded tools; undefined if they could not be folded. */
  disclosure: DisclosureFigures | undefined;
  /** Answers with an error; only while the client has been sent nothing. */
  refuse: RequestContext["refuse"];

  /** The round that was planned last. */
  round: Round | undefined;
  /** Rounds opened so far. */
  rounds = 0;
  readonly usage: UsageMeter;
  /** The start of the answer in the upstream's words. */
  start: TurnStart | undefined;
  /** The upstream's id of the answer to the current round. */
  upstreamAnswerId: string | undefined;
  readonly figures: Writable<CallFigures> = { ...noCalls };
  callsByChoice: readonly number[] = none;
  stops: readonly StopReason[] = none;
  /** The seals on the reasoning of the answer. */
  seals: readonly string[] = none;
  fault: Fault | undefined;
  attempts: readonly Writable<AttemptReport>[] = none;
  callDetails: readonly Writable<CallDetail>[] = none;
  #repairs: readonly Decision[] = none;
  #unlistedRepairs = 0;

  /** Gathers the answer for the store, if it is stored. */
  record: AnswerRecord | undefined;
  thoughts: ThoughtKeeper | undefined;
  /** Folds the events that the client receives, for threads and completions. */
  told: AnswerFold<ClientName> | undefined;
  /** True if the answer is stored before its end is sent: the client may name it at once, at any gateway. */
  isStoredFirst = false;
  isSaved = false;
  #ownId: string | undefined;
  #context: WriteContext | undefined;

  /** By the clock that only goes forward, and by the date. */
  readonly startedMs: number;
  readonly startedAt: number;
  step: TurnStep = "read";
  /** Milliseconds from the start of the turn. */
  plannedMs: number | undefined;
  askedMs: number | undefined;
  headersMs: number | undefined;
  firstEventMs: number | undefined;
  firstCallMs: number | undefined;
  #roundMs = 0;

  constructor(
    context: RequestContext,
    recalled: RecalledRequest,
    { dialect, route, options }: Deciding,
  ) {
    const { state, exchange } = context;
    this.state = state;
    this.requestId = context.requestId;
    this.tenant = context.tenant;
    this.path = context.route.path;
    this.source = turnSource(context, recalled.turn);
    this.dialect = dialect;
    this.answers = dialect.history?.type === "answers" ? dialect.history : undefined;
    this.route = route;
    this.chain = route.chain;
    this.options = options;
    this.rules = options.rules;
    this.turn = recalled.turn;
    this.referring = recalled.referring;
    this.added = recalled.added;
    this.sealOwner = recalled.sealOwner;
    this.thread = recalled.thread;
    this.conversation = recalled.conversation;
    this.reply = exchange.reply;
    this.recording = exchange.recording;
    this.refuse = context.refuse;
    this.isPrivate =
      exchange.session !== undefined && this.answers?.isWanted(recalled.turn) !== true;
    this.usage = new UsageMeter(this);
    this.startedMs = state.clock.now();
    this.startedAt = state.clock.date();
  }

  /** Milliseconds since the turn began. */
  now(): number {
    return this.state.clock.now() - this.startedMs;
  }

  /** The id that was made for the answer here. */
  get ownId(): string {
    return (this.#ownId ??= this.presetId ?? this.dialect.newAnswerId(this.state.newId));
  }

  /** The id of the answer as the client sees it: ids of another dialect are not shown. */
  get answerId(): string {
    const { start } = this;
    return (start?.dialect === this.turn.dialect ? start.id : undefined) ?? this.ownId;
  }

  get outcome(): Outcome {
    if (this.fault !== undefined) return "failed";
    for (const stop of this.stops) if (stop !== undefined && isCut(stop)) return "incomplete";
    return "completed";
  }

  /** Repairs of the answer. */
  get repairs(): readonly Decision[] {
    return this.#unlistedRepairs === 0
      ? this.#repairs
      : boundDecisions(this.#repairs, this.#unlistedRepairs);
  }

  readonly report = (decision: Decision): void => {
    if (this.#repairs.length < MAX_DECISIONS) this.#repairs = listWith(this.#repairs, decision);
    else this.#unlistedRepairs++;
  };

  faultOf(error: unknown): Fault {
    return toFault(error, this.state.report, this.requestId);
  }

  /** A new object with the headers of every reply to this turn; `round` adds what was planned. */
  headers(round: Round | undefined = this.round): Record<string, string> {
    const headers = turnHeaders(this, round);
    const { limits, dialect } = this;
    if (limits === undefined || dialect.rateLimitHeaders === undefined) return headers;
    const now = this.state.clock.date();
    return Object.assign(headers, dialect.rateLimitHeaders(limits.view(), now));
  }

  /** The context of the dialect's writers. */
  get context(): WriteContext {
    if (this.#context !== undefined) return this.#context;
    const { state, record } = this;
    const now = (): number => Math.floor(state.clock.date() / 1000);
    this.#context = {
      id: this.ownId,
      created: now(),
      now,
      newId: state.newId,
      keep: record?.keep,
      record: record?.record,
      report: this.report,
      closingComment: () => {
        const { figures } = this;
        if (figures.given === 0 && !figures.truncated) return "";
        return sseComment(callComment(figures, this.rules));
      },
    };
    return this.#context;
  }

  /** The body of the whole answer, where it is folded; undefined if the answer failed. */
  wholeAnswer(): string | undefined {
    const answer = this.told?.answer();
    if (answer === undefined || answer.fault !== undefined) return undefined;
    // The repairs of the answer were reported and its items kept when it was written for the client.
    const silent = { ...this.context, report: undefined, keep: undefined };
    return this.dialect.writeAnswer(answer, this.turn, silent);
  }

  /** Gives back what the turn held: its upstreams, its memory, its tenant's limits. */
  leave(): void {
    for (const { users } of this.chain) {
      users.count--;
      if (users.waiting !== undefined) users.left();
    }
    this.memory?.release();
    this.limits?.leave(this.tokens);
  }

  /** The tokens that all rounds have used so far. */
  get tokens(): number {
    return this.rounds === 0 ? 0 : (this.usage.total?.total ?? 0);
  }

  /** A request is sent: the first of a round to `upstream/model`, or the last one again. */
  asked(upstream?: string): void {
    const ms = this.now();
    if (upstream !== undefined) this.#roundMs = ms;
    this.askedMs ??= ms;
    const name = upstream ?? this.attempts.at(-1)?.upstream ?? "";
    if (this.attempts.length < MAX_ATTEMPTS)
      this.attempts = listWith(this.attempts, { upstream: name, atMs: ms, ms: 0 });
    this.reach("asked", ms);
  }

  /** The current round has ended: reports it, if anything reads the report. */
  roundEnded(link: Link, fault: Fault | undefined): RoundDone | undefined {
    this.attemptEnded(fault);
    if (this.span === undefined && !this.state.bus.listeners.has("round")) return undefined;
    const done: RoundDone = {
      type: "round",
      requestId: this.requestId,
      round: this.rounds,
      upstream: link.name,
      provider: link.provider,
      fault: fault?.code,
      usage: this.usage.current,
      ms: this.now() - this.#roundMs,
    };
    this.state.report(done);
    return done;
  }

  answered(status: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined) attempt.status = status;
    const ms = this.now();
    this.headersMs ??= ms;
    this.reach("headers", ms);
  }

  retrying(fault: Fault, waitMs: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt !== undefined) attempt.waitMs = waitMs;
    this.attemptEnded(fault);
  }

  sentAgain(): void {
    this.asked();
  }

  attemptEnded(fault?: Fault): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    attempt.ms = this.now() - attempt.atMs;
    attempt.fault = fault?.code;
    attempt.reason = fault && reasonOf(fault);
    const { bus } = this.state;
    if (bus.followsSteps) {
      const { requestId, attempts } = this;
      bus.report({ type: "attempt", requestId, attempt: attempts.length, ...attempt });
    }
  }

  /** Notes the step that the turn has reached, at milliseconds since its start. */
  reach(step: TurnStep, ms: number): void {
    this.step = step;
    const { bus } = this.state;
    if (bus.followsSteps) bus.report({ type: "step", requestId: this.requestId, step, ms });
  }

  /** Counts an event that the client receives. */
  count(event: TurnEvent<ClientName>): void {
    switch (event.type) {
      case "call-delta": {
        const call = this.#detailOf(event);
        if (call !== undefined) call.argumentChars += event.text.length;
        return;
      }
      case "turn-start":
        this.start = event;
        this.firstEventMs = this.now();
        return this.reach("first", this.firstEventMs);
      case "call-start":
        this.#listCall(event, "cut");
        return;
      case "call-end": {
        const call = this.#detailOf(event);
        if (call !== undefined) {
          call.ms = this.now() - call.atMs;
          if (event.complete) call.outcome = "given";
          if (this.state.bus.followsSteps) this.#reportCall(call);
        }
        if (!event.complete) return;
        this.figures.given++;
        const before = this.callsByChoice[event.choice] ?? 0;
        this.callsByChoice = listWith(this.callsByChoice, before + 1, event.choice);
        return;
      }
      case "reasoning-end":
        if (event.encrypted !== undefined) this.seals = listWith(this.seals, event.encrypted);
        return;
      case "turn-end":
        this.stops = listWith(this.stops, event.stop, event.choice);
        return;
      case "turn-fail":
        this.fault = event.fault;
        return;
      default:
    }
  }

  /** Counts a call that the client is not given. */
  readonly leftOut = (event: CallStart<AnyName>, outcome: CallOutcome, chars = 0): void => {
    const call = this.#listCall(event, outcome);
    if (call === undefined) return;
    call.argumentChars = chars;
    if (this.state.bus.followsSteps) this.#reportCall(call);
  };

  #listCall(event: CallStart<AnyName>, outcome: CallOutcome): Writable<CallDetail> | undefined {
    const atMs = this.now();
    this.firstCallMs ??= atMs;
    this.reach("call", atMs);
    if (this.callDetails.length >= MAX_CALLS) return undefined;
    const { choice, call, namespace } = event;
    const name = namespace === undefined ? event.name : `${namespace}.${event.name}`;
    const detail = {
      choice,
      call: outcome === "cut" ? call : -1,
      name: name.slice(0, MAX_NAME),
      kind: event.kind.slice(0, MAX_NAME),
      atMs,
      ms: 0,
      argumentChars: 0,
      outcome,
    };
    this.callDetails = listWith(this.callDetails, detail);
    return detail;
  }

  #reportCall(call: CallDetail): void {
    this.state.report({ type: "call", requestId: this.requestId, ...call });
  }

  #detailOf({ choice, call }: Pick<CallDetail, "choice" | "call">) {
    return this.callDetails.findLast((one) => one.call === call && one.choice === choice);
  }

  /** The turn as lists of turns under way show it; it holds no content. */
  view(): RunningTurnView {
    const { turn, round, source } = this;
    return {
      requestId: this.requestId,
      ...source,
      door: turn.dialect,
      model: turn.model,
      upstream: (round?.link ?? this.chain[0]).name,
      stream: turn.stream,
      rounds: Math.max(1, this.rounds),
      startedAt: this.startedAt,
      step: this.step,
      plan: round === undefined ? "" : summary(round.plan),
      ms: this.now(),
      calls: this.callDetails.length,
      attempts: this.attempts.length,
      firstEventMs: this.firstEventMs,
    };
  }

  /** The account of the turn, from which log line, metrics, spans, store and console are made. */
  done(outcome: Outcome, status: number, fault: Fault | undefined): TurnDone {
    const { turn, round, source, figures, disclosure } = this;
    const link = round?.link ?? this.chain[0];
    // A whole answer that failed, or whose client left, gave the client none of its calls.
    const isGiven = turn.stream || outcome === "completed" || outcome === "incomplete";
    const folded = disclosure === undefined || disclosure.strategy === "" ? undefined : disclosure;
    return {
      type: "turn",
      at: this.state.clock.date(),
      requestId: this.requestId,
      tenant: source.tenant,
      agent: source.agent,
      run: source.run,
      requestBytes: source.requestBytes,
      toolBytes: folded?.eagerBytes ?? source.toolBytes,
      toolBytesSent: folded?.sentBytes ?? source.toolBytes,
      door: turn.dialect,
      route: this.path,
      model: turn.model,
      upstream: link.name,
      provider: link.provider,
      stream: turn.stream,
      straight: round?.straight ?? false,
      rounds: this.rounds,
      outcome,
      status,
      fault: fault?.code,
      choices: turn.params.n ?? 1,
      calls: isGiven ? figures : { ...figures, given: 0 },
      callsByChoice: isGiven ? this.callsByChoice : [],
      rules: this.rules,
      stops: this.stops,
      usage: this.rounds === 0 ? undefined : this.usage.total,
      answerId: this.start === undefined ? undefined : this.answerId,
      answerModel: this.start?.model,
      plan: round === undefined ? "" : summary(round.plan),
      disclosure: folded && { ...folded },
      decisions: (round?.decisions.length ?? 0) + this.repairs.length,
      attempts: this.attempts,
      callDetails: isGiven ? this.callDetails : this.callDetails.map(notGiven),
      ms: this.now(),
      plannedMs: this.plannedMs,
      askedMs: this.askedMs,
      headersMs: this.headersMs,
      firstEventMs: this.firstEventMs,
      firstCallMs: this.firstCallMs,
    };
  }
}

const notGiven = (call: CallDetail): CallDetail =>
  call.outcome === "given" ? { ...call, outcome: "cut" } : call;

/**
 * The tokens of a turn over all its upstream calls. An upstream that is stopped in mid-answer
 * reports no count or only an early one, and some never report one: the rest is estimated. A
 * request that its upstream refused used nothing.
 */
class UsageMeter {
  readonly #run: Run;
  /** Tokens of the upstream calls before the current one. */
  before: Usage | undefined;
  /** The last count of the current upstream, and the characters that it had sent by then. */
  #counted: Usage | undefined;
  #charsCounted = 0;
  /** Characters that its model has written. */
  #chars = 0;
  /** True once the current upstream has sent an event. */
  isAnswered = false;
  #isRefused = false;
  #estimatedInput: number | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Counts an event of the upstream. Frames are left out: other events have their content. */
  hear(event: TurnEvent<AnyName>): void {
    // By type, the commonest first: every delta of a stream comes here.
    switch (event.type) {
      case "text-delta":
      case "call-delta":
      case "reasoning-delta":
      case "refusal-delta":
        this.#chars += event.text.length;
        break;
      case "call-start":
        this.#chars += event.name.length;
        break;
      case "usage":
        this.#counted = event.usage;
        this.#charsCounted = this.#chars;
        break;
      case "turn-fail":
        this.#isRefused ||= !this.isAnswered;
        return;
      default:
    }
    this.isAnswered = true;
  }

  /** Another call follows the current one. */
  next(): void {
    this.before = this.total;
    this.#counted = undefined;
    this.#estimatedInput = undefined;
    this.#chars = this.#charsCounted = 0;
    this.isAnswered = this.#isRefused = false;
  }

  /** Tokens of the current upstream call so far. */
  get current(): Usage | undefined {
    if (this.#isRefused) return undefined;
    if (this.#counted !== undefined && this.#charsCounted === this.#chars) return this.#counted;
    const counted = this.#counted ?? this.#estimate();
    const more = tokensOf(this.#chars) - counted.output;
    if (more <= 0) return counted;
    const { output, total } = counted;
    return { ...counted, output: output + more, total: total + more, estimated: true };
  }

  /** Tokens of all upstream calls so far. */
  get total(): Usage | undefined {
    const { current } = this;
    if (this.before === undefined || current === undefined) return current ?? this.before;
    return addUsage(this.before, current);
  }

  #estimate(): Usage {
    const input = (this.#estimatedInput ??= this.#countInput());
    return { input, output: 0, total: input, estimated: true };
  }

  /** An upstream that was sent a reference to an earlier answer reads that answer too. */
  #countInput(): number {
    const { round, turn } = this.#run;
    return round?.refers === false ? inputTokens(round.plan.turn) : inputTokens(turn);
  }
}
