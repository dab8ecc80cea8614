import type { Frame, TurnEvent, UsageCount } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { sseDone, sseFrame } from "./sse.ts";
import type { Emit, Stage } from "./stage.ts";

/**
 * Turns events into the text of a client's stream. It writes the end of a choice at its
 * `turn-end`; `end` writes the text after the last of them, such as counts and the sentinel.
 */
export type EventWriter<Name extends AnyName> = Stage<TurnEvent<Name>, string> & {
  /** Continues counting from this number, if the dialect numbers its frames. */
  resumeAt?(sequence: number): void;
};

type LaneOptions = {
  readonly usageWanted: boolean;
  /** A comment after the end of the choices, before counts and sentinel. */
  readonly closingComment?: (() => string) | undefined;
  /** The last text of the client's stream. */
  readonly endMarker?: string | undefined;
  /** True if the writer also records the answer, so that it follows every frame at once. */
  readonly followsAtOnce?: boolean | undefined;
};

/** Drops the text of a writer that only follows. A writer that receives this emitter need not make any text. */
export const discard: Emit<string> = () => {};

/** Events that may wait for the writer; each holds the text of one network read at most. */
const MOST_WAITING = 64;

/**
 * The straight lane: while the upstream's frames need no repair they are forwarded unchanged. At
 * the first frame that needs repair the writer takes over: it first follows the events of all
 * frames that were sent, so that the client sees one stream.
 */
export class StraightLane<Name extends AnyName> implements Stage<TurnEvent<Name>, string> {
  readonly #writer: EventWriter<Name>;
  readonly #options: LaneOptions;
  /**
   * The events that the writer has not followed yet. Those before `#forwarded` were sent as frames:
   * the writer follows them when it takes over, or when there are many.
   */
  #waiting: TurnEvent<Name>[] = [];
  #forwarded = 0;
  /** The number of the last forwarded frame, if the dialect numbers them. */
  #sequence: number | undefined;
  /** Text of the writer for the end. */
  #text = "";
  #isForwarding = true;
  /** Upstreams count in odd places and more than once; the client gets one count, at the end. */
  #usage: UsageCount | undefined;
  #count: Frame | undefined;
  /** The choices whose end was forwarded; their `turn-end` comes at the end of the stream. */
  #stopped: ReadonlySet<number> = none;
  /** True if the writer writes the end. */
  #owing = false;

  constructor(writer: EventWriter<Name>, options: LaneOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  each(event: TurnEvent<Name>, emit: Emit<string>): void {
    switch (event.type) {
      case "frame":
        if (!this.#isForwarding) return;
        // A whole body is never part of a stream.
        if (event.forwardable && event.whole !== true) this.#forward(event, emit);
        else this.#takeOver(emit);
        return;
      case "usage":
        this.#usage = event;
        if (!this.#isForwarding) this.#writeUsage();
        return;
      case "turn-end":
        if (this.#stopped.has(event.choice)) return;
        this.#writeUsage();
        this.#owing = true;
        break;
      case "turn-fail":
        this.#writeUsage();
        this.#owing = true;
        this.#waiting.push(event);
        return this.#takeOver(emit);
      default:
    }
    if (this.#isForwarding) this.#waiting.push(event);
    else this.#writer.each(event, emit);
  }

  end(emit: Emit<string>): void {
    const { closingComment, usageWanted, endMarker = sseDone } = this.#options;
    if (this.#owing) {
      this.#write(this.#gather);
      this.#writer.end?.(this.#gather);
      if (this.#text !== "") emit(this.#text);
      return;
    }
    const comment = closingComment?.() ?? "";
    if (comment !== "") emit(comment);
    const count = usageWanted ? this.#count : undefined;
    if (count !== undefined) emit(sseFrame(count.data, count.name));
    if (endMarker !== "") emit(endMarker);
  }

  readonly #gather = (text: string): void => {
    this.#text += text;
  };

  #writeUsage(): void {
    if (this.#usage === undefined) return;
    this.#owing = true;
    if (this.#isForwarding) this.#waiting.push(this.#usage);
    else this.#writer.each(this.#usage, this.#gather);
    this.#usage = undefined;
  }

  /** Lets the writer follow the events that were forwarded, and write the others. */
  #write(emit: Emit<string>): void {
    const [events, forwarded] = [this.#waiting, this.#forwarded];
    this.#waiting = [];
    this.#forwarded = 0;
    for (const [at, event] of events.entries()) {
      if (at === forwarded) this.#resumeCount();
      this.#writer.each(event, at < forwarded ? discard : emit);
    }
    if (events.length <= forwarded) this.#resumeCount();
  }

  #resumeCount(): void {
    if (this.#sequence !== undefined) this.#writer.resumeAt?.(this.#sequence + 1);
    this.#sequence = undefined;
  }

  #forward(frame: Frame, emit: Emit<string>): void {
    if (frame.stops !== undefined) this.#stopped = new Set([...this.#stopped, ...frame.stops]);
    const [events, before] = [this.#waiting, this.#forwarded];
    this.#forwarded = events.length;
    this.#sequence = frame.sequence ?? this.#sequence;
    if (this.#options.followsAtOnce === true || this.#forwarded > MOST_WAITING)
      this.#write(discard);
    else
      for (let at = before; at < events.length; at++) {
        const event = events[at];
        // Its frames are sent, and the pieces hold on to the text of their network read.
        if (event !== undefined && "literals" in event)
          events[at] = { ...event, literals: undefined };
      }
    if (frame.usageOnly === true) this.#count = frame;
    // The sentinel is always the same, and comes after the counts and comments that may follow.
    else if (frame.ends !== "done") emit(frame.run ?? sseFrame(frame.data, frame.name));
  }

  #takeOver(emit: Emit<string>): void {
    this.#writeUsage();
    this.#write(emit);
    this.#isForwarding = false;
  }
}

const none: ReadonlySet<number> = new Set();
