import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { runStage } from "../stage.ts";
import { canonicalJson, dedup } from "./dedup.ts";

type Event = TurnEvent<ClientName>;

const call = (number: number, input: string, name = "look", complete = true): Event[] => [
  {
    type: "call-start",
    choice: 0,
    call: number,
    id: `c${number}`,
    kind: "function",
    name: clientName(name),
  },
  { type: "call-delta", choice: 0, call: number, text: input },
  { type: "call-end", choice: 0, call: number, complete },
];
const text: Event = { type: "text-delta", choice: 0, text: "and" };

function play(events: readonly Event[]) {
  const figures = { repeated: 0 };
  const decisions: Decision[] = [];
  const report = (decision: Decision): void => void decisions.push(decision);
  return { said: runStage(dedup({ figures, report }), events), figures, decisions };
}

describe("leaving out repeated calls", () => {
  it("leaves out a call of the same tool with the same arguments, and says so", () => {
    const { said, figures, decisions } = play([
      ...call(0, '{"a":1,"b":[2]}'),
      ...call(1, ' { "b" : [2], "a": 1 }'),
      ...call(2, "{}"),
    ]);
    expect(
      said.filter((event) => event.type === "call-start").map(({ id, call: at }) => [id, at]),
    ).toEqual([
      ["c0", 0],
      ["c2", 1],
    ]);
    expect(figures.repeated).toBe(1);
    expect(decisions).toEqual([
      {
        path: "output.choices[0].calls[1]",
        action: "dropped",
        reason: "a call of `look` is left out: it repeats an earlier one",
      },
    ]);
  });

  it("keeps the same arguments for another tool, and other arguments for the same", () => {
    const events = [...call(0, "{}"), ...call(1, "{}", "seek"), ...call(2, '{"a":1}')];
    expect(play(events).said).toEqual(events);
  });

  it("takes the input of a custom tool for text: what is the same JSON may be other words", () => {
    const custom = (number: number, input: string): Event[] =>
      call(number, input).map((event) =>
        event.type === "call-start" ? Object.assign({}, event, { kind: "custom" }) : event,
      );
    const events = [...custom(0, "1.0"), ...custom(1, "1"), ...custom(2, '{"a": 1}')];
    expect(play([...events, ...custom(3, '{"a":1}')]).said).toHaveLength(12);
    expect(play([...events, ...custom(3, "1.0")]).said).toEqual(events);
  });

  it("keeps what was cut off: nobody knows what it was to be", () => {
    const events = [...call(0, "{}"), ...call(1, "{}", "look", false)];
    expect(play(events).said).toEqual(events);
  });

  it("keeps text in its place, between calls that were written side by side too", () => {
    const [a, b] = [call(0, "{}"), call(1, '{"a":1}')] as [Event[], Event[]];
    const mixed = [a[0], b[0], b[1], a[1], text, b[2], a[2], text] as Event[];
    expect(play(mixed).said).toEqual([...a, ...b, text, text]);
  });
});

describe("canonical JSON", () => {
  it("is the same for values that are the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned = JSON.stringify(turn(value), null, 2);
        expect(canonicalJson(turned)).toBe(canonicalJson(JSON.stringify(value)));
      }),
    );
  });

  it.each([
    ["1", '"1"'],
    ["null", '"null"'],
    ["{}", "[]"],
    ['{"a":1}', '[["a",1]]'],
    ['{"a":1}', '{"":[["a",1]]}'],
    ["12345678901234567890", "12345678901234567891"],
    ["12345678901234567890", '["12345678901234567890"]'],
    ["[1e400]", "[null]"],
    ["1e400", "1e500"],
    ["[1,2]", "[2,1]"],
    ["not json", "not  json"],
  ])("tells %s from %s", (one, other) => {
    expect(canonicalJson(one)).not.toBe(canonicalJson(other));
  });
});

/** The same value with all keys the other way round. */
function turn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turn);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, one]) => [key, turn(one)]));
}
