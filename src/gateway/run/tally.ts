import type { Stage } from "../../stream/stage.ts";
import { noCalls, type CallFigures, type Outcome } from "../../observe/happening.ts";
import type { Clock } from "../../turn/clock.ts";
import { isCut, type StopReason, type TurnEvent, type TurnStart } from "../../turn/event.ts";
import type { Fault } from "../../turn/fault.ts";
import type { ClientName } from "../../turn/names.ts";
import type { TurnProgress } from "./turn-progress.ts";
import type { Writable } from "../../turn/writable.ts";

/** What a turn came to, counted as it goes by. */
export type Tally = Stage<TurnEvent<ClientName>, TurnEvent<ClientName>> & {
  readonly seen: {
    calls: Writable<CallFigures>;
    callsByChoice: number[];
    stops: StopReason[];
    fault: Fault | undefined;
    firstEvent: number | undefined;
    /** The seals on its reasoning. */
    seals: string[];
    /** Whose answer it is, by the upstream's own words. */
    start: TurnStart | undefined;
    cutShort: boolean;
  };
};

export function tally(clock: Pick<Clock, "now">, progress: TurnProgress): Tally {
  const { calls } = progress;
  const seen: Tally["seen"] = {
    calls: { ...noCalls },
    callsByChoice: [],
    stops: [],
    seals: [],
    fault: undefined,
    firstEvent: undefined,
    start: undefined,
    cutShort: false,
  };
  return {
    seen,
    each(event, emit) {
      switch (event.type) {
        case "turn-start":
          seen.firstEvent = clock.now();
          progress.reach("first", seen.firstEvent - progress.startedMs);
          seen.start = event;
          break;
        case "call-start":
          calls.started(event);
          break;
        case "call-delta":
          calls.grew(event);
          break;
        case "call-end":
          calls.ended(event);
          if (!event.complete) break;
          seen.calls.given++;
          seen.callsByChoice[event.choice] = (seen.callsByChoice[event.choice] ?? 0) + 1;
          break;
        case "reasoning-end":
          if (event.encrypted !== undefined) seen.seals.push(event.encrypted);
          break;
        case "turn-end":
          seen.stops[event.choice] = event.stop;
          if (isCut(event.stop)) seen.cutShort = true;
          break;
        case "turn-fail":
          seen.fault = event.fault;
          break;
        default:
      }
      emit(event);
    },
  };
}

export const outcomeOf = (seen: Tally["seen"]): Outcome =>
  seen.fault !== undefined ? "failed" : seen.cutShort ? "incomplete" : "completed";
