import type { DoorDialect, WriteContext } from "../dialects/dialect.ts";
import type { Sink } from "../stream/flow.ts";
import { folding } from "../stream/fold.ts";
import { sseComment } from "../stream/sse.ts";
import type { Stage } from "../stream/stage.ts";
import { straight as straightLane } from "../stream/straight.ts";
import type { Frame, TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import type { Reply } from "./exchange.ts";

/** The client's end of a turn. */
export type DoorOptions = {
  readonly dialect: DoorDialect;
  readonly turn: Turn;
  readonly context: WriteContext;
  readonly reply: Reply;
  /** Asked when the answer begins: which upstream gives it is known only then. */
  headers(): Readonly<Record<string, string>>;
  /** What the head of a whole answer says of its calls. */
  figures(): Readonly<Record<string, string>>;
  /** Whether the upstream's own frames go through untouched; asked when the answer begins. */
  straight(): boolean;
  /** The reply is full: hold the upstream. */
  full(): void;
  /** The turn failed before the client was sent anything. */
  refused(fault: Fault): void;
  /** The client has been sent the whole answer. */
  completed(status: number): void;
};

export type Door = Sink<TurnEvent<ClientName>> & {
  /** Writes a comment to a stream under way, which clients pass over. */
  keepAlive(): void;
  /** Whether the client has been sent anything. */
  shown(): boolean;
};

export const openDoor = (options: DoorOptions): Door =>
  options.turn.stream ? streamDoor(options) : wholeDoor(options);

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Writes events as they come, once per flush. */
function streamDoor(options: DoorOptions): Door {
  const { reply } = options;
  let refused: Fault | undefined;
  let writer: Stage<TurnEvent<ClientName>, string> | undefined;
  let shown = false;
  let text = "";
  const gather = (piece: string): void => {
    text += piece;
  };
  const begin = (event: TurnEvent<ClientName>): void => {
    if (refused !== undefined) return;
    if (event.type === "turn-fail") {
      refused = event.fault;
      return;
    }
    writer = streamWriter(options);
    reply.head(200, { ...options.headers(), ...STREAM_HEADERS });
    writer.each(event, gather);
  };
  return {
    each(event) {
      if (writer === undefined) begin(event);
      else writer.each(event, gather);
    },
    flush() {
      // A model may think long before its first word; that it has begun is told at once.
      if (text === "" && (shown || writer === undefined)) return;
      shown = true;
      const roomLeft = reply.write(text);
      text = "";
      if (!roomLeft) options.full();
    },
    keepAlive() {
      if (writer === undefined || refused !== undefined) return;
      shown = true;
      if (!reply.write(sseComment("keep-alive"))) options.full();
    },
    end() {
      if (refused !== undefined) return options.refused(refused);
      writer?.end?.(gather);
      shown = true;
      reply.end(text);
      options.completed(200);
    },
    shown: () => shown,
  };
}

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
  let whole: Frame | undefined;
  return {
    each(event) {
      if (event.type !== "frame") folded.each(event);
      else if (event.whole === true && options.straight()) whole = event;
    },
    flush() {},
    keepAlive() {},
    end() {
      const answer = folded.answer();
      if (answer.fault !== undefined) return options.refused(answer.fault);
      // An upstream that streamed anyway sent no body to forward: then the fold is the only one.
      const body =
        whole?.forwardable === true ? whole.data : dialect.writeAnswer(answer, turn, context);
      reply.head(200, {
        ...options.headers(),
        ...options.figures(),
        "content-type": "application/json; charset=utf-8",
      });
      shown = true;
      reply.end(body);
      options.completed(200);
    },
    shown: () => shown,
  };
}
