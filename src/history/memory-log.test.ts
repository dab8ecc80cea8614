import { expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import { describeConversations } from "../../test/support/conversation-suite.ts";
import { describeStore, item, turn, free } from "../../test/support/store-suite.ts";
import { MemoryLog } from "./memory-log.ts";

for (const describeKind of [describeStore, describeConversations])
  describeKind(
    "memory",
    (clock, retention) => new MemoryLog(clock, retention),
    (_, clock, ms) => clock.move(ms),
  );

it("takes a turn in the call that saves it", async () => {
  const store = new MemoryLog(stillClock());
  const saving = store.append(turn({ items: [item("a")] }));
  const finding = store.findItems({ tenant: "ann", ids: ["a"], maxBytes: 1000 }, free);
  expect(await finding).toEqual({
    type: "found",
    items: new Map([["a", item("a")]]),
  });
  await saving;
});

it("never holds more than it may, whatever the weights, and nothing that has expired", async () => {
  const clock = stillClock();
  const store = new MemoryLog(clock, { maxBytes: 200_000, maxAgeMs: 100 });
  const tenants = ["ann", "bob", "eve"];
  const ids = Array.from({ length: 500 }, (_, at) => `item-${at}`);
  const held = async (tenant: string): Promise<number> => {
    const found = await store.findItems({ tenant, ids, maxBytes: Infinity }, free);
    const items = found.type === "found" ? [...found.items.values()] : [];
    return items.reduce((sum, { json }) => sum + json.length, 0);
  };
  for (const [at, id] of ids.entries()) {
    void store.append(
      turn({ tenant: tenants[at % 3] ?? "", items: [item(id, "x".repeat((at * 37) % 9000))] }),
    );
    const all = await Promise.all(tenants.map(held));
    expect(all.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(100_000);
  }
  expect(await held("bob")).toBeGreaterThan(0);
  clock.move(1000);
  void store.append(turn({ items: [item("last")] }));
  expect(await held("bob")).toBe(0);
});
