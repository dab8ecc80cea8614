import { parseExactly } from "../../json/exact.ts";
import { ordered } from "../../json/json.ts";
import type { OnDecision } from "../../turn/decision.ts";
import type { CallEnd, CallStart, OnLeftOut, TurnEvent } from "../../turn/event.ts";
import type { ClientName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { Emit, EventStage } from "../stage.ts";

type Event = TurnEvent<ClientName>;

type DedupOptions = {
  /** Counts the calls that are left out. */
  readonly figures: { repeated: number };
  readonly leftOut?: OnLeftOut | undefined;
  readonly report: OnDecision;
};

/** A call that waits for its end, because only whole arguments can be compared. */
type Waiting = {
  readonly start: CallStart<ClientName>;
  text: string;
  end: CallEnd | undefined;
};

/**
 * Leaves out calls of one choice that repeat an earlier one: the same tool with the same arguments,
 * in any order and spacing. Events after a call that waits for its end wait too, so the order stays.
 */
export function dedup(options: DedupOptions): EventStage<ClientName> {
  const line: (Waiting | Event)[] = [];
  const calls = new Map<number, Waiting>();
  const made = new Set<string>();
  let passed = 0;
  const pass = (call: Waiting, end: CallEnd, emit: Emit<Event>): void => {
    const { start, text } = call;
    const key = callKey(start, text);
    if (end.complete && made.has(key)) {
      options.figures.repeated++;
      options.leftOut?.(start, "repeated", text.length);
      const reason = `a call of \`${start.name}\` is left out: it repeats an earlier one`;
      return options.report({ path: callPath(start), action: "dropped", reason });
    }
    made.add(key);
    const number = passed++;
    const { choice } = start;
    emit({ ...start, call: number });
    if (text !== "") emit({ type: "call-delta", choice, call: number, text });
    emit({ ...end, call: number });
  };
  const advance = (emit: Emit<Event>): void => {
    for (let next = line[0]; next !== undefined; next = line[0]) {
      if ("type" in next) emit(next);
      else if (next.end === undefined) return;
      else pass(next, next.end, emit);
      line.shift();
    }
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start": {
          const call: Waiting = { start: event, text: "", end: undefined };
          calls.set(event.call, call);
          line.push(call);
          return;
        }
        case "call-delta": {
          const call = calls.get(event.call);
          if (call !== undefined) call.text += event.text;
          return;
        }
        case "call-end": {
          const call = calls.get(event.call);
          if (call !== undefined) call.end = event;
          return advance(emit);
        }
        default:
          if (line.length === 0) emit(event);
          else line.push(event);
      }
    },
  };
}

const callKey = ({ kind, namespace, name }: CallStart<ClientName>, input: string): string =>
  // The input of a custom tool is plain text, which is compared as it is.
  JSON.stringify([kind, namespace, name, kind === "custom" ? input : canonicalJson(input)]);

/** The same text for all spellings of a JSON value; other text stays as it is. */
export function canonicalJson(text: string): string {
  try {
    return JSON.stringify(ordered(parseExactly(text)));
  } catch {
    return text; // It is not JSON, or nested too deep.
  }
}
