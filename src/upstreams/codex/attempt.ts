import type { Source } from "../../stream/flow.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Attempt } from "../retry.ts";

type Event = TurnEvent<UpstreamName>;

/** One try at an answer: what may pass by itself and came before the first word is worth another. */
export const attemptOf =
  (source: Source<Event>): Attempt<Event> =>
  (sink, fail) => {
    let begun = false;
    let failed: Fault | undefined;
    return source({
      each(event) {
        if (!begun && event.type === "turn-fail" && isPassing(event.fault)) failed = event.fault;
        else sink.each(event);
        begun = true;
      },
      flush: () => void (failed ?? sink.flush()),
      end() {
        if (failed === undefined) sink.end();
        else fail({ fault: failed, again: true });
      },
    });
  };

/** Whoever says when to come back is not asked before that. */
const isPassing = ({ code, detail }: Fault): boolean =>
  (code === "upstream.failed" || code === "upstream.overloaded") && detail.retryAfter === undefined;
