import * as fc from "fast-check";
import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { LOCAL_TENANT } from "../../turn/tenant.ts";
import { RunningTurns, type RunningTurn } from "./running-turns.ts";

const view = {
  requestId: "req_1",
  tenant: LOCAL_TENANT,
  door: "chat",
  model: "m",
  upstream: "u/m",
  stream: true,
  rounds: 1,
  startedAt: 0,
  step: "asked" as const,
  plan: "",
  ms: 1,
  calls: 0,
  attempts: 1,
};
const turn = (halt = (): void => {}): RunningTurn => ({ place: -1, halt, view: () => view });

it("holds whoever was added and not removed, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9)), (steps) => {
      const running = new RunningTurns();
      const turns = Array.from({ length: 10 }, () => turn());
      const there = new Set<RunningTurn>();
      for (const step of steps) {
        const one = turns[step];
        if (one === undefined) continue;
        expect(running.remove(one)).toBe(there.delete(one));
        if (step % 2 === 0) {
          running.add(one);
          there.add(one);
        }
        expect(running.size).toBe(there.size);
      }
    }),
  );
});

it("halts every turn, even those that leave while they are halted", () => {
  const running = new RunningTurns();
  const halted: number[] = [];
  for (const at of [0, 1, 2]) {
    const one = turn(() => {
      halted.push(at);
      running.remove(one);
    });
    running.add(one);
  }
  running.haltAll();
  expect(halted).toEqual([0, 1, 2]);
  expect(running.size).toBe(0);
});

it("pings all turns by one timer, which ends with the last of them", () => {
  const clock = stillClock();
  const running = new RunningTurns(clock);
  running.tickEvery(10_000);
  const pinged: string[] = [];
  const turns = ["a", "b"].map((name) =>
    Object.assign(turn(), { tick: () => void pinged.push(name) }),
  );
  for (const one of turns) running.add(one);
  expect(clock.waiting()).toBe(1);
  clock.move(20_000);
  expect(pinged).toEqual(["a", "b", "a", "b"]);
  for (const one of turns) running.remove(one);
  clock.move(10_000);
  expect([pinged.length, clock.waiting()]).toEqual([4, 0]);
});
