import type { Sink } from "../../stream/flow.ts";
import { callHeaders } from "../../observe/figures.ts";
import type { Outcome } from "../../observe/happening.ts";
import { AnswerFold } from "../../stream/fold.ts";
import { sseComment } from "../../stream/sse.ts";
import type { Stage } from "../../stream/stage.ts";
import { StraightLane } from "../../stream/straight.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import { KEEP_ALIVE, STREAM_HEADERS } from "../http/exchange.ts";
import { saveBeforeEnd } from "./record.ts";
import type { Run } from "./run.ts";

/** The turn of a door. */
export type DoorOwner = {
  /** The reply is full: the upstream must wait. */
  pause(): void;
  /** The turn has failed before the client was sent anything. */
  fail(fault: Fault): void;
  /** The client has been sent the whole answer. */
  over(outcome: Outcome, status: number): void;
};

/** The client's end of a turn. */
export type Door = Sink<TurnEvent<ClientName>> & {
  /** Called at regular intervals: every third call without a write in between sends a keep-alive. */
  tick(): void;
  /** The reply has room again. */
  drained(): void;
  /** True once anything was sent, including only the head of the reply. */
  shown(): boolean;
  /** The client has left: nothing more is sent, and the answer so far is recorded. */
  abandon(): void;
};

/** Ticks without a write after which a stream gets a keep-alive. */
export const QUIET_TICKS = 3;

/** Writes the events of each flush at once. */
export class StreamDoor implements Door {
  readonly #run: Run;
  readonly #owner: DoorOwner;
  #writer: Writer | undefined;
  #refused: Fault | undefined;
  #shown = false;
  #isHeadSent = false;
  #isOver = false;
  #text = "";
  /** Ticks since the last write. */
  #quietTicks = 0;
  /** True while the reply takes no more. */
  #isFull = false;
  /** The text from the end of a stored answer on; it is sent when the answer is stored. */
  #last: string | undefined;

  constructor(run: Run, owner: DoorOwner) {
    this.#run = run;
    this.#owner = owner;
  }

  each(event: TurnEvent<ClientName>): void {
    if (this.#isOver) return;
    const writer = this.#writer ?? this.#begin(event);
    if (writer === undefined) return;
    const { record, round, turn, isStoredFirst } = this.#run;
    if (isStoredFirst && isEnd(event, turn.params.n)) this.#last ??= "";
    if (event.type === "frame" && event.ends === "terminal" && round?.straight === true)
      record?.forwarded(event);
    writer.each(event, this.#gather);
  }

  flush(): void {
    // A model may think long before its first word: the head is sent at once.
    if (this.#text === "" && (this.#shown || this.#writer === undefined)) return;
    this.#send(this.#text);
    this.#text = "";
  }

  #send(text: string): void {
    this.#shown = true;
    this.#quietTicks = 0;
    this.#isFull = !this.#run.reply.write(text);
    if (this.#isFull) this.#owner.pause();
  }

  tick(): void {
    const { dialect, reply } = this.#run;
    // A reply that has its own form of refusals is a WebSocket, which has its own pings.
    if (this.#isOver || this.#isFull || this.#refused !== undefined || reply.refuse) return;
    if (++this.#quietTicks < QUIET_TICKS) return;
    this.#sendHead();
    this.#send(dialect.ping ?? KEEP_ALIVE);
  }

  drained(): void {
    this.#isFull = false;
  }

  end(): void {
    if (this.#refused !== undefined) return this.#owner.fail(this.#refused);
    if (this.#isOver) return;
    if (this.#run.isStoredFirst) this.#last ??= "";
    this.#writer?.end?.(this.#gather);
    this.#isOver = true;
    const rest = this.#last ?? "";
    const ending = saveBeforeEnd(this.#run);
    if (ending === undefined) return this.#finish(this.#text + rest);
    if (this.#text !== "") this.flush();
    const { streams } = this.#run.dialect;
    const comment = streams === undefined ? sseComment(NOT_STORED) : "";
    void ending.then((stored) => this.#finish(stored ? rest : comment + rest));
  }

  shown(): boolean {
    return this.#shown;
  }

  abandon(): void {
    this.#isOver = true;
  }

  /** The writer, once the first event has come; undefined if that was a failure. */
  #begin(event: TurnEvent<ClientName>): Writer | undefined {
    if (this.#refused !== undefined) return undefined;
    if (event.type === "turn-fail" && !this.#isHeadSent) {
      this.#refused = event.fault;
      return undefined;
    }
    this.#writer = streamWriter(this.#run);
    this.#sendHead();
    return this.#writer;
  }

  #sendHead(): void {
    if (this.#isHeadSent) return;
    this.#isHeadSent = true;
    const { dialect, turn, reply } = this.#run;
    const headers = Object.assign(this.#run.headers(), STREAM_HEADERS);
    const { streams, ping } = dialect;
    if (streams === undefined) return reply.head(200, headers);
    reply.head(200, { ...headers, "content-type": streams.contentType(turn) }, ping);
  }

  readonly #gather = (piece: string): void => {
    if (this.#last === undefined) this.#text += piece;
    else this.#last += piece;
  };

  #finish(end: string): void {
    this.#shown = true;
    const { dialect, reply, outcome } = this.#run;
    reply.end(end, dialect.streams !== undefined && outcome === "failed");
    this.#owner.over(outcome, 200);
  }
}

/** The end of one of several choices is not the end of the answer. */
const isEnd = (event: TurnEvent<ClientName>, choices = 1): boolean =>
  (event.type === "turn-end" && choices === 1) ||
  event.type === "turn-fail" ||
  (event.type === "frame" && event.ends !== undefined);

/** Sent with an answer that could not be stored, or not yet. */
const NOT_STORED = "patchbay-store: unconfirmed";
const NOT_STORED_HEADERS = { "x-patchbay-store": "unconfirmed" };

type Writer = Stage<TurnEvent<ClientName>, string>;

function streamWriter(run: Run): Writer {
  const { dialect, turn, context } = run;
  const writer = dialect.writeEvents(turn, context);
  if (run.round?.straight !== true) return writer;
  const { usageWanted } = turn;
  const { endMarker } = dialect;
  const closingComment = dialect.streams === undefined ? context.closingComment : undefined;
  const followsAtOnce = run.record !== undefined;
  return new StraightLane(writer, { usageWanted, closingComment, endMarker, followsAtOnce });
}

/** Folds the events and answers once. */
export class WholeDoor implements Door {
  readonly #run: Run;
  readonly #owner: DoorOwner;
  readonly #folded = new AnswerFold<ClientName>();
  #isShown = false;
  #isOver = false;
  /** The upstream's own body. */
  #whole: Frame | undefined;

  constructor(run: Run, owner: DoorOwner) {
    this.#run = run;
    this.#owner = owner;
  }

  each(event: TurnEvent<ClientName>): void {
    if (this.#isOver) return;
    if (event.type !== "frame") this.#folded.each(event);
    else if (event.whole === true && this.#run.round?.straight === true) this.#whole = event;
  }

  flush(): void {}
  tick(): void {}
  drained(): void {}

  end(): void {
    if (this.#isOver) return;
    const { dialect, turn, record } = this.#run;
    const { fault } = this.#folded;
    if (fault !== undefined && record === undefined) return this.#owner.fail(fault);
    // An upstream may stream although a whole answer was asked for; then there is no body to forward.
    const isForwarded = fault === undefined && this.#whole?.forwardable === true;
    const whole = isForwarded ? this.#whole : undefined;
    const body = whole?.data ?? dialect.writeAnswer(this.#folded.answer(), turn, this.#run.context);
    // The complete parts were kept as they were written; the client receives only the failure.
    if (fault !== undefined) return this.#owner.fail(fault);
    // Set after writing: if that throws, the answer still has to be ended.
    this.#isOver = true;
    if (whole !== undefined) record?.forwarded(whole);
    const ending = saveBeforeEnd(this.#run);
    if (ending === undefined) this.#finish(body, true);
    else void ending.then((stored) => this.#finish(body, stored));
  }

  shown(): boolean {
    return this.#isShown;
  }

  abandon(): void {
    const { dialect, turn, context } = this.#run;
    if (!this.#isOver) dialect.writeAnswer(this.#folded.answer(), turn, context);
    this.#isOver = true;
  }

  #finish(body: string, stored: boolean): void {
    const { reply, figures, rules } = this.#run;
    const headers = Object.assign(this.#run.headers(), callHeaders(figures, rules));
    headers["content-type"] = "application/json; charset=utf-8";
    reply.head(200, stored ? headers : { ...headers, ...NOT_STORED_HEADERS });
    this.#isShown = true;
    reply.end(body);
    this.#owner.over(this.#run.outcome, 200);
  }
}
