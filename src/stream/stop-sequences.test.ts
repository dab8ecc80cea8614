import { describe, expect, it } from "vitest";
import { array, assert, constantFrom, property, string } from "fast-check";
import type { TurnEvent } from "../turn/event.ts";
import type { ClientName } from "../turn/names.ts";
import { runStage } from "./stage.ts";
import { StopSequences } from "./stop-sequences.ts";

type Event = TurnEvent<ClientName>;

const choice = 0;
const delta = (text: string): Event => ({ type: "text-delta", choice, text });
const end: Event = { type: "turn-end", choice, stop: "end" };
const ending = (sequence: string) => ({ dialect: "chat" as const, fields: { sequence } });

const run = (sequences: readonly string[], events: readonly Event[]): Event[] =>
  runStage(new StopSequences({ sequences: () => sequences, ending }), events);
const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

describe("stop sequences", () => {
  it("end a choice before the first of them, wherever it is split", () => {
    const said = run(["</block>"], [delta("Yes.</bl"), delta("ock> and more"), end]);
    expect(said).toEqual([
      delta("Yes."),
      { type: "text-end", choice },
      { type: "turn-end", choice, stop: "end", extra: ending("</block>") },
    ]);
  });

  it("hold back only what may be the beginning of one", () => {
    expect(run(["END"], [delta("A E"), delta("X"), end])).toEqual([delta("A "), delta("EX"), end]);
    expect(run(["END"], [delta("A EN"), end])).toEqual([delta("A "), delta("EN"), end]);
  });

  it("stop the upstream once one is found", () => {
    const stage = new StopSequences({ sequences: () => ["."], ending });
    stage.each(delta("Yes"), () => {});
    expect(stage.done?.()).toBe(false);
    stage.each(delta("."), () => {});
    expect(stage.done?.()).toBe(true);
  });

  it("are said to be the end even if the upstream never ends", () => {
    expect(run(["."], [delta("Yes. No")]).at(-1)).toMatchObject({ extra: ending(".") });
  });

  it("leave an end with calls one that waits for results", () => {
    const call: Event = { type: "call-end", choice, call: 0, complete: true };
    expect(run(["."], [call, delta("Yes. No"), end]).at(-1)).toEqual({
      type: "turn-end",
      choice,
      stop: "calls",
    });
  });

  it("cut where the text is cut that comes at once", () => {
    const letters = string({ unit: constantFrom("a", "b"), maxLength: 12 });
    const sequences = array(letters.filter(Boolean), { minLength: 1, maxLength: 3 });
    assert(
      property(array(letters), sequences, (pieces, stops) => {
        const text = pieces.join("");
        const ends = stops.flatMap((stop) => {
          const at = text.indexOf(stop);
          return at === -1 ? [] : [at + stop.length];
        });
        const first = Math.min(...ends);
        const cutBy = stops.filter((stop) => text.slice(0, first).endsWith(stop));
        const longest = Math.max(...cutBy.map(({ length }) => length));
        const wanted = first === Infinity ? text : text.slice(0, first - longest);
        expect(textOf(run(stops, [...pieces.map(delta), end]))).toBe(wanted);
      }),
    );
  });
});
