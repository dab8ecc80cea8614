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
  readonly lastWords?: (() => string) | undefined;
};

/**
 * The straight lane: while the upstream's frames need no repair they are
 * forwarded as they are, and the writer only follows along, its own words
 * thrown away. At the first frame that does, the writer's words count from
 * there on: it knows all that was said, so the client sees one stream.
 */
export const straight = <Name extends AnyName>(
  writer: EventWriter<Name>,
  options: LaneOptions,
): Stage<TurnEvent<Name>, string> => new StraightLane<Name>(writer, options);

class StraightLane<Name extends AnyName> implements Stage<TurnEvent<Name>, string> {
  readonly #writer: EventWriter<Name>;
  readonly #usageWanted: boolean;
  readonly #lastWords: LaneOptions["lastWords"];
  /** The writer's words since the last frame, while frames are forwarded. */
  #own = "";
  #forwarding = true;
  /** Upstreams count in odd places and more than once; the client is told once, at the end. */
  #usage: UsageCount | undefined;
  #count: Frame | undefined;
  /** The choices whose end was forwarded; their `turn-end` comes only when all is over. */
  readonly #stopped = new Set<number>();
  /** Whether the last words are the writer's to say. */
  #owing = false;

  constructor(writer: EventWriter<Name>, { usageWanted, lastWords }: LaneOptions) {
    this.#writer = writer;
    this.#usageWanted = usageWanted;
    this.#lastWords = lastWords;
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
        this.#writer.each(event, this.#gather);
        return this.#takeOver(emit);
      default:
    }
    this.#writer.each(event, this.#forwarding ? this.#gather : emit);
  }

  end(emit: Emit<string>): void {
    if (this.#owing) {
      this.#writer.end?.(this.#gather);
      if (this.#own !== "") emit(this.#own);
      return;
    }
    const words = this.#lastWords?.() ?? "";
    if (words !== "") emit(words);
    const count = this.#usageWanted ? this.#count : undefined;
    if (count !== undefined) emit(sseFrame(count.data, count.name));
    emit(sseDone);
  }

  readonly #gather = (text: string): void => {
    this.#own += text;
  };

  #tellUsage(): void {
    if (this.#usage === undefined) return;
    this.#owing = true;
    this.#writer.each(this.#usage, this.#gather);
    this.#usage = undefined;
  }

  #forward(frame: Frame, emit: Emit<string>): void {
    for (const choice of frame.stops ?? []) this.#stopped.add(choice);
    this.#own = "";
    if (frame.sequence !== undefined) this.#writer.resumeAt?.(frame.sequence + 1);
    if (frame.usageOnly === true) this.#count = frame;
    // The sentinel is the same from everyone, and stands behind all there may still be to say.
    else if (frame.ends !== "done") emit(sseFrame(frame.data, frame.name));
  }

  #takeOver(emit: Emit<string>): void {
    this.#forwarding = false;
    this.#tellUsage();
    if (this.#own !== "") emit(this.#own);
    this.#own = "";
  }
}
