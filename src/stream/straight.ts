import type { Frame, TurnEvent, UsageCount } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { sseDone, sseFrame } from "./sse.ts";
import type { Emit, Stage } from "./stage.ts";

/**
 * Turns events into the text of a client's stream. The end of a choice is said
 * at its `turn-end`; what follows the last of them, such as counts and the
 * sentinel, in `end`.
 */
export type EventWriter<Name extends AnyName> = Stage<TurnEvent<Name>, string> & {
  /** Goes on counting from here, where a dialect numbers its frames. */
  resumeAt?(sequence: number): void;
};

type LaneOptions = {
  readonly usageWanted: boolean;
  /** What is said behind the end of the choices, before counts and sentinel. */
  readonly closingComment?: (() => string) | undefined;
  /** What ends the client's stream, behind all else. */
  readonly endMarker?: string | undefined;
};

/**
 * What takes the text of a writer that is only to follow along. A writer that
 * sees it keeps track of what was sent and makes no text.
 */
export const discard: Emit<string> = () => {};

/**
 * The straight lane: while the upstream's frames need no repair they are
 * forwarded as they are, and the writer only follows along. At the first frame
 * that does need repair the writer takes over: it has followed all that was
 * sent, so the client sees one stream.
 */
export const straight = <Name extends AnyName>(
  writer: EventWriter<Name>,
  options: LaneOptions,
): Stage<TurnEvent<Name>, string> => new StraightLane<Name>(writer, options);

class StraightLane<Name extends AnyName> implements Stage<TurnEvent<Name>, string> {
  readonly #writer: EventWriter<Name>;
  readonly #usageWanted: boolean;
  readonly #closingComment: LaneOptions["closingComment"];
  readonly #endMarker: string;
  /** The events since the last frame, while it is open whether that frame is forwarded. */
  readonly #pending: (TurnEvent<Name> | undefined)[] = [];
  /** How many these are: a list that is emptied by its length would be made anew for every frame. */
  #waiting = 0;
  /** What the writer has to say before the end. */
  #text = "";
  #forwarding = true;
  /** Upstreams count in odd places and more than once; the client is told once, at the end. */
  #usage: UsageCount | undefined;
  #count: Frame | undefined;
  /** The choices whose end was forwarded; their `turn-end` comes only when all is over. */
  readonly #stopped = new Set<number>();
  /** Whether the last words are the writer's to say. */
  #owing = false;

  constructor(
    writer: EventWriter<Name>,
    { usageWanted, closingComment, endMarker = sseDone }: LaneOptions,
  ) {
    this.#writer = writer;
    this.#usageWanted = usageWanted;
    this.#closingComment = closingComment;
    this.#endMarker = endMarker;
  }

  each(event: TurnEvent<Name>, emit: Emit<string>): void {
    switch (event.type) {
      case "frame":
        if (!this.#forwarding) return;
        // A whole body is forwardable where one was asked for, which is not here.
        return event.forwardable && event.whole !== true
          ? this.#forward(event, emit)
          : this.#takeOver(emit);
      case "usage":
        this.#usage = event;
        if (!this.#forwarding) this.#tellUsage();
        return;
      case "turn-end":
        if (this.#stopped.has(event.choice)) return;
        this.#tellUsage();
        this.#owing = true;
        break;
      case "turn-fail":
        this.#tellUsage();
        this.#owing = true;
        this.#wait(event);
        return this.#takeOver(emit);
      default:
    }
    if (this.#forwarding) this.#wait(event);
    else this.#writer.each(event, emit);
  }

  end(emit: Emit<string>): void {
    if (this.#owing) {
      this.#write(this.#gather);
      this.#writer.end?.(this.#gather);
      if (this.#text !== "") emit(this.#text);
      return;
    }
    const comment = this.#closingComment?.() ?? "";
    if (comment !== "") emit(comment);
    const count = this.#usageWanted ? this.#count : undefined;
    if (count !== undefined) emit(sseFrame(count.data, count.name));
    if (this.#endMarker !== "") emit(this.#endMarker);
  }

  readonly #gather = (text: string): void => {
    this.#text += text;
  };

  #tellUsage(): void {
    if (this.#usage === undefined) return;
    this.#owing = true;
    if (this.#forwarding) this.#wait(this.#usage);
    else this.#writer.each(this.#usage, this.#gather);
    this.#usage = undefined;
  }

  #wait(event: TurnEvent<Name>): void {
    this.#pending[this.#waiting++] = event;
  }

  #write(emit: Emit<string>): void {
    const pending = this.#pending;
    for (let at = 0; at < this.#waiting; at++) {
      const event = pending[at];
      pending[at] = undefined;
      if (event !== undefined) this.#writer.each(event, emit);
    }
    this.#waiting = 0;
  }

  #forward(frame: Frame, emit: Emit<string>): void {
    if (frame.stops !== undefined) for (const choice of frame.stops) this.#stopped.add(choice);
    this.#write(discard);
    if (frame.sequence !== undefined) this.#writer.resumeAt?.(frame.sequence + 1);
    if (frame.usageOnly === true) this.#count = frame;
    // The sentinel is the same from everyone, and stands behind all there may still be to say.
    else if (frame.ends !== "done") emit(frame.run ?? sseFrame(frame.data, frame.name));
  }

  #takeOver(emit: Emit<string>): void {
    this.#tellUsage();
    this.#write(emit);
    this.#forwarding = false;
  }
}
