import type { Flow, Sink } from "../../stream/flow.ts";
import type { Stage } from "../../stream/stage.ts";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { DialectName } from "../../turn/turn.ts";
import type { AnswerRecord } from "./answer-record.ts";
import type { Door } from "./door.ts";
import type { RoundEvent, Rounds } from "./rounds.ts";
import type { Tally } from "./tally.ts";
import type { ThoughtKeeper } from "./thoughts.ts";

type ClientSink = Sink<TurnEvent<ClientName>>;

/** What folds what the client is told, and then gives the body of all of it; undefined if it failed. */
export type KeptAnswer = ClientSink & { whole(): string | undefined };

type Parts = {
  readonly seen: Tally["seen"];
  readonly rounds: Pick<Rounds, "round" | "count" | "answerId" | "usage">;
  readonly running: Flow;
  readonly stages: Stage<RoundEvent, TurnEvent<ClientName>>;
  readonly door: Door;
  /** The door, behind whatever keeps the answer. */
  readonly sink: ClientSink;
  readonly repairs: { all(): readonly Decision[] };
  readonly record: AnswerRecord | undefined;
  readonly thoughts: Pick<ThoughtKeeper, "items"> | undefined;
  readonly kept: KeptAnswer | undefined;
  /** The id that was made for it, in the client's dialect. */
  readonly own: { readonly dialect: DialectName; readonly id: string };
};

/** The answer to a turn on its way to the client. */
export class Answer implements Flow {
  readonly seen: Parts["seen"];
  readonly rounds: Parts["rounds"];
  /** What is kept of it; none where nothing is to be. */
  readonly record: Parts["record"];
  /** The thoughts before its calls, where they are to be kept. */
  readonly thoughts: Parts["thoughts"];
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.seen = parts.seen;
    this.rounds = parts.rounds;
    this.record = parts.record;
    this.thoughts = parts.thoughts;
    this.#parts = parts;
  }

  pause(): void {
    this.#parts.running.pause();
  }

  /** The reply has room again. */
  resume(): void {
    this.#parts.door.drained();
    this.#parts.running.resume();
  }

  stop(): void {
    this.#parts.running.stop();
  }

  /** What had to be done to the answer. */
  repairs(): readonly Decision[] {
    return this.#parts.repairs.all();
  }

  /** The body of the whole answer, where it is to be kept; undefined if it failed. */
  whole(): string | undefined {
    return this.#parts.kept?.whole();
  }

  /** The answer's id as the client sees it: ids of another dialect are not shown. */
  id(): string {
    const { own } = this.#parts;
    const { start } = this.seen;
    return (start?.dialect === own.dialect ? start.id : undefined) ?? own.id;
  }

  /** Whether that was made here, and not by the upstream. */
  hasOwnId(): boolean {
    return this.id() === this.#parts.own.id;
  }

  /** Whether the client has been sent anything. */
  shown(): boolean {
    return this.#parts.door.shown();
  }

  /** Called at even times, so that no client or proxy takes a silent stream for a dead one. */
  tick(): void {
    this.#parts.door.tick();
  }

  /**
   * Stops the upstream and ends the answer with a failure, as if the upstream had
   * said it. An answer that was over already is not spoiled, and has its end to tell.
   */
  interrupt(fault: Fault): void {
    const { sink } = this.#parts;
    this.stop();
    this.#fail(fault);
    sink.flush();
    sink.end();
  }

  /** Stops the upstream since nobody waits for the answer any more; what was complete is recorded. */
  abandon(fault: Fault): void {
    this.stop();
    this.#fail(fault);
    this.#parts.door.abandon();
  }

  #fail(fault: Fault): void {
    const { stages, sink } = this.#parts;
    const emit = (event: TurnEvent<ClientName>): void => sink.each(event);
    stages.each({ type: "turn-fail", fault }, emit);
    stages.end?.(emit);
  }
}
