import { describe, expect, it } from "vitest";
import type { UsageEntry } from "./log.ts";
import { HOUR_MS, UsageSums } from "./usage-sums.ts";

const entry = (over: Partial<UsageEntry> = {}): UsageEntry => ({
  model: "gpt",
  failed: false,
  usage: { input: 10, output: 5, total: 15, cached: 4 },
  calls: 2,
  truncated: false,
  ...over,
});
const models = (sums: UsageSums, tenant = "ann") =>
  sums.read(tenant, 0, Infinity).map(({ model, sum }) => [model, sum.requests]);

describe("usage in memory", () => {
  it("adds up what turns used", () => {
    const sums = new UsageSums();
    sums.add("ann", 5, entry());
    sums.add("ann", 5, entry({ failed: true, usage: undefined, calls: 0 }));
    sums.add("ann", 5, entry({ truncated: true }));
    expect(sums.read("ann", 0, HOUR_MS)).toEqual([
      {
        hour: 0,
        model: "gpt",
        sum: {
          requests: 3,
          failures: 1,
          uncounted: 1,
          input: 20,
          output: 10,
          total: 30,
          cached: 8,
          cacheWrite: 0,
          reasoning: 0,
          calls: 4,
          truncated: 1,
          cost: 0,
        },
      },
    ]);
  });

  it("tells nobody what another used", () => {
    const sums = new UsageSums();
    sums.add("ann", 5, entry());
    expect(models(sums, "bob")).toEqual([]);
  });

  it("reads the hours asked for, the oldest first, in whatever order they came", () => {
    const sums = new UsageSums();
    for (const hour of [3, 1, 2, 0, 2]) sums.add("ann", hour * HOUR_MS + 7, entry());
    const rows = sums.read("ann", HOUR_MS, 3 * HOUR_MS);
    expect(rows.map(({ hour, sum }) => [hour / HOUR_MS, sum.requests])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("keeps so many models, and the rest under one name", () => {
    const sums = new UsageSums({ hours: 10, models: 2 });
    for (const model of ["a", "b", "c", "d", "a"]) sums.add("ann", 5, entry({ model }));
    expect(models(sums)).toEqual([
      ["a", 2],
      ["b", 1],
      ["other", 2],
    ]);
  });

  it("forgets the oldest hours", () => {
    const sums = new UsageSums({ hours: 2 });
    for (const hour of [0, 1, 2]) sums.add("ann", hour * HOUR_MS, entry({ model: `${hour}` }));
    expect(models(sums)).toEqual([
      ["1", 1],
      ["2", 1],
    ]);
  });

  it("drops the oldest hours where many tenants have many models", () => {
    const sums = new UsageSums({ rows: 3 });
    for (const hour of [0, 1, 2])
      for (const tenant of ["ann", "bob"])
        sums.add(tenant, hour * HOUR_MS, entry({ model: `${hour}` }));
    expect(models(sums)).toEqual([
      ["1", 1],
      ["2", 1],
    ]);
  });
});
