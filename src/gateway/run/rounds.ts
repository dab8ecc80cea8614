import type { Flow, Sink, Source } from "../../stream/flow.ts";
import { answerTooLong, lengthOf } from "../../stream/length-limit.ts";
import { joinRounds } from "../../stream/join-rounds.ts";
import type { PausableClock } from "../../stream/pausable-clock.ts";
import type { Emit, Stage } from "../../stream/stage.ts";
import { addUsage, type Frame, type TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName, UpstreamName } from "../../turn/names.ts";
import type { Round } from "./round.ts";
import { UsageMeter } from "./usage-meter.ts";

type UpstreamEvent = TurnEvent<UpstreamName>;
type ClientEvent = TurnEvent<ClientName>;

/** Everything that a round has said is out; its stages may end. */
type RoundOver = { readonly type: "round-over" };
const roundOver: RoundOver = { type: "round-over" };
export type RoundEvent = UpstreamEvent | RoundOver;

/** A round that has been opened: what its upstream says, and the stages that only this round has. */
export type OpenRound = {
  readonly source: Source<UpstreamEvent>;
  readonly stages: Stage<UpstreamEvent, ClientEvent>;
};

/** What the turn says of its rounds, and hears of them. */
export type RoundsOwner = {
  /** A failure in the words of the client. */
  readonly faultForClient: (fault: Fault, round: Round) => Fault;
  /** It failed before its first event: a round that takes its place, or none. */
  readonly instead: (fault: Fault, round: Round) => Round | undefined;
  /**
   * It failed in mid-answer, and no call was shown: the round that goes on from
   * the text so far, or none. Not given: no other upstream could.
   */
  readonly goOn?: ((fault: Fault, said: string) => Round | undefined) | undefined;
  /** Whether the client is sent nothing before the answer is whole. */
  readonly isWhole?: boolean | undefined;
  /** It ended without failure: the round that follows, or none. Not given: no turn of this kind has several. */
  next?: (() => Round | undefined) | undefined;
  /** A round has its first event: no other takes its place. */
  begun?: (() => void) | undefined;
  /** Anything thrown while a round is made ready. */
  readonly toFault: (error: unknown) => Fault;
  /** Something of ours threw. */
  readonly crashed: (error: unknown) => void;
};

export type RoundsOptions = {
  readonly turn: RoundsOwner;
  readonly open: (round: Round) => OpenRound;
  /** A round is over, for whatever reason but that nobody waits for it. */
  readonly ended: (round: Round, fault: Fault | undefined) => void;
  /** Stands still while a full reply holds the upstream up. */
  readonly time: Pick<PausableClock, "pause" | "resume">;
  /**
   * Replaces the upstream's answer id in a frame by the id under which the answer
   * is stored: upstreams may repeat theirs. Not given: the answer is not stored.
   */
  readonly relabel?: ((frame: Frame, round: Round) => Frame) | undefined;
  /** An estimate for what a round sends. */
  readonly inputTokens: (round: Round) => number;
  /** Characters that the answer of a round may have. */
  readonly maxLength: number;
};

/**
 * The upstream calls of one turn, one after another: another upstream in place
 * of one that failed before its first event, and the rounds that a stage of the
 * turn asks for. To the pump they are one source (`source`) and one stage (the
 * object itself), which hands each event to the stages of the current round.
 */
export class Rounds implements Stage<RoundEvent, ClientEvent> {
  readonly usage: UsageMeter;
  readonly #options: RoundsOptions;
  readonly #turn: RoundsOwner;
  readonly #joined: ReturnType<typeof joinRounds<ClientName>> | undefined;
  #round: Round;
  #stages: OpenRound["stages"];
  #opened: OpenRound;
  #count = 1;
  #answerId: string | undefined;
  /** Whether the current round has emitted anything, and whether its stages have ended. */
  #begun = false;
  #over = false;
  /** How many characters the current round has said. */
  #length = 0;
  /** Why the current round failed. */
  #fault: Fault | undefined;
  /** A failure before the first event: held until it is clear that no other round takes its place. */
  #held: Fault | undefined;
  #emit: Emit<ClientEvent> = () => {};
  /** The text that was shown, and whether something was shown that no other round may follow. */
  #said = "";
  #isBound = false;
  /** Whether the round goes on with the answer of another. */
  #isGoingOn = false;
  /**
   * What a client that is sent only a whole answer would have been shown. In a
   * stream, what is said beside the choices: it may go out with their end.
   */
  #unsent: ClientEvent[] = [];

  constructor(first: Round, options: RoundsOptions) {
    this.#options = options;
    this.#turn = options.turn;
    this.#joined = options.turn.next === undefined ? undefined : joinRounds<ClientName>();
    this.#round = first;
    this.usage = new UsageMeter(() => options.inputTokens(this.#round));
    this.#opened = options.open(first);
    this.#stages = this.#opened.stages;
  }

  /** The round that is asked just now, or was asked last. */
  get round(): Round {
    return this.#round;
  }

  /** What the upstream calls the answer to the current round. */
  get answerId(): string | undefined {
    return this.#answerId;
  }

  /** How many times an upstream was asked. */
  get count(): number {
    return this.#count;
  }

  readonly source: Source<RoundEvent> = (sink) => {
    const { time } = this.#options;
    let paused = false;
    let flow: Flow;
    const open = (): void => {
      flow = this.#opened.source(this.#roundSink(sink, ended));
    };
    const ended = (): void => {
      sink.each(roundOver);
      if (!this.#goOn()) return sink.end();
      open();
      if (paused) flow.pause();
      // The pump asks the stages of the new round when they want to be woken.
      sink.flush();
    };
    open();
    return {
      pause() {
        paused = true;
        time.pause();
        flow.pause();
      },
      resume() {
        paused = false;
        time.resume();
        flow.resume();
      },
      stop: () => flow.stop(),
    };
  };

  each(event: RoundEvent, emit: Emit<ClientEvent>): void {
    this.#emit = emit;
    if (event.type === "round-over") return this.#endRound();
    if (this.#isTooLong()) return;
    this.#length += lengthOf(event);
    if (!this.#isTooLong()) return this.#stages.each(event, this.#hand);
    const fault = answerTooLong(this.#options.maxLength);
    this.#stages.each({ type: "turn-fail", fault }, this.#hand);
  }

  #isTooLong(): boolean {
    return this.#length > this.#options.maxLength;
  }

  end(emit: Emit<ClientEvent>): void {
    this.#emit = emit;
    this.#endRound();
    if (this.#held !== undefined) emit({ type: "turn-fail", fault: this.#held });
    else if (this.#fault === undefined) this.#joined?.end(emit);
    this.#held = undefined;
  }

  due(): number | undefined {
    return this.#stages.due?.();
  }

  lapse(moment: number, emit: Emit<ClientEvent>): void {
    this.#emit = emit;
    this.#stages.lapse?.(moment, this.#hand);
  }

  done(): boolean {
    return this.#isTooLong() || (this.#stages.done?.() ?? false);
  }

  readonly #hand = (event: ClientEvent): void => {
    if (this.#fault !== undefined) return;
    if (event.type === "turn-fail") return this.#fail(event.fault);
    if (!this.#begun) this.#turn.begun?.();
    this.#begun = true;
    const { relabel } = this.#options;
    let shown = event;
    if (event.type === "turn-start") {
      this.#answerId = event.id;
      if (this.#isGoingOn) return;
      if (relabel !== undefined) shown = { ...event, id: undefined };
    } else if (event.type === "usage" && this.usage.before !== undefined)
      shown = { ...event, usage: addUsage(this.usage.before, event.usage) };
    else if (event.type === "frame" && event.hasAnswer === true && relabel !== undefined)
      shown = relabel(event, this.#round);
    if (this.#joined !== undefined) this.#joined.each(shown, this.#emit);
    else if (this.#turn.goOn === undefined) this.#emit(shown);
    else this.#show(shown, this.#turn);
  };

  /** Emits an event and notes what it means for another round in place of this one. */
  #show(event: ClientEvent, { isWhole }: RoundsOwner): void {
    if (isWhole === true) return void this.#unsent.push(event);
    switch (event.type) {
      case "text-delta":
        this.#said += event.text;
        break;
      case "vendor-extra":
        if (event.of === "choice" || event.of === "answer") return void this.#unsent.push(event);
        break;
      case "refusal-delta":
      case "call-start":
      case "item-start":
      case "turn-end":
        this.#isBound = true;
        this.#release();
        break;
      case "frame":
        if ((event.stops?.length ?? 0) > 0) this.#isBound = true;
        break;
      default:
    }
    this.#emit(event);
  }

  #release(): void {
    for (const event of this.#unsent) this.#emit(event);
    this.#unsent = [];
  }

  #fail(reason: Fault): void {
    const fault = this.#turn.faultForClient(reason, this.#round);
    this.#fault = fault;
    const mayGoOn = this.#turn.goOn !== undefined && this.#joined === undefined && !this.#isBound;
    if (this.#begun && !mayGoOn) this.#emit({ type: "turn-fail", fault });
    else this.#held = fault;
  }

  #endRound(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stages.end?.(this.#hand);
    if (this.#fault === undefined) this.#release();
    this.#options.ended(this.#round, this.#fault);
  }

  /** Opens the round that follows, if one does. */
  #goOn(): boolean {
    try {
      const next = this.#next();
      if (next === undefined) return false;
      this.#opened = this.#options.open(next);
      this.#stages = this.#opened.stages;
      this.usage.next();
      this.#round = next;
    } catch (error) {
      this.#held = this.#turn.toFault(error);
      this.#fault = this.#held;
      return false;
    }
    this.#count++;
    this.#length = 0;
    this.#begun = false;
    this.#over = false;
    this.#fault = undefined;
    this.#held = undefined;
    return true;
  }

  #goOnWith(fault: Fault): Round | undefined {
    const next = this.#turn.goOn?.(fault, this.#said);
    if (next === undefined) return undefined;
    // What is not sent yet is begun anew; else the writer takes over from forwarded frames.
    this.#isGoingOn = this.#turn.isWhole !== true;
    this.#unsent = [];
    if (this.#isGoingOn && this.#round.straight)
      this.#emit({ type: "frame", data: "", forwardable: false });
    return next;
  }

  #next(): Round | undefined {
    if (this.#held !== undefined)
      return this.#begun ? this.#goOnWith(this.#held) : this.#turn.instead(this.#held, this.#round);
    if (this.#fault !== undefined) return undefined;
    const next = this.#turn.next?.();
    if (next !== undefined) this.#joined?.nextRound();
    return next;
  }

  /**
   * Where one round goes. What is thrown behind it is handed to `crashed`: an error
   * in a stage must end one turn, not the process whose socket happened to call it.
   */
  #roundSink(sink: Sink<RoundEvent>, ended: () => void): Sink<UpstreamEvent> {
    const [usage, turn] = [this.usage, this.#turn];
    let over = false;
    const crash = (error: unknown): void => {
      over = true;
      turn.crashed(error);
    };
    return {
      each(event) {
        if (over) return;
        try {
          usage.hear(event);
          // What an upstream's own code threw was reported by nobody yet.
          if (event.type === "turn-fail" && event.fault.code === "gateway.internal")
            turn.toFault(event.fault.cause ?? event.fault);
          sink.each(event);
        } catch (error) {
          crash(error);
        }
      },
      flush() {
        if (over) return;
        try {
          sink.flush();
        } catch (error) {
          crash(error);
        }
      },
      end() {
        if (over) return;
        try {
          ended();
        } catch (error) {
          crash(error);
        }
      },
    };
  }
}
