import { expect, it } from "vitest";
import { stillClock } from "../../test/support/still-clock.ts";
import { describeConversations } from "../../test/support/conversation-suite.ts";
import { describeStore, item, turn, free } from "../../test/support/store-suite.ts";
import { MemoryStore } from "./memory.ts";
import { TenantSegments } from "./segments.ts";

for (const describeKind of [describeStore, describeConversations])
  describeKind(
    "memory",
    (clock, retention) => new MemoryStore(clock, retention),
    (_, clock, ms) => clock.move(ms),
  );

it("takes a turn in the call that saves it", async () => {
  const store = new MemoryStore(stillClock());
  const saving = store.saveTurn(turn({ items: [item("a")] }));
  const finding = store.findItems("ann", ["a"], 1000, free);
  expect(await finding).toEqual({
    type: "found",
    items: new Map([["a", item("a")]]),
  });
  await saving;
});

it("never holds more than it may, whatever the weights", () => {
  const clock = stillClock();
  const held = new Set<{ bytes: number }>();
  const registry = new TenantSegments({ maxBytes: 1000, maxAgeMs: 100 }, clock, () => {
    const content = { bytes: 0 };
    held.add(content);
    return content;
  });
  const tenants = ["ann", "bob", "eve"];
  for (let at = 0; at < 500; at++) {
    const bytes = (at * 37) % 400;
    const content = registry.open(tenants[at % 3] ?? "", bytes);
    if (content !== undefined) content.bytes += bytes;
    const kept = tenants.flatMap((tenant) => registry.contents(tenant));
    expect(kept.reduce((sum, one) => sum + one.bytes, 0)).toBeLessThanOrEqual(1000);
  }
  expect(registry.open("ann", 1001)).toBeUndefined();
  clock.move(1000);
  registry.open("ann", 900);
  expect(registry.contents("bob")).toEqual([]);
});
