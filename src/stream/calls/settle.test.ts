import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { upstreamName, type UpstreamName } from "../../turn/names.ts";
import { settle } from "./settle.ts";

type Event = TurnEvent<UpstreamName>;

const start = (call: number, kind = "function"): Event => ({
  type: "call-start",
  choice: 0,
  call,
  id: `c${call}`,
  kind,
  name: upstreamName("look"),
});
const delta = (call: number, text: string): Event => ({
  type: "call-delta",
  choice: 0,
  call,
  text,
});
const end = (call: number): Event => ({ type: "call-end", choice: 0, call, complete: true });
const talk: Event = { type: "text-start", choice: 0 };

/** Plays events; a number is so many milliseconds of silence. */
function play(
  script: readonly (Event | number)[],
  quietMs?: number,
  report: (decision: Decision) => void = () => expect.unreachable(),
): Event[] {
  let now = 0;
  const stage = settle({ clock: { now: () => now }, quietMs, report });
  const said: Event[] = [];
  const emit = (event: Event): void => void said.push(event);
  for (const step of script) {
    if (typeof step !== "number") {
      stage.each(step, emit);
      continue;
    }
    now += step;
    const due = stage.due?.();
    if (due !== undefined && due <= now) stage.lapse?.(due, emit);
  }
  stage.end?.(emit);
  return said;
}

function isWhole(text: string): boolean {
  try {
    return Object.prototype.toString.call(JSON.parse(text)) === "[object Object]";
  } catch {
    return false;
  }
}

describe("settling", () => {
  it("ends a call whose arguments are whole when the next begins or text does", () => {
    const [a, b] = [delta(0, '{"a":'), delta(0, "1}")];
    expect(play([start(0), a, b, start(1), delta(1, "{}"), talk])).toEqual([
      start(0),
      a,
      b,
      end(0),
      start(1),
      delta(1, "{}"),
      end(1),
      talk,
    ]);
  });

  it("lets calls that are written side by side go on", () => {
    const script = [start(0), delta(0, "{"), start(1), delta(1, "{"), delta(0, "}"), delta(1, "}")];
    expect(play(script)).toEqual(script);
  });

  it("says an end once, and nothing of a call behind it", () => {
    const script = [start(0), delta(0, "{}"), talk, delta(0, "\n"), end(0)];
    expect(play(script)).toEqual([start(0), delta(0, "{}"), end(0), talk]);
  });

  it("tells what else than white space came behind the end of a call", () => {
    const decisions: Decision[] = [];
    const script = [start(0), delta(0, "{}"), talk, delta(0, '{"a":'), delta(0, "1}"), end(0)];
    const report = (decision: Decision): void => void decisions.push(decision);
    expect(play(script, undefined, report)).toEqual([start(0), delta(0, "{}"), end(0), talk]);
    expect(decisions).toEqual([
      {
        path: "output",
        action: "dropped",
        reason: "what came behind the whole arguments of a call is left out",
      },
    ]);
  });

  it("takes silence behind whole arguments for an end where it is told to", () => {
    expect(play([start(0), delta(0, "{}"), 99], 100)).toHaveLength(2);
    expect(play([start(0), delta(0, "{}"), 100], 100)).toContainEqual(end(0));
    expect(play([start(0), delta(0, "{}"), 9999])).toHaveLength(2);
  });

  it.each(["", "{", '{"a":"}', "[1]", "5", "{} and more"])(
    "takes neither silence nor speech behind %j for one",
    (said) => {
      expect(play([start(0), delta(0, said), 9999, talk], 100)).not.toContainEqual(end(0));
    },
  );

  it("knows whole arguments from any pieces of them, whatever comes between", () => {
    const text = fc
      .oneof(
        fc.json(),
        fc.json({ maxDepth: 1 }).map((inner) => `{"a": ${inner} }`),
        fc.string(),
      )
      .map((said) => said.split(""));
    const other = (call: number): Event => start(call, "custom");
    fc.assert(
      fc.property(text, fc.constantFrom("", " ", "x"), (signs, rest) => {
        const script = signs.flatMap((sign, at) => [delta(0, sign), other(at + 1)]);
        const said = play([start(0), ...script, delta(0, rest), talk], undefined, () => {});
        const at = said.findIndex((event) => event.type === "call-end");
        const heard = said
          .slice(0, at === -1 ? undefined : at)
          .map((event) => (event.type === "call-delta" ? event.text : ""))
          .join("");
        expect(isWhole(heard)).toBe(at !== -1);
      }),
    );
  });

  it("looks at what is new alone, however many calls are open and however they are written", () => {
    const many = Array.from({ length: 50_000 }, (_, call) => [
      start(call),
      delta(0, '{"a":[{},{}'),
    ]);
    expect(play(many.flat())).toHaveLength(100_000);
  });

  it("never ends free text, which may always go on", () => {
    expect(play([start(0, "custom"), delta(0, "{}"), 9999, talk], 100)).not.toContainEqual(end(0));
  });
});
