import { dropSource } from "../../dialects/shared/source-text.ts";
import type { Outcome } from "../../observe/happening.ts";
import type { RoundSpan } from "../../observe/spans.ts";
import type { Flow, Sink } from "../../stream/flow.ts";
import { RoundJoin } from "../../stream/join-rounds.ts";
import { answerTooLong, lengthOf } from "../../stream/length-limit.ts";
import { type PerChoice, type Emit, StageLine } from "../../stream/stage.ts";
import { StreamClock } from "../../stream/stream-clock.ts";
import { addUsage, type Frame, type TurnEvent } from "../../turn/event.ts";
import { reasonOf } from "../../turn/failure-reason.ts";
import { Fault } from "../../turn/fault.ts";
import type { AnyName, ClientName, UpstreamName } from "../../turn/names.ts";
import { tappedSource } from "../../upstreams/tap.ts";
import { isForgotten } from "../history/origin.ts";
import { faultForClient, notRead } from "./client-fault.ts";
import { type Door, type DoorOwner, StreamDoor, WholeDoor } from "./door.ts";
import { finishRun, keepAnswer } from "./record.ts";
import {
  planRound,
  requireWhole,
  roundStages,
  ruleStages,
  withoutAnswer,
  type Round,
} from "./round.ts";
import type { Run } from "./run.ts";
import type { RunningTurn, RunningTurnView } from "./running-turns.ts";
import type { Link } from "./select.ts";
import { Continuation, continuing } from "./turn-stage.ts";

type UpstreamEvent = TurnEvent<UpstreamName>;
type ClientEvent = TurnEvent<ClientName>;
type Event = TurnEvent<AnyName>;

/**
 * Runs a turn: its rounds one after the other, the events of each on their way to the client,
 * and its end. Another upstream in place of one that failed, folded tools, a provider's pause
 * and an answer that another upstream continues are all another round (`#nextRound`).
 *
 * An event passes the stages of its round (`#roundLine`), joins the events of other rounds where
 * there may be several (`#join`), passes the stages of the turn, if it has any (`#turnLine`), and
 * then it is counted and written (`#deliver`).
 */
export class Rounds implements RunningTurn, Sink<UpstreamEvent>, DoorOwner {
  place = -1;
  readonly #run: Run;
  readonly #time: StreamClock;
  #door: Door | undefined;
  #flow: Flow | undefined;
  #roundLine: StageLine<Event> | undefined;
  #turnLine: StageLine<Event> | undefined;
  #limits: PerChoice<ClientName> | undefined;
  #joined: RoundJoin<ClientName> | undefined;
  #span: RoundSpan | undefined;

  /** The upstream that is asked, and its place in the chain. */
  #link: Link;
  #at = 0;
  /** Set when the turn is ended from outside: no other upstream is asked. */
  #isHalted = false;
  /** A stage or the door threw; later events of the source are ignored. */
  #hasCrashed = false;
  /** The source has ended or was stopped. */
  #isDrained = false;
  /** The door receives nothing more: the end was sent, or the client has left. */
  #isSilent = false;
  #isPaused = false;

  /** True once the current round has emitted an event, and once its stages have ended. */
  #hasBegun = false;
  #isRoundOver = false;
  /** Characters of the answer to the current round, and the most that it may have. */
  #length = 0;
  readonly #most: number;
  #fault: Fault | undefined;
  /** A failure that another round may still replace. */
  #heldFault: Fault | undefined;

  /** Set if another upstream may continue a broken answer. */
  #continuation: Continuation | undefined;
  /** The text that the client was shown of an answer that a later round continues. */
  #said: string | undefined;
  /** True while the client may have to be sent an estimate of the tokens. */
  #maySendEstimate = false;

  constructor(run: Run) {
    this.#run = run;
    this.#link = run.chain[0];
    this.#most = run.state.config.server.answer_limit;
    this.#time = new StreamClock(run.state.clock, (moment) => this.#lapse(moment));
  }

  begin(): void {
    const run = this.#run;
    const { requestId, turn, reply, recording, chain, state, stage } = run;
    state.running.add(this);
    run.limits?.follow(() => run.tokens);
    recording?.begun({ model: turn.model, chain: chain.map(({ name }) => name) });
    state.metrics.running.amount++;
    if (state.bus.listeners.has("begun"))
      state.report({
        type: "begun",
        requestId,
        door: turn.dialect,
        route: run.path,
        model: turn.model,
        upstream: chain[0].name,
        stream: turn.stream,
        ...run.source,
      });
    reply.onDrain(() => this.#resume());
    reply.onLeave((why) => this.#left(why));
    try {
      const first = this.#plan();
      const isOneRound = stage?.continues === undefined;
      if (!isOneRound) this.#joined = new RoundJoin<ClientName>();
      const mayChange = isOneRound || stage.mayChangeUpstream === true;
      if (mayChange && chain.length > 1 && run.generates && !first.shaped)
        this.#continuation = new Continuation(turn);
      keepAnswer(run);
      if (first.shaped || turn.params.stop !== undefined)
        this.#limits = ruleStages(run, this.#time);
      if (run.thoughts !== undefined || this.#limits !== undefined) {
        const stages = [run.thoughts, this.#limits].filter((one) => one !== undefined);
        this.#turnLine = new StageLine<Event>(stages, this.#deliver);
      }
      this.#maySendEstimate =
        this.#joined !== undefined ||
        this.#continuation !== undefined ||
        this.#limits !== undefined;
      this.#door = turn.stream ? new StreamDoor(run, this) : new WholeDoor(run, this);
      this.#open(first);
    } catch (error) {
      this.fail(run.faultOf(error));
    }
  }

  view(): RunningTurnView {
    return { ...this.#run.view(), upstream: this.#link.name };
  }

  tick(): void {
    this.#door?.tick();
  }

  halt(): void {
    this.cancel(
      new Fault("gateway.stopping", "The gateway is shutting down; send the request again."),
    );
  }

  /** Ends the turn with a failure, if it has not ended. */
  cancel(fault: Fault): void {
    this.#isHalted = true;
    this.#breakOff(fault);
  }

  /* Rounds: which upstream is asked next, and with what. */

  /** Plans a round for the first link from the current one on that takes it. */
  #plan(): Round {
    const run = this.#run;
    for (;;)
      try {
        const stage = this.#said === undefined ? run.stage : continuing(run.stage, this.#said);
        const planned = planRound(run.turn, this.#link, run, stage);
        run.round = planned;
        if (run.options.strict) requireWhole(planned);
        if (!run.generates) run.round = withoutAnswer(planned);
        const ms = run.now();
        run.plannedMs ??= ms;
        run.reach("planned", ms);
        if (this.#at + 1 === run.chain.length) dropSource(run.turn.body);
        return run.round;
      } catch (error) {
        const fault = run.faultOf(error);
        if (!this.#fallBack(fault)) throw fault;
      }
  }

  /** Moves to the next link, if there is one that may do better. */
  #fallBack(fault: Fault): boolean {
    const { state, requestId, chain } = this.#run;
    const next = chain[this.#at + 1];
    if (next === undefined || this.#isHalted || !fault.mayFallBack) return false;
    const [from, to, reason] = [this.#link.name, next.name, reasonOf(fault)];
    this.#at++;
    this.#link = next;
    state.report({ type: "fallback", requestId, from, to, fault: fault.code, reason });
    return true;
  }

  /** The round that follows the current one, which has ended. */
  #nextRound(): Round | undefined {
    const run = this.#run;
    const fault = this.#heldFault;
    if (fault !== undefined && this.#hasBegun) return this.#continue(fault);
    if (fault !== undefined) {
      if (run.round?.refers === true && isForgotten(fault)) {
        // The upstream no longer has the earlier answer: it is sent the whole conversation.
        run.referring = undefined;
        return this.#plan();
      }
      return this.#fallBack(fault) ? this.#plan() : undefined;
    }
    // Behind an answer that another upstream continued, the stage knows only a part.
    if (this.#fault !== undefined || this.#said !== undefined) return undefined;
    if (run.stage?.continues?.() !== true) return undefined;
    this.#continuation = undefined;
    const next = this.#plan();
    this.#joined?.nextRound();
    return next;
  }

  /** The upstream failed in mid-answer: another one continues it, if it may. */
  #continue(fault: Fault): Round | undefined {
    const [run, continuation] = [this.#run, this.#continuation];
    if (continuation?.isAllowed !== true) return undefined;
    const wasStraight = run.round?.straight === true;
    if (!this.#fallBack(fault)) return undefined;
    const { said } = continuation;
    this.#said = said;
    const next = this.#plan();
    const after = said === "" ? "and nothing was shown" : `after ${said.length} characters`;
    const reason = `the upstream broke off (${fault.code}) ${after}; ${next.link.name} continued`;
    run.report({ path: "model", action: "noticed", reason });
    continuation.drop();
    this.#joined?.nextRound();
    // The writer takes over from the frames that were forwarded.
    if (run.turn.stream && wasStraight) this.#emit({ type: "frame", data: "", forwardable: false });
    return next;
  }

  #open(round: Round): void {
    const run = this.#run;
    const { requestId, tenant, state, recording } = run;
    const { prepared, link } = round;
    const { name: upstream, provider } = link;
    run.asked(upstream);
    this.#span = run.span?.startRound({ upstream, provider, stream: run.turn.stream });
    // A recording receives the bytes of an upstream, or its events if it has no bytes.
    const tap = link.upstream.showsBytes === true ? recording?.tap : undefined;
    const events = tap === undefined ? recording?.tap.answer(link.upstream.name) : undefined;
    const opened = prepared.open({
      retry: this.#at + 1 === run.chain.length,
      requestId,
      tenant,
      headers: this.#span?.headers,
      worked: (ms: number): void => state.watch("answer", requestId, ms),
      watch: run,
      tap,
      onMessage: events && ((direction, message) => events.message(direction, message)),
    });
    const source = events === undefined ? opened : tappedSource(opened, events);
    const stages = roundStages(run, round, this.#time, this.#limits?.isDone);
    this.#roundLine = new StageLine(stages, this.#show);
    if (run.rounds > 0) run.usage.next();
    run.rounds++;
    run.round = round;
    this.#length = 0;
    this.#hasBegun = false;
    this.#isRoundOver = false;
    this.#fault = undefined;
    this.#heldFault = undefined;
    this.#flow = source(this);
    if (this.#isPaused) this.#flow.pause();
  }

  #endRound(): void {
    this.#isRoundOver = true;
    this.#roundLine?.end();
    const [run, fault] = [this.#run, this.#fault];
    if (fault === undefined) this.#continuation?.release(this.#join);
    if (fault?.code === "client.left" || run.round === undefined) return;
    const done = run.roundEnded(run.round.link, fault);
    this.#span?.end(done);
    this.#span = undefined;
  }

  /* Events: from the upstream to the door. */

  each(event: UpstreamEvent): void {
    if (this.#hasCrashed) return;
    try {
      const { usage } = this.#run;
      if (event.type === "frame") usage.isAnswered = true;
      else usage.hear(event);
      if (event.type === "turn-fail" && event.fault.code === "gateway.internal")
        this.#run.faultOf(event.fault.cause ?? event.fault); // It is reported.
      if (this.#isDrained || this.#length > this.#most) return;
      if (event.type !== "frame") this.#length += lengthOf(event);
      if (this.#length <= this.#most) this.#roundLine?.each(event);
      else this.#roundLine?.each({ type: "turn-fail", fault: answerTooLong(this.#most) });
    } catch (error) {
      this.#crash(error);
    }
  }

  flush(): void {
    if (this.#hasCrashed || this.#isDrained) return;
    try {
      this.#settle();
    } catch (error) {
      this.#crash(error);
    }
  }

  end(): void {
    if (this.#hasCrashed || this.#isDrained) return;
    try {
      if (!this.#isRoundOver) this.#endRound();
      const mayFollow = this.#heldFault !== undefined || this.#joined !== undefined;
      if (mayFollow && this.#openNext()) this.#settle();
      else this.#finish();
    } catch (error) {
      this.#crash(error);
    }
  }

  /** Opens the round that follows, if there is one. */
  #openNext(): boolean {
    try {
      const next = this.#nextRound();
      if (next === undefined) return false;
      this.#open(next);
      return true;
    } catch (error) {
      this.#heldFault = this.#fault = this.#run.faultOf(error);
      return false;
    }
  }

  #lapse(moment: number): void {
    try {
      this.#roundLine?.lapse(moment);
      this.#turnLine?.lapse(moment);
      if (!this.#isDrained) this.#settle();
    } catch (error) {
      this.#crash(error);
    }
  }

  /** An error of a stage ends this turn; it must not reach the socket's handler, which would end the process. */
  #crash(error: unknown): void {
    this.#hasCrashed = true;
    this.#breakOff(this.#run.faultOf(error));
  }

  /** After each step: whether the stages need nothing more, and when they are to be woken. */
  #settle(): void {
    this.#door?.flush();
    if (this.#isDrained) return;
    const [round, turn] = [this.#roundLine, this.#turnLine];
    const mayAct = round?.mayAct === true || turn?.mayAct === true;
    if (!mayAct && this.#length <= this.#most) return;
    if (this.#length > this.#most || round?.done() === true || turn?.done() === true) {
      this.#flow?.stop();
      return this.#finish();
    }
    const due = round?.due();
    const turnDue = turn?.due();
    this.#time.wakeAt(due === undefined || (turnDue ?? Infinity) < due ? turnDue : due);
  }

  /** Takes an event from the stages of the round. */
  readonly #show = (event: Event): void => {
    if (this.#fault !== undefined) return;
    if (event.type === "turn-fail") return this.#failRound(event.fault);
    const run = this.#run;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      // No other upstream will be sent this request, so its text need not stay in memory.
      dropSource(run.turn.body);
    }
    let shown = event as ClientEvent;
    if (event.type === "turn-start") {
      run.upstreamAnswerId = event.id;
      if (this.#said !== undefined && run.turn.stream) return;
      if (run.record !== undefined) shown = { ...event, id: undefined };
    } else if (event.type === "usage" && run.usage.before !== undefined)
      shown = { ...event, usage: addUsage(run.usage.before, event.usage) };
    else if (event.type === "frame" && event.hasAnswer === true && run.record !== undefined)
      shown = this.#relabel(event);
    if (this.#continuation !== undefined) this.#continuation.note(shown, this.#join);
    else if (this.#joined !== undefined) this.#joined.each(shown, this.#emit);
    else if (this.#turnLine !== undefined) this.#turnLine.each(shown);
    else this.#deliver(shown);
  };

  /** Replaces the upstream's ids in a frame by those under which the answer is stored. */
  #relabel(frame: Frame): Frame {
    const { answers, added, round, ownId } = this.#run;
    const previous = round?.refers === true ? added.previous : undefined;
    const data = answers?.relabel(frame.data, { id: ownId, previous });
    // If the id has another place in the frame, the writer of the dialect takes over.
    return data === undefined ? { ...frame, forwardable: false } : { ...frame, data };
  }

  #failRound(reason: Fault): void {
    const { round } = this.#run;
    const fault = round === undefined ? reason : faultForClient(reason, round);
    this.#fault = fault;
    if (this.#hasBegun && this.#continuation?.isPossible !== true)
      this.#emit({ type: "turn-fail", fault });
    else this.#heldFault = fault;
  }

  /** Joins an event to those of other rounds, if there may be several. */
  readonly #join: Emit<ClientEvent> = (event) => {
    if (this.#joined === undefined) this.#emit(event);
    else this.#joined.each(event, this.#emit);
  };

  /** Hands an event to the stages of the turn. */
  readonly #emit: Emit<ClientEvent> = (event) => {
    if (this.#turnLine === undefined) this.#deliver(event);
    else this.#turnLine.each(event);
  };

  readonly #deliver = (shown: Event): void => {
    if (this.#isSilent) return;
    const event = shown as ClientEvent;
    const run = this.#run;
    if (event.type !== "frame") {
      if (event.type === "turn-end" && this.#maySendEstimate) this.#sendEstimate(event.choice);
      if (event.type !== "text-delta") run.count(event);
      if (run.told !== undefined) run.told.each(event);
    }
    this.#door?.each(event);
  };

  /** Sends an estimate of the tokens if the gateway stopped an upstream before it counted, or joined several. */
  #sendEstimate(choice: number): void {
    this.#maySendEstimate = false;
    const { before, total } = this.#run.usage;
    if (total?.estimated !== true) return;
    if (before === undefined && this.#limits?.isDone(choice) !== true) return;
    this.#deliver({ type: "usage", usage: total });
    const reason = "an estimate: the upstream was stopped or broke off before it counted";
    this.#run.report({ path: "usage", action: "noticed", reason });
  }

  /* The end. */

  #finish(): void {
    if (this.#isDrained) return;
    this.#isDrained = true;
    this.#time.wakeAt(undefined);
    this.#endStages();
    if (this.#isSilent) return;
    this.#door?.flush();
    if (this.#isSilent) return;
    this.#isSilent = true;
    this.#door?.end();
  }

  #endStages(): void {
    if (!this.#isRoundOver) this.#endRound();
    if (this.#heldFault !== undefined) this.#emit({ type: "turn-fail", fault: this.#heldFault });
    else if (this.#fault === undefined) this.#joined?.end(this.#emit);
    this.#heldFault = undefined;
    this.#turnLine?.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#time.pause();
    this.#flow?.pause();
  }

  #resume(): void {
    this.#door?.drained();
    this.#isPaused = false;
    this.#time.resume();
    this.#flow?.resume();
  }

  #stop(): void {
    this.#isSilent = true;
    if (this.#isDrained) return;
    this.#isDrained = true;
    this.#time.wakeAt(undefined);
    this.#flow?.stop();
  }

  /** Fails the answer as if its upstream had failed; an answer that has ended stays as it is. */
  #spoil(fault: Fault): void {
    this.#stop();
    this.#isSilent = false;
    if (this.#length <= this.#most) this.#roundLine?.each({ type: "turn-fail", fault });
    this.#endStages();
    this.#isSilent = true;
  }

  /** The client has left. The complete parts of an answer that is stored are kept. */
  #left(why: "stalled" | undefined): void {
    if (this.#run.record === undefined) this.#stop();
    else {
      this.#spoil(new Fault("client.left", "The client left before the end of the answer."));
      this.#door?.abandon();
    }
    if (why === "stalled") this.over("failed", 408, notRead());
    else this.over("left", 499);
  }

  /** Ends the turn with a failure of the gateway; if writing it throws, a reply under way just ends. */
  #breakOff(fault: Fault): void {
    if (this.#door === undefined) return;
    try {
      this.#spoil(fault);
      this.#door.flush();
      this.#door.end();
    } catch {
      if (!this.#door.shown()) return this.fail(fault);
      this.#run.reply.end();
      this.over("failed", fault.status, fault);
    }
  }

  /** Answers with a failure; only before the client was sent anything. */
  fail(fault: Fault): void {
    const run = this.#run;
    // Released before the client sees the failure and may try again. A lease that stays expires.
    run.conversation?.release().catch(() => {});
    run.refuse(fault, run.headers());
    this.over("failed", fault.status, fault);
  }

  /** Ends the turn with its record, once. */
  over(outcome: Outcome, status: number, fault = this.#run.fault): void {
    if (!this.#run.state.running.remove(this)) return;
    // A turn whose client left has that as its outcome, and no failure.
    finishRun(this.#run, outcome, status, outcome === "left" ? undefined : fault);
    this.#span?.end();
  }
}
