import * as fc from "fast-check";
import { expect, it } from "vitest";
import { RunningTurns, type RunningTurn } from "./running-turns.ts";

const turn = (halt = (): void => {}): RunningTurn => ({ place: -1, halt });

it("holds whoever was added and not removed, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9)), (steps) => {
      const roster = new RunningTurns();
      const turns = Array.from({ length: 10 }, () => turn());
      const there = new Set<RunningTurn>();
      for (const step of steps) {
        const one = turns[step];
        if (one === undefined) continue;
        expect(roster.remove(one)).toBe(there.delete(one));
        if (step % 2 === 0) {
          roster.add(one);
          there.add(one);
        }
        expect(roster.size).toBe(there.size);
      }
    }),
  );
});

it("halts every turn, even those that leave while they are halted", () => {
  const roster = new RunningTurns();
  const halted: number[] = [];
  for (const at of [0, 1, 2]) {
    const one = turn(() => {
      halted.push(at);
      roster.remove(one);
    });
    roster.add(one);
  }
  roster.haltAll();
  expect(halted).toEqual([0, 1, 2]);
  expect(roster.size).toBe(0);
});
