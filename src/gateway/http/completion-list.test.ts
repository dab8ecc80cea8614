import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { MemoryConversations } from "../../history/memory-conversations.ts";
import type { Fields } from "../../turn/turn.ts";
import { completionPage } from "./completion-list.ts";
import { StepQueue } from "./steps.ts";
import { ByteBudget } from "./budget.ts";

const COUNT = 2500;
const held = {
  memory: new ByteBudget(Infinity, "turns_limit").open("ann"),
  steps: new StepQueue(stillClock()),
};

async function kept(): Promise<MemoryConversations> {
  const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };
  const conversations = new MemoryConversations(stillClock(), retention);
  for (let at = 0; at < COUNT; at++) {
    const id = `chatcmpl-${at}`;
    const completion = { id, model: at % 1200 === 7 ? "rare" : "often" };
    const json = JSON.stringify(completion);
    await conversations.createConversation({ tenant: "ann", id, json, items: [] });
  }
  return conversations;
}

/** The ids of all pages as a client reads them, and how many pages there were. */
async function readAll(
  conversations: MemoryConversations,
  { order = "asc", chooses, maxBytes = 1e6 }: Readings = {},
): Promise<{ readonly ids: readonly unknown[]; readonly pages: number }> {
  const ids: unknown[] = [];
  let after: string | undefined;
  for (let pages = 1; ; pages++) {
    const query = { limit: 100, order, after };
    const page = await completionPage({
      conversations,
      tenant: "ann",
      prefix: "chatcmpl-",
      query,
      chooses,
      maxBytes,
      ...held,
    });
    const { data } = page;
    ids.push(...data.map(({ id }) => id));
    if (!page.hasMore) return { ids, pages };
    expect(data.length).toBeGreaterThan(0);
    after = String(data.at(-1)?.id);
  }
}

type Readings = {
  readonly order?: "asc" | "desc";
  readonly chooses?: ((one: Fields) => boolean) | undefined;
  readonly maxBytes?: number;
};

const idsFrom = (numbers: readonly number[]): readonly string[] =>
  numbers.map((at) => `chatcmpl-${at}`);

it("reaches every completion, however many there are, in either order", async () => {
  const conversations = await kept();
  const all = idsFrom([...Array(COUNT).keys()]);
  expect(await readAll(conversations)).toEqual({ ids: all, pages: 25 });
  expect(await readAll(conversations, { order: "desc" })).toEqual({
    ids: all.toReversed(),
    pages: 25,
  });
});

it("finds those that are far between, and ends no page empty before the last", async () => {
  const conversations = await kept();
  const rare = (one: Fields): boolean => one.model === "rare";
  const { ids, pages } = await readAll(conversations, { chooses: rare });
  expect(ids).toEqual(idsFrom([7, 1207, 2407]));
  expect(pages).toBeGreaterThan(1);
  expect(await readAll(conversations, { chooses: () => false })).toEqual({ ids: [], pages: 1 });
  const often = await readAll(conversations, { chooses: (one) => one.model === "often" });
  expect(often.ids).toHaveLength(COUNT - 3);
});

it("looks at a page's worth of the store, and not at what is behind it", async () => {
  const conversations = await kept();
  let seen = 0;
  const counting = {
    async listConversations(...asked: Parameters<MemoryConversations["listConversations"]>) {
      const found = await conversations.listConversations(...asked);
      if (found.type === "found") seen += found.list.length;
      return found;
    },
  };
  const query = { limit: 20, order: "desc", after: "chatcmpl-2000" } as const;
  const options = { tenant: "ann", prefix: "chatcmpl-", query, maxBytes: 1e6, ...held };
  await completionPage({ ...options, conversations: counting });
  expect(seen).toBe(20);
  const chooses = (one: Fields): boolean => one.model === "rare";
  await completionPage({ ...options, conversations: counting, chooses });
  expect(seen).toBe(20 + 1000);
});

it("ends a page where its completions are long", async () => {
  const { ids, pages } = await readAll(await kept(), { maxBytes: 2000 });
  expect(ids).toHaveLength(COUNT);
  expect(pages).toBeGreaterThan(40);
});
