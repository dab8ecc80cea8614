import type { OnDecision } from "../../turn/decision.ts";
import type { CallEnd, CallStart, OnLeftOut, TurnEvent } from "../../turn/event.ts";
import type { AnyName } from "../../turn/names.ts";
import { callPath } from "../../turn/path.ts";
import type { Emit, Stage } from "../stage.ts";

type DedupOptions = {
  /** Where the calls left out are counted. */
  readonly figures: { repeated: number };
  readonly leftOut?: OnLeftOut | undefined;
  readonly report: OnDecision;
};

/** A call that waits for its end: only then is it known whether it repeats another. */
type Waiting<Name extends AnyName> = {
  readonly start: CallStart<Name>;
  text: string;
  end: CallEnd | undefined;
};

/**
 * Leaves out calls of one choice that repeat an earlier one: same tool, same
 * arguments whatever their order and spacing. What follows a call that waits
 * for its end waits behind it, so nothing changes places.
 */
export function dedup<Name extends AnyName>(
  options: DedupOptions,
): Stage<TurnEvent<Name>, TurnEvent<Name>> {
  const line: (Waiting<Name> | TurnEvent<Name>)[] = [];
  const calls = new Map<number, Waiting<Name>>();
  const made = new Set<string>();
  let given = 0;

  const tell = (call: Waiting<Name>, end: CallEnd, emit: Emit<TurnEvent<Name>>): void => {
    const { start, text } = call;
    const key = callKey(start, text);
    if (end.complete && made.has(key)) {
      options.figures.repeated++;
      options.leftOut?.(start, "repeated", text.length);
      const reason = `a call of \`${start.name}\` is left out: it repeats an earlier one`;
      return options.report({ path: callPath(start), action: "dropped", reason });
    }
    made.add(key);
    const number = given++;
    const { choice } = start;
    emit({ ...start, call: number });
    if (text !== "") emit({ type: "call-delta", choice, call: number, text });
    emit({ ...end, call: number });
  };
  const advance = (emit: Emit<TurnEvent<Name>>): void => {
    for (let next = line[0]; next !== undefined; next = line[0]) {
      if ("type" in next) emit(next);
      else if (next.end === undefined) return;
      else tell(next, next.end, emit);
      line.shift();
    }
  };

  return {
    each(event, emit) {
      switch (event.type) {
        case "call-start": {
          const call: Waiting<Name> = { start: event, text: "", end: undefined };
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

const callKey = <Name extends AnyName>(
  { kind, namespace, name }: CallStart<Name>,
  input: string,
): string =>
  // The input of a custom tool is text, which says only itself.
  JSON.stringify([kind, namespace, name, kind === "custom" ? input : canonicalJson(input)]);

/** One text for all that say the same; what is no JSON says only itself. */
export function canonicalJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text, canonicalValue));
  } catch {
    return text;
  }
}

/** Keys in order; a number too long to be told from its neighbours stays as it is written. */
function canonicalValue(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value === "number") return isTellable(value) ? value : { number: context?.source };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return { "": Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

const isTellable = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
