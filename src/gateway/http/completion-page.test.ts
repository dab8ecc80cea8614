import { expect, it } from "vitest";
import { stillClock } from "../../../test/support/still-clock.ts";
import { MemoryLog } from "../../history/memory-log.ts";
import type { Fields } from "../../turn/turn.ts";
import { completionPage } from "./page.ts";
import { StepQueue } from "./steps.ts";
import { ByteBudget } from "./budget.ts";

const COUNT = 2500;
const held = {
  memory: new ByteBudget(Infinity, "turns_limit").open("ann"),
  steps: new StepQueue(stillClock()),
};

async function kept(): Promise<MemoryLog> {
  const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };
  const store = new MemoryLog(stillClock(), retention);
  for (let at = 0; at < COUNT; at++) {
    const id = `chatcmpl-${at}`;
    const completion = { id, model: at % 1200 === 7 ? "rare" : "often" };
    const json = JSON.stringify(completion);
    await store.create({ tenant: "ann", id, json, items: [] });
  }
  return store;
}

/** The ids of all pages as a client reads them, and how many pages there were. */
async function readAll(
  store: MemoryLog,
  { order = "asc", chooses, maxBytes = 1e6 }: Readings = {},
): Promise<{ readonly ids: readonly unknown[]; readonly pages: number }> {
  const ids: unknown[] = [];
  let after: string | undefined;
  for (let pages = 1; ; pages++) {
    const query = { limit: 100, order, after };
    const page = await completionPage({
      store,
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
  const store = await kept();
  const all = idsFrom([...Array(COUNT).keys()]);
  expect(await readAll(store)).toEqual({ ids: all, pages: 25 });
  expect(await readAll(store, { order: "desc" })).toEqual({
    ids: all.toReversed(),
    pages: 25,
  });
});

it("finds those that are far between, and ends no page empty before the last", async () => {
  const store = await kept();
  const rare = (one: Fields): boolean => one.model === "rare";
  const { ids, pages } = await readAll(store, { chooses: rare });
  expect(ids).toEqual(idsFrom([7, 1207, 2407]));
  expect(pages).toBeGreaterThan(1);
  expect(await readAll(store, { chooses: () => false })).toEqual({ ids: [], pages: 1 });
  const often = await readAll(store, { chooses: (one) => one.model === "often" });
  expect(often.ids).toHaveLength(COUNT - 3);
});

it("looks at a page's worth of the store, and not at what is behind it", async () => {
  const store = await kept();
  let seen = 0;
  const counting = {
    async lists(...asked: Parameters<MemoryLog["lists"]>) {
      const found = await store.lists(...asked);
      if (found.type === "found") seen += found.list.length;
      return found;
    },
  };
  const query = { limit: 20, order: "desc", after: "chatcmpl-2000" } as const;
  const options = { tenant: "ann", prefix: "chatcmpl-", query, maxBytes: 1e6, ...held };
  await completionPage({ ...options, store: counting });
  expect(seen).toBe(20);
  const chooses = (one: Fields): boolean => one.model === "rare";
  await completionPage({ ...options, store: counting, chooses });
  expect(seen).toBe(20 + 1000);
});

it("ends a page where its completions are long", async () => {
  const { ids, pages } = await readAll(await kept(), { maxBytes: 2000 });
  expect(ids).toHaveLength(COUNT);
  expect(pages).toBeGreaterThan(40);
});
