import { describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { runStage } from "../stage.ts";
import { callsAlone } from "./text.ts";

type Event = TurnEvent<ClientName>;

const text: Event[] = [
  { type: "text-start", choice: 0 },
  { type: "text-delta", choice: 0, text: "Let me look." },
  { type: "text-end", choice: 0 },
];
const thought: Event = { type: "reasoning-start", choice: 0 };
const call = (complete: boolean): Event[] => [
  { type: "call-start", choice: 0, call: 0, id: "c", kind: "function", name: clientName("look") },
  { type: "call-end", choice: 0, call: 0, complete },
];
const over: Event = { type: "turn-end", choice: 0, stop: "calls" };

function play(events: readonly Event[]): { said: Event[]; decisions: Decision[] } {
  const decisions: Decision[] = [];
  const stage = callsAlone((one) => void decisions.push(one));
  return { said: runStage(stage, events), decisions };
}

describe("calls alone", () => {
  it("leave out text before and behind a call, and say so", () => {
    const { said, decisions } = play([...text, thought, ...call(true), ...text, over]);
    expect(said).toEqual([thought, ...call(true), over]);
    expect(decisions).toMatchObject([{ action: "dropped" }]);
  });

  it("have nothing to say where there was no text", () => {
    expect(play([...call(true), over]).decisions).toEqual([]);
  });

  it("leave an answer as it is that makes no call, or none that can be run", () => {
    for (const events of [
      [...text, over],
      [...text, ...call(false), over],
    ])
      expect(play(events)).toEqual({ said: events, decisions: [] });
  });
});
