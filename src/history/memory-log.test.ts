import * as fc from "fast-check";
import { expect, it } from "vitest";
import { heapBytes } from "../../test/support/heap.ts";
import { stillClock } from "../../test/support/still-clock.ts";
import { describeConversations } from "../../test/support/conversation-suite.ts";
import { describeStore, item, turn, free } from "../../test/support/store-suite.ts";
import { responseKey, type StoredItem } from "./log.ts";
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
  const finding = store.find({ of: "items", tenant: "ann", ids: ["a"], maxBytes: 1000 }, free);
  expect(await finding).toEqual({
    type: "found",
    items: new Map([["a", item("a")]]),
  });
  await saving;
});

it("lets go of plans that a later one with the same id replaces", async () => {
  const store = new MemoryLog(stillClock());
  const before = await heapBytes();
  for (let at = 0; at < 20_000; at++) {
    const text = `${at}`.repeat(200);
    const plan = { bytes: text.length, json: () => text, parts: () => undefined };
    void store.append(turn({ answerId: "same", plan }));
  }
  expect((await heapBytes()) - before).toBeLessThan(4 * 1024 * 1024);
  expect(await store.entry({ tenant: "ann", kind: "plan", id: "same" }, free)).toBeDefined();
});

it("makes no room for entries whose items and notes were all replaced", async () => {
  const store = new MemoryLog(stillClock(), { maxBytes: 60_000, maxAgeMs: 1000 });
  const find = async (of: "items" | "notes", id: string) => {
    const found = await store.find({ of, tenant: "ann", ids: [id], maxBytes: 10_000 }, free);
    return found.type === "found" ? found.items.get(id) : undefined;
  };
  await store.append(turn({ items: [item("first", "1"), item("same", "2")] }));
  for (let at = 0; at < 1000; at++)
    await store.append(turn({ items: [item("same", `${at}`)], notes: [item("note", `${at}`)] }));
  expect(await find("items", "first")).toEqual(item("first", "1"));
  expect(await find("items", "same")).toEqual(item("same", "999"));
  expect(await find("notes", "note")).toEqual(item("note", "999"));
});

it("never holds more than it may, whatever the weights, and nothing that has expired", async () => {
  const clock = stillClock();
  const store = new MemoryLog(clock, { maxBytes: 200_000, maxAgeMs: 100 });
  const tenants = ["ann", "bob", "eve"];
  const ids = Array.from({ length: 500 }, (_, at) => `item-${at}`);
  const held = async (tenant: string): Promise<number> => {
    const found = await store.find({ of: "items", tenant, ids, maxBytes: Infinity }, free);
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

it("reads every character of an answer again, packed or not, whatever was deleted around it", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("é", "\u{1f600}", "\ud800", "\n1,2", "x".repeat(100)),
  );
  const items = fc.uniqueArray(fc.record({ id: text, json: text }), {
    selector: ({ id }) => id,
    maxLength: 3,
  });
  const step = fc.record({
    input: items,
    items,
    json: text,
    origin: fc.option(text, { nil: undefined }),
    drops: fc.boolean(),
    place: fc.nat(),
  });
  const plain = (list: readonly StoredItem[] = []): unknown =>
    list.map(({ id, json }) => ({ id, json }));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      // So small that each block holds a few answers, and large enough for all of them.
      const store = new MemoryLog(stillClock(), { maxBytes: 600_000, maxAgeMs: 1000 });
      const known = new Map<string, (typeof steps)[number]>();
      for (const [at, given] of steps.entries()) {
        const { input, items: answer, json, origin } = given;
        const id = `answer-${at}`;
        void store.append(turn({ answerId: id, items: answer, response: { input, json, origin } }));
        known.set(id, given);
        const dropped = [...known.keys()][given.place % known.size];
        if (!given.drops || dropped === undefined) continue;
        known.delete(dropped);
        expect(await store.drop(responseKey("ann", dropped))).toBe(true);
      }
      for (const at of steps.keys()) {
        const key = responseKey("ann", `answer-${at}`);
        const given = known.get(key.id);
        const found = await store.entry(key, free);
        expect([found?.json, found?.origin, plain(found?.items)]).toEqual([
          given?.json,
          given?.origin,
          plain(given?.items),
        ]);
        expect(plain(await store.input(key, free))).toEqual(plain(given?.input));
      }
    }),
    { numRuns: 60 },
  );
});
