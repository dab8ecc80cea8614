import { expect, it } from "vitest";
import { growth, LINEAR } from "../../test/support/growth.ts";
import { free } from "../../test/support/store-suite.ts";
import { stillClock } from "../../test/support/still-clock.ts";
import { MemoryConversations } from "./memory-conversations.ts";

const MAX_BYTES = 1_000_000;

const open = (maxBytes = MAX_BYTES) =>
  new MemoryConversations(stillClock(), { maxBytes, maxAgeMs: 1000 });

const create = (
  conversations: MemoryConversations,
  tenant: string,
  id: string,
  length: number,
): Promise<void> =>
  conversations.createConversation({
    tenant,
    id,
    json: "{}",
    items: length === 0 ? [] : [{ id: "item", json: "x".repeat(length) }],
  });

it("makes room for a large conversation by work that grows with what it drops", async () => {
  const work = async (count: number): Promise<void> => {
    const conversations = open(count * 300);
    for (let at = 0; at < count; at++) await create(conversations, "ann", `conv_${at}`, 0);
    await create(conversations, "ann", "conv_large", count * 100);
    expect(await conversations.findConversation("ann", "conv_large", free)).toBeDefined();
    expect(await conversations.findConversation("ann", "conv_0", free)).toBeUndefined();
  };
  expect(await growth(work, 1000)).toBeLessThan(LINEAR);
});

it("takes room from the tenant that holds most, the oldest first, and from no other", async () => {
  const conversations = open();
  await create(conversations, "bob", "conv_bob", 100_000);
  for (let at = 0; at < 40; at++) await create(conversations, "ann", `conv_${at}`, 20_000);
  const isKept = async (tenant: string, id: string) =>
    (await conversations.findConversation(tenant, id, free)) !== undefined;
  expect(await isKept("bob", "conv_bob")).toBe(true);
  expect(await isKept("ann", "conv_0")).toBe(false);
  expect(await isKept("ann", "conv_39")).toBe(true);
});

it("does not keep what alone is too large", async () => {
  const conversations = open();
  await create(conversations, "ann", "conv_large", MAX_BYTES);
  expect(await conversations.findConversation("ann", "conv_large", free)).toBeUndefined();
  await create(conversations, "ann", "conv_small", 10);
  expect(await conversations.findConversation("ann", "conv_small", free)).toBeDefined();
});
