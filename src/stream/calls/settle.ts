import { isFields, jsonOf } from "../../json/json.ts";
import { JsonScanner } from "../../json/scan.ts";
import type { Clock } from "../../turn/clock.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { CallDelta, TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import type { Emit, Stage } from "../stage.ts";

type SettleOptions = {
  readonly clock: Pick<Clock, "now">;
  /** How long a call must have been silent; none: silence says nothing. */
  readonly quietMs?: number | undefined;
  readonly report: OnDecision;
};

/**
 * Ends the calls of one choice as soon as they are over. A chat stream closes no
 * call before the whole answer ends, which is too late for a rule that acts
 * after a call, and for a client that runs each call when it is told of its end.
 * Arguments that are a whole JSON object have nothing left to say; if the model
 * has gone on to something else, or has fallen silent, the call is over. That
 * they are whole never is enough: something must have come behind them. Silence
 * counts only where a rule asks for it.
 */
export function settle<Name extends AnyName>(
  options: SettleOptions,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const { clock, quietMs, report } = options;
  /** The arguments so far of the functions that are being called. */
  const open = new Map<number, ObjectText>();
  /** The open calls that something has been said of since they were last looked at. */
  const fresh = new Set<number>();
  const over = new Set<number>();
  let lastWord: number | undefined;

  const settleWhole = (choice: number, emit: Emit<TurnEvent<Name>>): void => {
    for (const call of fresh) {
      if (open.get(call)?.isWhole() !== true) continue;
      open.delete(call);
      over.add(call);
      emit({ type: "call-end", choice, call, complete: true });
    }
    fresh.clear();
  };
  const leaveOut = leavingOut(report);
  let choice = 0;
  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start":
          choice = event.choice;
          settleWhole(choice, emit);
          if (event.kind === "function") open.set(event.call, objectText());
          lastWord = clock.now();
          break;
        case "call-delta":
          if (over.has(event.call)) return leaveOut(event);
          open.get(event.call)?.add(event.text);
          fresh.add(event.call);
          lastWord = clock.now();
          break;
        case "call-end":
          if (over.has(event.call)) return;
          open.delete(event.call);
          break;
        case "text-start":
        case "reasoning-start":
        case "item-start":
          settleWhole(event.choice, emit);
          break;
        default:
      }
      emit(event);
    },
    due: () =>
      quietMs === undefined || lastWord === undefined || open.size === 0
        ? undefined
        : lastWord + quietMs,
    lapse(_moment, emit) {
      lastWord = undefined;
      settleWhole(choice, emit);
    },
  };
}

/** Tells once of a call that something was left out of it; white space is all that a whole object still takes. */
function leavingOut(report: SettleOptions["report"]): (delta: CallDelta) => void {
  const ended = new Set<number>();
  return ({ call, text }) => {
    if (text.trim() === "" || ended.has(call)) return;
    ended.add(call);
    const reason = "what came behind the whole arguments of a call is left out";
    report({ path: "output", action: "dropped", reason });
  };
}

/** The text of a JSON object while it is written. */
export type ObjectText = { add(piece: string): void; isWhole(): boolean };

/** Each character is scanned once, and the whole parsed once, however often it is asked. */
export function objectText(): ObjectText {
  const pieces: string[] = [];
  const scanner = new JsonScanner();
  let looked = 0;
  let whole: boolean | undefined;
  return {
    add: (piece) => void pieces.push(piece),
    isWhole() {
      for (; looked < pieces.length; looked++) {
        const piece = pieces[looked] ?? "";
        if (whole !== undefined) whole &&= piece.trim() === "";
        else if (scanner.scan(piece) !== -1)
          whole = isFields(jsonOf(pieces.slice(0, looked + 1).join("")));
      }
      return whole === true;
    },
  };
}
