import { describe, expect, it } from "vitest";
import type { Decision } from "../../turn/decision.ts";
import type { TurnEvent } from "../../turn/event.ts";
import { clientName, type ClientName } from "../../turn/names.ts";
import { runStage } from "../stage.ts";
import { suppressTail } from "./text.ts";

type Event = TurnEvent<ClientName>;

const call = (number: number): Event[] => [
  {
    type: "call-start",
    choice: 0,
    call: number,
    id: `c${number}`,
    kind: "function",
    name: clientName("look"),
  },
  { type: "call-end", choice: 0, call: number, complete: true },
];
const text = (said: string): Event[] => [
  { type: "text-start", choice: 0 },
  { type: "text-delta", choice: 0, text: said },
  { type: "text-end", choice: 0 },
];
const thought: Event[] = [
  { type: "reasoning-start", choice: 0 },
  { type: "reasoning-end", choice: 0 },
];
const over: Event = { type: "turn-end", choice: 0, stop: "calls" };

function play(events: readonly Event[]): { said: Event[]; decisions: Decision[] } {
  const decisions: Decision[] = [];
  return {
    said: runStage(
      suppressTail((one) => void decisions.push(one)),
      events,
    ),
    decisions,
  };
}

describe("suppressing the tail", () => {
  it("leaves out only the text behind the last call, and says so", () => {
    const kept = [...text("before"), ...call(0), ...text("between"), ...call(1)];
    const { said, decisions } = play([...kept, ...text("behind"), ...text("and more"), over]);
    expect(said).toEqual([...kept, over]);
    expect(decisions).toEqual([
      { path: "output", action: "dropped", reason: "text behind the last call is left out" },
    ]);
  });

  it("keeps everything where there is no call", () => {
    const events = [...text("a"), ...text("b"), { ...over, stop: "end" } as Event];
    expect(play(events)).toEqual({ said: events, decisions: [] });
  });

  it("keeps thought, and keeps it in its place", () => {
    expect(
      play([...call(0), ...text("a"), ...thought, ...text("b"), ...call(1), over]).said,
    ).toEqual([...call(0), ...text("a"), ...thought, ...text("b"), ...call(1), over]);
    expect(play([...call(0), ...text("a"), ...thought, over]).said).toEqual([
      ...call(0),
      ...thought,
      over,
    ]);
  });

  it("keeps a refusal with its message", () => {
    const [opened] = text("");
    const refusal: Event = { type: "refusal-delta", choice: 0, text: "No." };
    const events = [...call(0), opened, refusal, ...text("Sorry."), over] as Event[];
    expect(play(events).said).toEqual(events);
  });

  it("keeps the ends of calls that come behind the text", () => {
    const [opened, ended] = call(0) as [Event, Event];
    expect(play([opened, ...text("tail"), ended, over]).said).toEqual([opened, ended, over]);
  });
});
