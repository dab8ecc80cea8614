import type { Dialect, WriteContext } from "../dialects/dialect.ts";
import type { Sink } from "../stream/flow.ts";
import { folding } from "../stream/fold.ts";
import { straight as straightLane } from "../stream/straight.ts";
import type { Frame, TurnEvent } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { ClientName } from "../turn/names.ts";
import type { Turn } from "../turn/turn.ts";
import type { Reply } from "./exchange.ts";

/** The client's end of a turn. */
export type DoorOptions = {
  readonly dialect: Dialect;
  readonly turn: Turn;
  readonly context: WriteContext;
  readonly reply: Reply;
  readonly headers: Readonly<Record<string, string>>;
  /** What the head of a whole answer says of its calls. */
  figures(): Readonly<Record<string, string>>;
  readonly straight: boolean;
  /** The reply is full: hold the upstream. */
  full(): void;
  /** The turn failed and the client has not been told anything yet. */
  refused(fault: Fault, begun: boolean): void;
  /** The client has the whole answer. */
  told(status: number): void;
};

export type Door = Sink<TurnEvent<ClientName>> & {
  /** Whether the client has been told anything. */
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
  const { dialect, turn, context, reply } = options;
  const plain = dialect.writeEvents(turn, context);
  const writer = options.straight
    ? straightLane(plain, { usageWanted: turn.usageWanted, lastWords: context.lastWords })
    : plain;
  let refused: Fault | undefined;
  let begun = false;
  let shown = false;
  let text = "";
  const gather = (piece: string): void => {
    text += piece;
  };
  return {
    each(event) {
      if (!begun) {
        if (refused !== undefined) return;
        if (event.type === "turn-fail") {
          refused = event.fault;
          return;
        }
        begun = true;
        reply.head(200, { ...options.headers, ...STREAM_HEADERS });
      }
      writer.each(event, gather);
    },
    flush() {
      // A model may think long before its first word; that it has begun is told at once.
      if (text === "" && (shown || !begun)) return;
      shown = true;
      const roomLeft = reply.write(text);
      text = "";
      if (!roomLeft) options.full();
    },
    end() {
      if (refused !== undefined) return options.refused(refused, false);
      writer.end?.(gather);
      shown = true;
      reply.end(text);
      options.told(200);
    },
    shown: () => shown,
  };
}

/** Folds the events and answers once. */
function wholeDoor(options: DoorOptions): Door {
  const { dialect, turn, context, reply } = options;
  const folded = folding<ClientName>();
  let begun = false;
  let shown = false;
  let whole: Frame | undefined;
  return {
    each(event) {
      if (event.type === "frame") {
        if (event.whole === true && options.straight) whole = event;
        return;
      }
      begun ||= event.type !== "turn-fail";
      folded.each(event);
    },
    flush() {},
    end() {
      const answer = folded.answer();
      if (answer.fault !== undefined) return options.refused(answer.fault, begun);
      // An upstream that streamed anyway sent no body to forward: then the fold is the only one.
      const body =
        whole?.forwardable === true ? whole.data : dialect.writeAnswer(answer, turn, context);
      reply.head(200, {
        ...options.headers,
        ...options.figures(),
        "content-type": "application/json; charset=utf-8",
      });
      shown = true;
      reply.end(body);
      options.told(200);
    },
    shown: () => shown,
  };
}
