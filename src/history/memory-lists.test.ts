import { expect, it } from "vitest";
import { growth, LINEAR } from "../../test/support/growth.ts";
import { free } from "../../test/support/store-suite.ts";
import { stillClock } from "../../test/support/still-clock.ts";
import { MemoryLog } from "./memory-log.ts";
import { listKey } from "./log.ts";

const MAX_BYTES = 1_000_000;

const open = (maxBytes = MAX_BYTES) =>
  new MemoryLog(stillClock(), { maxBytes: 6 * maxBytes, maxAgeMs: 1000 });

const create = (store: MemoryLog, tenant: string, id: string, length: number): Promise<void> =>
  store.create({
    tenant,
    id,
    json: "{}",
    items: length === 0 ? [] : [{ id: "item", json: "x".repeat(length) }],
  });

it("makes room for a large conversation by work that grows with what it drops", async () => {
  const work = async (count: number): Promise<void> => {
    const store = open(count * 300);
    for (let at = 0; at < count; at++) await create(store, "ann", `conv_${at}`, 0);
    await create(store, "ann", "conv_large", count * 100);
    expect(await store.head(listKey("ann", "conv_large"), free)).toBeDefined();
    expect(await store.head(listKey("ann", "conv_0"), free)).toBeUndefined();
  };
  expect(await growth(work, 1000)).toBeLessThan(LINEAR);
});

it("takes room from the tenant that holds most, the oldest first, and from no other", async () => {
  const store = open();
  await create(store, "bob", "conv_bob", 100_000);
  for (let at = 0; at < 40; at++) await create(store, "ann", `conv_${at}`, 20_000);
  const isKept = async (tenant: string, id: string) =>
    (await store.head(listKey(tenant, id), free)) !== undefined;
  expect(await isKept("bob", "conv_bob")).toBe(true);
  expect(await isKept("ann", "conv_0")).toBe(false);
  expect(await isKept("ann", "conv_39")).toBe(true);
});

it("does not keep what alone is too large", async () => {
  const store = open();
  await create(store, "ann", "conv_large", MAX_BYTES);
  expect(await store.head(listKey("ann", "conv_large"), free)).toBeUndefined();
  await create(store, "ann", "conv_small", 10);
  expect(await store.head(listKey("ann", "conv_small"), free)).toBeDefined();
});
