import type { TurnEvent } from "../turn/event.ts";
import type { AnyName } from "../turn/names.ts";
import { sseDone, sseFrame } from "./sse.ts";
import type { Emit, Stage } from "./stage.ts";

/** Turns events into the text of a client's stream. */
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
  let own = "";
  let forwarding = true;
  let ended = false;
  let done = false;
  const gather = (text: string): void => {
    own += text;
  };
  const speak = (emit: Emit<string>): void => {
    if (own !== "") emit(own);
    own = "";
  };

  return {
    each(event, emit) {
      if (event.type !== "frame") return writer.each(event, gather);
      if (!forwarding) return speak(emit);
      // A whole body is regular where one was asked for, which is not here.
      if (!event.regular || event.whole === true) {
        forwarding = false;
        return speak(emit);
      }
      own = "";
      if (event.sequence !== undefined) writer.resumeAt?.(event.sequence + 1);
      if (event.ends === "terminal") ended = true;
      if (event.ends === "done") done = true;
      if (event.usageOnly === true && !options.usageWanted) return;
      emit(sseFrame(event.data, event.name));
    },
    end(emit) {
      writer.end?.(gather);
      if (!forwarding || !ended) return speak(emit);
      if (!done) emit(sseDone);
    },
  };
}
