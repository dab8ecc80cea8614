import * as fc from "fast-check";
import { expect, it } from "vitest";
import { Family, sumMetrics } from "./registry.ts";

/** What a process has counted: amounts by label, turns under way, and durations. */
type Counted = { amounts: [string, number][]; running: number; durations: number[] };

function textOf({ amounts, running, durations }: Counted): string {
  const turns = new Family("counter", "Turns.", "door");
  const active = new Family("gauge", "Under way.");
  const took = new Family("histogram", "How long.", "door", [1, 10]);
  for (const [door, amount] of amounts) turns.of(door).amount += amount;
  active.of().amount = running;
  for (const ms of durations) took.of("chat").observe(ms);
  return turns.text("turns_total") + active.text("running") + took.text("took_ms");
}

const counted = fc.record({
  amounts: fc.array(fc.tuple(fc.constantFrom("chat", 'a"b', "x y\n"), fc.nat(9))),
  running: fc.nat(9),
  durations: fc.array(fc.nat(20)),
});

const joined = (all: readonly Counted[], running: readonly Counted[]): Counted => ({
  amounts: all.flatMap(({ amounts }) => amounts),
  running: running.reduce((sum, one) => sum + one.running, 0),
  durations: all.flatMap(({ durations }) => durations),
});

it("sums what one process would have counted, but for the gauges of those that ended", () => {
  fc.assert(
    fc.property(fc.array(counted, { minLength: 1 }), fc.array(counted), (running, ended) => {
      const sum = sumMetrics(running.map(textOf), ...ended.map(textOf));
      const one = textOf(joined([...running, ...ended], running));
      expect(sum.split("\n").toSorted()).toEqual(one.split("\n").toSorted());
    }),
  );
});

it("keeps the sum of ended processes as metrics of their own", () => {
  const [a, b, c] = [1, 2, 3].map((amount) =>
    textOf({ amounts: [["chat", amount]], running: 1, durations: [amount] }),
  ) as [string, string, string];
  expect(sumMetrics([c], sumMetrics([], sumMetrics([], "", a), b))).toBe(sumMetrics([c], a, b));
});
