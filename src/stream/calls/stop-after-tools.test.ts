import { beforeEach, describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { Fault } from "../../turn/fault.ts";
import { perChoice } from "../stage.ts";
import { createStopAfterToolsController, type StopRules } from "./stop-after-tools.ts";

type Event = TurnEvent<ClientName>;

const start = (call: number, choice = 0): Event => ({
  type: "call-start",
  choice,
  call,
  id: `c${choice}${call}`,
  kind: "function",
  name: clientName("look"),
});
const delta = (call: number, choice = 0): Event => ({
  type: "call-delta",
  choice,
  call,
  text: "{}",
});
const end = (call: number, choice = 0): Event => ({
  type: "call-end",
  choice,
  call,
  complete: true,
});
const call = (number: number, choice = 0): Event[] => [
  start(number, choice),
  delta(number, choice),
  end(number, choice),
];
const text = (said: string, choice = 0): Event[] => [
  { type: "text-start", choice },
  { type: "text-delta", choice, text: said },
  { type: "text-end", choice },
];
const over = (choice = 0): Event => ({ type: "turn-end", choice, stop: "calls" });
const fail: Event = { type: "turn-fail", fault: new Fault("upstream.cut", "it broke") };

const capped = (limit: number): StopRules => ({ limit, stops: false });
const first: StopRules = { limit: 1, stops: true, graceMs: 300 };
const burst: StopRules = { limit: Infinity, stops: true, graceMs: 300 };

let now = 0;
const none = { withheld: 0, truncated: false, stopped: false };
let figures = { ...none };
let decisions: Decision[] = [];
beforeEach(() => {
  now = 1000;
  figures = { ...none };
  decisions = [];
});

/** Plays events; a number is so many milliseconds of silence, in which the stage may be woken. */
function play(rules: StopRules, script: readonly (Event | number)[], asked = 1): Event[] {
  const said: Event[] = [];
  const emit = (event: Event): void => void said.push(event);
  const clock = { now: () => now };
  const report = (decision: Decision): void => void decisions.push(decision);
  const stage = perChoice(
    () => createStopAfterToolsController({ rules, clock, figures, report }),
    asked,
  );
  for (const step of script) {
    if (stage.done?.() === true) break;
    if (typeof step !== "number") {
      stage.each(step, emit);
      continue;
    }
    const until = now + step;
    for (let due = stage.due?.(); due !== undefined && due <= until; due = stage.due?.()) {
      now = due;
      stage.lapse?.(due, emit);
    }
    now = until;
  }
  // What the stage before says when the source is stopped early.
  if (stage.done?.() === true) stage.each(fail, emit);
  stage.end?.(emit);
  return said;
}
const calls = (said: readonly Event[], choice = 0): number =>
  said.filter((event) => event.type === "call-end" && event.choice === choice).length;

describe("the cap", () => {
  it.each([1, 2, 4, 10])(
    "gives a choice at most %i of four calls, and lets the turn go on",
    (max) => {
      const said = play(capped(max), [
        ...call(0),
        ...call(1),
        1000,
        ...call(2),
        ...call(3),
        ...text("tail"),
        over(),
      ]);
      const given = Math.min(max, 4);
      expect(calls(said)).toBe(given);
      expect(said.slice(3 * given)).toEqual([...text("tail"), over()]);
      expect(figures).toEqual({ ...none, withheld: 4 - given, truncated: given < 4 });
      expect(decisions).toHaveLength(4 - given);
    },
  );

  it("counts each choice for itself", () => {
    const script = [0, 1, 2].flatMap((number) => [call(number, 0), call(number, 1)].flat());
    const said = play(capped(2), [...script, over(0), over(1)], 2);
    expect([calls(said, 0), calls(said, 1)]).toEqual([2, 2]);
    expect(figures.withheld).toBe(2);
  });

  it("holds for calls that are made at the same time", () => {
    const said = play(capped(1), [start(0), start(1), delta(1), delta(0), end(0), end(1), over()]);
    expect(said).toEqual([start(0), delta(0), end(0), over()]);
  });
});

describe("stopping after the first call", () => {
  it("cuts the choice as soon as another call begins", () => {
    const said = play(first, [...call(0), start(1), ...text("never seen"), over()]);
    expect(said).toEqual([...call(0), over()]);
    expect(figures).toEqual({ withheld: 1, truncated: true, stopped: true });
    expect(decisions[0]).toMatchObject({ path: "output.choices[0].calls[1]", action: "dropped" });
  });

  it("shows nothing behind the call, and lets a turn that ends at once end by itself", () => {
    const said = play(first, [...call(0), ...text("tail"), 10, over()]);
    expect(said).toEqual([...call(0), over()]);
    expect(figures).toEqual(none);
    expect(decisions).toMatchObject([{ path: "output", action: "dropped" }]);
  });

  it("has nothing to tell of a turn that ends behind its call", () => {
    expect(play(first, [...call(0), 10, over()])).toEqual([...call(0), over()]);
    expect(decisions).toEqual([]);
  });

  it("lets what was begun before the call was over come to its end", () => {
    const raw = { type: "web_search_call" };
    const begun: Event = { type: "item-start", choice: 0, item: 0, dialect: "responses", raw };
    const ended: Event = { type: "item-end", choice: 0, item: 0, dialect: "responses", raw };
    const [opened, words, closed] = text("meanwhile") as [Event, Event, Event];
    const said = play(first, [begun, start(0), opened, end(0), ended, words, closed, over()]);
    expect(said).toEqual([begun, start(0), opened, end(0), ended, words, closed, over()]);
  });

  it("cuts a turn that does not end soon", () => {
    const said = play(first, [...call(0), 60, ...call(1), over()]);
    expect(said).toEqual([...call(0), over()]);
    expect(figures.truncated).toBe(true);
  });

  it("waits for the first call, however slow it is", () => {
    expect(play(first, [start(0), 5000, delta(0), 5000, end(0), 1, over()])).toEqual([
      ...call(0),
      over(),
    ]);
  });

  it("lets text and thought before the call pass", () => {
    const before = text("Let me look.");
    expect(play(first, [...before, 5000, ...call(0), over()])).toEqual([
      ...before,
      ...call(0),
      over(),
    ]);
  });
});

describe("stopping after a burst", () => {
  it("gives every call that begins within the grace of the one before", () => {
    const said = play(burst, [
      ...call(0),
      299,
      ...call(1),
      299,
      ...call(2),
      299,
      ...call(3),
      10,
      over(),
    ]);
    expect(calls(said)).toBe(4);
    expect(figures.truncated).toBe(false);
  });

  it("cuts the choice when no other call begins within the grace", () => {
    const said = play(burst, [...call(0), 200, ...call(1), 300, ...call(2), over()]);
    expect(said).toEqual([...call(0), ...call(1), over()]);
    expect(figures.truncated).toBe(true);
  });

  it("never cuts a call under way", () => {
    const said = play(burst, [...call(0), 200, start(1), 9000, delta(1), 9000, end(1), 1, over()]);
    expect(calls(said)).toBe(2);
  });

  it("closes text that it cuts as cut off, and counts no call as withheld for it", () => {
    const [opened, words] = text("So much to say") as [Event, Event];
    const said = play(burst, [...call(0), opened, words, 300, over()]);
    expect(said).toEqual([
      ...call(0),
      opened,
      words,
      { type: "text-end", choice: 0, complete: false },
      over(),
    ]);
    expect(figures).toEqual({ ...none, stopped: true });
  });

  it("ends one choice without ending another", () => {
    const said = play(
      burst,
      [
        ...call(0, 0),
        ...call(0, 1),
        200,
        ...call(1, 1),
        150,
        ...call(2, 1),
        10,
        ...call(1, 0),
        over(0),
        over(1),
      ],
      2,
    );
    expect([calls(said, 0), calls(said, 1)]).toEqual([1, 3]);
    expect(said.filter((event) => event.type === "turn-end")).toEqual([over(0), over(1)]);
    expect(figures).toEqual({ withheld: 1, truncated: true, stopped: false });
  });

  it("takes a choice for whole that made no more calls while another went on", () => {
    const said = play(burst, [...call(0, 0), ...call(0, 1), 250, ...call(1, 1), 250, over(0)], 2);
    expect([calls(said, 0), calls(said, 1)]).toEqual([1, 2]);
    expect(said.at(-1)).toEqual(over(0));
    expect(figures).toEqual(none);
  });

  it("does not wait for more once the cap is reached", () => {
    const said = play({ ...burst, limit: 2 }, [...call(0), ...call(1), 60, ...call(2), over()]);
    expect(calls(said)).toBe(2);
    expect(figures.truncated).toBe(true);
  });

  it("never stops a choice without calls", () => {
    const said = play(burst, [
      ...text("thinking"),
      9000,
      ...text("done"),
      { ...over(), stop: "end" } as Event,
    ]);
    expect(said).toHaveLength(7);
  });

  it("passes a failure on, and says nothing after it", () => {
    expect(play(burst, [...call(0), fail, 1000])).toEqual([...call(0), fail]);
  });
});
