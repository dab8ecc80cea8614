import type { DoorDialect, WriteContext } from "../../dialects/dialect.ts";
import type { Sink } from "../../stream/flow.ts";
import { folding } from "../../stream/fold.ts";
import { sseComment } from "../../stream/sse.ts";
import type { Stage } from "../../stream/stage.ts";
import { straight as straightLane } from "../../stream/straight.ts";
import type { Frame, TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { Turn } from "../../turn/turn.ts";
import type { Reply } from "../http/exchange.ts";

/** The client's end of a turn. */
export type DoorOptions = {
  readonly dialect: DoorDialect;
  readonly turn: Turn;
  readonly context: WriteContext;
  readonly reply: Reply;
  /**
   * Asked when the answer begins: which upstream gives it is known only then. A
   * new object each time, which is added to.
   */
  readonly headers: () => Record<string, string>;
  /** What the head of a whole answer says of its calls. */
  figures(): Readonly<Record<string, string>>;
  /** Whether the upstream's own frames go through untouched; asked when the answer begins. */
  readonly straight: () => boolean;
  /** The reply is full: hold the upstream. */
  full(): void;
  /** The turn failed before the client was sent anything. */
  refused(fault: Fault): void;
  /** The client is sent the upstream's own last frame, or its whole body. */
  readonly forwarded?: ((frame: Pick<Frame, "data">) => void) | undefined;
  /** Asked when all of the answer is written and its end is still to be sent: what that waits for, and whether the answer is stored then. */
  ending?(): Promise<boolean> | undefined;
  /** The client has been sent the whole answer. */
  completed(status: number): void;
};

export type Door = Sink<TurnEvent<ClientName>> & {
  /** Called at even times: every third call without a write in between sends a keep-alive. */
  tick(): void;
  /** The reply has room again. */
  drained(): void;
  /** Whether the client has been sent anything, be it only the head of the reply. */
  shown(): boolean;
  /** The client has left: nothing more is sent, and what there is of the answer is recorded. */
  abandon(): void;
};

export const openDoor = (options: DoorOptions): Door =>
  options.turn.stream ? new StreamDoor(options) : wholeDoor(options);

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** How many ticks without a write make a stream silent. */
export const QUIET_TICKS = 3;

/** Sent to clients of dialects that have no event for it. */
export const KEEP_ALIVE = sseComment("keep-alive");

/** Writes events as they come, once per flush. */
class StreamDoor implements Door {
  readonly #options: DoorOptions;
  /** Whether the answer is to be found again: its end then waits until it is stored. */
  readonly #isKept: boolean;
  #writer: Stage<TurnEvent<ClientName>, string> | undefined;
  #refused: Fault | undefined;
  #shown = false;
  #isHeadSent = false;
  #isOver = false;
  #text = "";
  /** Ticks since the last write. */
  #quietTicks = 0;
  /** Whether the reply takes no more for now. */
  #isFull = false;
  /** What is written from where a kept answer is over. */
  #last: string | undefined;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#isKept = options.forwarded !== undefined;
  }

  each(event: TurnEvent<ClientName>): void {
    if (this.#isOver) return;
    if (this.#writer === undefined) this.#begin(event);
    else this.#write(event);
  }

  flush(): void {
    // A model may think long before its first word; that it has begun is told at once.
    if (this.#text === "" && (this.#shown || this.#writer === undefined)) return;
    this.#shown = true;
    this.#send(this.#text);
    this.#text = "";
  }

  #send(text: string): void {
    this.#quietTicks = 0;
    this.#isFull = !this.#options.reply.write(text);
    if (this.#isFull) this.#options.full();
  }

  tick(): void {
    const { dialect, reply } = this.#options;
    // A reply with a form of its own for refusals is a WebSocket, which has pings of its own.
    if (this.#isOver || this.#isFull || this.#refused !== undefined || reply.refuse) return;
    if (++this.#quietTicks < QUIET_TICKS) return;
    this.#sendHead();
    this.#shown = true;
    this.#send(dialect.ping ?? KEEP_ALIVE);
  }

  drained(): void {
    this.#isFull = false;
  }

  end(): void {
    if (this.#refused !== undefined) return this.#options.refused(this.#refused);
    if (this.#isOver) return;
    this.#writer?.end?.(this.#gather);
    this.#isOver = true;
    const rest = this.#last ?? "";
    const ending = this.#options.ending?.();
    if (ending === undefined) return this.#finish(this.#text + rest);
    if (this.#text !== "") this.flush();
    void ending.then((stored) => this.#finish(stored ? rest : sseComment(NOT_STORED) + rest));
  }

  shown(): boolean {
    return this.#shown;
  }

  abandon(): void {
    this.#isOver = true;
  }

  #begin(event: TurnEvent<ClientName>): void {
    if (this.#refused !== undefined) return;
    if (event.type === "turn-fail" && !this.#isHeadSent) {
      this.#refused = event.fault;
      return;
    }
    this.#writer = streamWriter(this.#options);
    this.#sendHead();
    this.#write(event);
  }

  #sendHead(): void {
    if (this.#isHeadSent) return;
    this.#isHeadSent = true;
    const { reply, headers } = this.#options;
    reply.head(200, Object.assign(headers(), STREAM_HEADERS));
  }

  #write(event: TurnEvent<ClientName>): void {
    if (this.#isKept && isEnd(event)) this.#last ??= "";
    const { forwarded, straight } = this.#options;
    if (event.type === "frame" && event.ends === "terminal" && straight()) forwarded?.(event);
    this.#writer?.each(event, this.#gather);
  }

  readonly #gather = (piece: string): void => {
    if (this.#last === undefined) this.#text += piece;
    else this.#last += piece;
  };

  #finish(end: string): void {
    this.#shown = true;
    this.#options.reply.end(end);
    this.#options.completed(200);
  }
}

const isEnd = (event: TurnEvent<ClientName>): boolean =>
  event.type === "turn-end" ||
  event.type === "turn-fail" ||
  (event.type === "frame" && event.ends !== undefined);

/** What a client is told whose answer could not be stored, or not yet. */
const NOT_STORED = "patchbay-store: unconfirmed";
const NOT_STORED_HEADERS = { "x-patchbay-store": "unconfirmed" };

function streamWriter(options: DoorOptions): Stage<TurnEvent<ClientName>, string> {
  const { dialect, turn, context } = options;
  const writer = dialect.writeEvents(turn, context);
  if (!options.straight()) return writer;
  const { closingComment } = context;
  return straightLane(writer, {
    usageWanted: turn.usageWanted,
    closingComment,
    endMarker: dialect.endMarker,
  });
}

/** Folds the events and answers once. */
function wholeDoor(options: DoorOptions): Door {
  const { dialect, turn, context, reply } = options;
  const folded = folding<ClientName>();
  let shown = false;
  let isOver = false;
  let whole: Frame | undefined;
  const finish = (body: string, stored: boolean): void => {
    const headers = Object.assign(options.headers(), options.figures());
    headers["content-type"] = "application/json; charset=utf-8";
    reply.head(200, stored ? headers : { ...headers, ...NOT_STORED_HEADERS });
    shown = true;
    reply.end(body);
    options.completed(200);
  };
  return {
    each(event) {
      if (isOver) return;
      if (event.type !== "frame") folded.each(event);
      else if (event.whole === true && options.straight()) whole = event;
    },
    flush() {},
    tick() {},
    drained() {},
    end() {
      if (isOver) return;
      const answer = folded.answer();
      if (answer.fault !== undefined) {
        // What was complete is kept; the client is told of the failure alone.
        if (context.record !== undefined) dialect.writeAnswer(answer, turn, context);
        return options.refused(answer.fault);
      }
      // An upstream that streamed anyway sent no body to forward: then the fold is the only one.
      const body =
        whole?.forwardable === true ? whole.data : dialect.writeAnswer(answer, turn, context);
      // Writing may have thrown, and then the answer is still to be ended.
      isOver = true;
      if (whole?.forwardable === true) options.forwarded?.(whole);
      const ending = options.ending?.();
      if (ending === undefined) finish(body, true);
      else void ending.then((stored) => finish(body, stored));
    },
    shown: () => shown,
    abandon() {
      if (!isOver) dialect.writeAnswer(folded.answer(), turn, context);
      isOver = true;
    },
  };
}
