import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../turn/event.ts";
import { Fault } from "../turn/fault.ts";
import type { UpstreamName } from "../turn/names.ts";
import { perChoice, runStage, type Stage } from "./stage.ts";

type Event = TurnEvent<UpstreamName>;
type EventStage = Stage<Event, Event>;

const text = (said: string, choice = 0): Event => ({ type: "text-delta", choice, text: said });
const fail: Event = { type: "turn-fail", fault: new Fault("upstream.cut", "it broke") };

/** Lets one text pass, is done then, and has a last word. */
const once = (): EventStage => {
  let passed = 0;
  let choice = 0;
  return {
    each(event, emit) {
      if (event.type !== "text-delta" || ++passed > 1) return;
      choice = event.choice;
      emit(event);
    },
    end: (emit) => emit(text("last", choice)),
    done: () => passed > 0,
  };
};

/** Is due as many milliseconds on as the first text is long. */
const patient = (): EventStage => {
  let due: number | undefined;
  let choice = 0;
  return {
    each(event) {
      if (event.type !== "text-delta") return;
      due = event.text.length;
      choice = event.choice;
    },
    due: () => due,
    lapse(moment, emit) {
      due = undefined;
      emit(text(`woken at ${moment}`, choice));
    },
  };
};

describe("perChoice", () => {
  it("counts in each choice by itself", () => {
    expect(runStage(perChoice(once), [text("a"), text("b", 1), text("c"), text("d", 1)])).toEqual([
      text("a"),
      text("b", 1),
      text("last"),
      text("last", 1),
    ]);
  });

  it("lets events of the whole turn by", () => {
    const usage: Event = { type: "usage", usage: { input: 1, output: 1, total: 2 } };
    expect(runStage(perChoice(once), [usage])).toEqual([usage]);
  });

  it("says nothing after a failure", () => {
    expect(runStage(perChoice(once, 2), [text("a"), fail])).toEqual([text("a"), fail]);
  });

  it("lets no failure spoil choices that all have what they need", () => {
    expect(runStage(perChoice(once), [text("a"), fail])).toEqual([text("a"), text("last")]);
  });

  it("lets a stage close what it holds open before a failure", () => {
    const closing = (): EventStage => ({
      each(event, emit) {
        if (event.type === "turn-fail") emit(text("closed"));
        emit(event);
      },
    });
    expect(runStage(perChoice(closing), [text("a"), fail])).toEqual([
      text("a"),
      text("closed"),
      fail,
    ]);
  });

  it("is done when all choices are, also those that have not begun", () => {
    const one = perChoice(once);
    expect(one.done?.()).toBe(false);
    runStage(one, [text("a")]);
    expect(one.done?.()).toBe(true);

    const two = perChoice(once, 2);
    runStage(two, [text("a")]);
    expect(two.done?.()).toBe(false);
    runStage(two, [text("b", 1)]);
    expect(two.done?.()).toBe(true);
  });

  it("wakes each choice at its own moment", () => {
    const stage = perChoice(patient, 2);
    runStage(stage, [text("ten chars."), text("five.", 1)]);
    const said: Event[] = [];
    expect(stage.due?.()).toBe(5);
    stage.lapse?.(5, (event) => void said.push(event));
    expect(said).toEqual([text("woken at 5", 1)]);
    expect(stage.due?.()).toBe(10);
  });
});
