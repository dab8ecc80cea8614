import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { Clock } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Emit, EventStage } from "../stage.ts";

type Event = TurnEvent<UpstreamName>;

type SettleOptions = {
  readonly clock: Pick<Clock, "now">;
  /** Milliseconds of silence after which a call may end; undefined: silence ends no call. */
  readonly quietMs?: number | undefined;
  readonly report: OnDecision;
};

/**
 * Ends the calls of one choice as soon as they are complete. A chat stream closes no call before
 * the whole answer ends, which is too late for a rule that acts after a call, and for a client
 * that runs each call at its end. A call ends here if its arguments are a whole JSON object and the
 * model has begun something else, or has been silent for `quietMs`. Whole arguments alone never end
 * a call.
 */
export function settle({ clock, quietMs, report }: SettleOptions): EventStage<UpstreamName> {
  /** The arguments so far of the open calls of functions. */
  const open = new Map<number, ObjectText>();
  /** The open calls with new arguments since they were last checked. */
  const fresh = new Set<number>();
  /** The calls that were ended here, and of those the ones whose further text was reported. */
  const ended = new Set<number>();
  const reported = new Set<number>();
  let lastDelta: number | undefined;
  let choice = 0;

  const endWhole = (emit: Emit<Event>): void => {
    for (const call of fresh) {
      if (open.get(call)?.isWhole() !== true) continue;
      open.delete(call);
      ended.add(call);
      emit({ type: "call-end", choice, call, complete: true });
    }
    fresh.clear();
  };
  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          choice = event.choice;
          endWhole(emit);
          if (event.kind === "function") open.set(event.call, new ObjectText());
          lastDelta = clock.now();
          break;
        case "call-delta": {
          const { call, text } = event;
          if (!ended.has(call)) {
            open.get(call)?.add(text);
            fresh.add(call);
            lastDelta = clock.now();
            break;
          }
          // Only white space may follow a whole object.
          if (text.trim() === "" || reported.has(call)) return;
          reported.add(call);
          const reason = "what came behind the whole arguments of a call is left out";
          return report({ path: "output", action: "dropped", reason });
        }
        case "call-end":
          if (ended.has(event.call)) return;
          open.delete(event.call);
          break;
        case "text-start":
        case "reasoning-start":
        case "item-start":
          choice = event.choice;
          endWhole(emit);
          break;
        default:
      }
      emit(event);
    },
    due: () =>
      quietMs === undefined || lastDelta === undefined || open.size === 0
        ? undefined
        : lastDelta + quietMs,
    lapse(_moment, emit) {
      lastDelta = undefined;
      endWhole(emit);
    },
  };
}

/** The text of a JSON object that arrives in pieces. Each character is scanned once, and the whole parsed once. */
export class ObjectText {
  readonly #pieces: string[] = [];
  readonly #scanner = new JsonScanner();
  #scanned = 0;
  #isWhole: boolean | undefined;

  add(piece: string): void {
    this.#pieces.push(piece);
  }

  isWhole(): boolean {
    for (; this.#scanned < this.#pieces.length; this.#scanned++) {
      const piece = this.#pieces[this.#scanned] ?? "";
      if (this.#isWhole !== undefined) this.#isWhole &&= piece.trim() === "";
      else if (this.#scanner.scan(piece) !== -1)
        this.#isWhole = isFields(jsonOf(this.#pieces.slice(0, this.#scanned + 1).join("")));
    }
    return this.#isWhole === true;
  }
}
