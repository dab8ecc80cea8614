import { describe, expect, it } from "vitest";
import { HOUR_MS, usageMemory, type UsageEntry } from "./usage-sums.ts";

const entry = (over: Partial<UsageEntry> = {}): UsageEntry => ({
  at: 5,
  caller: "ann",
  model: "gpt",
  failed: false,
  usage: { input: 10, output: 5, total: 15, cached: 4 },
  calls: 2,
  truncated: false,
  ...over,
});
const models = async (store: ReturnType<typeof usageMemory>, caller = "ann") =>
  (await store.read(caller, 0, Infinity)).map(({ model, sum }) => [model, sum.requests]);

describe("usage in memory", () => {
  it("adds up what turns used", async () => {
    const store = usageMemory();
    store.add(entry());
    store.add(entry({ failed: true, usage: undefined, calls: 0 }));
    store.add(entry({ truncated: true }));
    expect(await store.read("ann", 0, HOUR_MS)).toEqual([
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
          reasoning: 0,
          calls: 4,
          truncated: 1,
        },
      },
    ]);
  });

  it("tells nobody what another used", async () => {
    const store = usageMemory();
    store.add(entry());
    expect(await models(store, "bob")).toEqual([]);
  });

  it("reads the hours asked for, the oldest first, in whatever order they came", async () => {
    const store = usageMemory();
    for (const hour of [3, 1, 2, 0, 2]) store.add(entry({ at: hour * HOUR_MS + 7 }));
    const rows = await store.read("ann", HOUR_MS, 3 * HOUR_MS);
    expect(rows.map(({ hour, sum }) => [hour / HOUR_MS, sum.requests])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("keeps so many models, and the rest under one name", async () => {
    const store = usageMemory(10, 2);
    for (const model of ["a", "b", "c", "d", "a"]) store.add(entry({ model }));
    expect(await models(store)).toEqual([
      ["a", 2],
      ["b", 1],
      ["other", 2],
    ]);
  });

  it("forgets the oldest hours", async () => {
    const store = usageMemory(2);
    for (const hour of [0, 1, 2]) store.add(entry({ at: hour * HOUR_MS, model: `${hour}` }));
    expect(await models(store)).toEqual([
      ["1", 1],
      ["2", 1],
    ]);
  });
});
