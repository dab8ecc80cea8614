import type { Frame, TurnEvent, UsageSaid } from "../turn/event.ts";
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

/**
 * The straight lane: while the upstream's frames need no repair they are
 * forwarded as they are, and the writer only follows along, its own words
 * thrown away. At the first frame that does, the writer's words count from
 * there on: it knows all that was said, so the client sees one stream.
 */
export function straight<Name extends AnyName>(
  writer: EventWriter<Name>,
  options: { readonly usageWanted: boolean },
): Stage<TurnEvent<Name>, string> {
  /** The writer's words since the last frame, while frames are forwarded. */
  let own = "";
  let forwarding = true;
  /** Upstreams count in odd places and more than once; the client is told once, at the end. */
  let usage: UsageSaid | undefined;
  let count: Frame | undefined;
  /** The choices whose end was forwarded; their `turn-end` comes only when all is over. */
  const stopped = new Set<number>();
  /** Whether the last words are the writer's to say. */
  let owing = false;

  const gather = (text: string): void => {
    own += text;
  };
  const tellUsage = (): void => {
    if (usage === undefined) return;
    owing = true;
    writer.each(usage, gather);
    usage = undefined;
  };
  const forward = (frame: Frame, emit: Emit<string>): void => {
    for (const choice of frame.stops ?? []) stopped.add(choice);
    own = "";
    if (frame.sequence !== undefined) writer.resumeAt?.(frame.sequence + 1);
    if (frame.usageOnly === true) count = frame;
    // The sentinel is the same from everyone, and stands behind all there may still be to say.
    else if (frame.ends !== "done") emit(sseFrame(frame.data, frame.name));
  };
  const takeOver = (emit: Emit<string>): void => {
    forwarding = false;
    tellUsage();
    if (own !== "") emit(own);
    own = "";
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "frame":
          if (!forwarding) return;
          // A whole body is regular where one was asked for, which is not here.
          return event.regular && event.whole !== true ? forward(event, emit) : takeOver(emit);
        case "usage":
          usage = event;
          if (!forwarding) tellUsage();
          return;
        case "turn-end":
          if (stopped.has(event.choice)) return;
          tellUsage();
          owing = true;
          break;
        case "turn-fail":
          tellUsage();
          owing = true;
          writer.each(event, gather);
          return takeOver(emit);
        default:
      }
      writer.each(event, forwarding ? gather : emit);
    },
    end(emit) {
      if (owing) {
        writer.end?.(gather);
        if (own !== "") emit(own);
        return;
      }
      if (count !== undefined && options.usageWanted) emit(sseFrame(count.data, count.name));
      emit(sseDone);
    },
  };
}
