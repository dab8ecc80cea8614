import { describe, expect, it } from "vitest";
import { listKey, type Log } from "../../src/history/log.ts";
import { stillClock } from "./still-clock.ts";
import type { Body } from "./fake-upstream.ts";
import { describePages, free, item, soon, type Age, type OpenStore } from "./store-suite.ts";

const HOUR_MS = 3_600_000;
const roomy = { maxBytes: 100_000_000, maxAgeMs: HOUR_MS };

const itemsOf = async (store: Log, id: string, tenant = "ann"): Promise<string[] | string> => {
  const found = await store.load(listKey(tenant, id), 1_000_000, free);
  if (found.type !== "found") return found.type;
  return (JSON.parse(`[${found.texts.join(",")}]`) as Body[]).map((one) => one["id"]);
};

/** What holds for the conversations and secrets of a store of every kind. */
export function describeConversations(kind: string, open: OpenStore, age: Age): void {
  const opened = async (retention = roomy) => {
    const clock = stillClock(1000 * HOUR_MS);
    const store = await open(clock, retention);
    const create = (id: string, tenant = "ann", ...ids: readonly string[]): Promise<void> =>
      store.create({
        tenant,
        id,
        json: JSON.stringify({ id }),
        items: ids.map((one) => item(one)),
      });
    return { clock, store, create };
  };

  describe(`the conversations of the ${kind} store`, () => {
    it("are made, found, changed and deleted by their tenant alone", async () => {
      const { store, create } = await opened();
      await create("c", "ann", "one", "two");
      expect(await store.head(listKey("ann", "c"), free)).toEqual({
        id: "c",
        json: '{"id":"c"}',
      });
      expect(await store.setHead(listKey("ann", "c"), "{}")).toBe(true);
      expect(await store.head(listKey("ann", "c"), free)).toEqual({
        id: "c",
        json: "{}",
      });
      expect(await itemsOf(store, "c")).toEqual(["one", "two"]);
      for (const [tenant, id] of [
        ["bob", "c"],
        ["ann", "d"],
        ["ann", "\0"],
      ] as const) {
        expect(await store.head(listKey(tenant, id), free)).toBeUndefined();
        expect(await store.setHead(listKey(tenant, id), "{}")).toBe(false);
        expect(await store.extend(listKey(tenant, id), [item("x")])).toBe(false);
        expect(await store.dropItem(listKey(tenant, id), "one")).toBe(false);
        expect(await store.drop(listKey(tenant, id))).toBe(false);
        expect(await itemsOf(store, id, tenant)).toBe("missing");
      }
      expect(await store.drop(listKey("ann", "c"))).toBe(true);
      expect(await itemsOf(store, "c")).toBe("missing");
      await store.close();
    });

    it("take items behind the others, in order, and lose those that are deleted", async () => {
      const { store, create } = await opened();
      await create("c");
      await create("d", "ann", "other");
      const many = Array.from({ length: 50 }, (_, at) => item(`i${at}`, `"quoted" 'text' ${at}`));
      expect(await store.extend(listKey("ann", "c"), many)).toBe(true);
      expect(await store.extend(listKey("ann", "c"), [item("last")])).toBe(true);
      expect(await itemsOf(store, "c")).toEqual([...many.map(({ id }) => id), "last"]);
      expect(await store.item(listKey("ann", "c"), "i7", free)).toBe(many[7]?.json);
      expect(await store.dropItem(listKey("ann", "c"), "i7")).toBe(true);
      expect(await store.dropItem(listKey("ann", "c"), "i7")).toBe(false);
      expect(await itemsOf(store, "c")).toHaveLength(50);
      expect(await itemsOf(store, "d")).toEqual(["other"]);
      expect(await store.load(listKey("ann", "c"), 100, free)).toEqual({
        type: "too-large",
      });
      await store.close();
    });

    it("expire when they were not written to for long enough", async () => {
      const { clock, store, create } = await opened();
      for (const id of ["c", "d", "e"]) await create(id);
      await age(store, clock, HOUR_MS / 2);
      for (const id of ["c", "e"]) await store.extend(listKey("ann", id), [item("x")]);
      await age(store, clock, HOUR_MS / 2 + 1000);
      await create("new");
      store.start();
      await expect.poll(() => itemsOf(store, "d"), soon).toBe("missing");
      expect(await itemsOf(store, "c")).toEqual(["x"]);
      await store.close();
    });

    const all = { prefix: "made-", order: "asc", limit: 100, maxBytes: 1_000_000 } as const;

    it("are listed by how their ids begin, in the order in which they were made", async () => {
      const { store, create } = await opened();
      for (const id of ["made-2", "a-1", "made-1", "made_3"]) await create(id);
      await create("made-4", "bob");
      await store.extend(listKey("ann", "made-2"), [item("x")]);
      const list = ["made-2", "made-1"].map((id) => ({ id, json: JSON.stringify({ id }) }));
      const whole = { type: "found", isWhole: true };
      expect(await store.lists("ann", all, free)).toEqual({ ...whole, list });
      expect(await store.lists("eve", all, free)).toEqual({
        ...whole,
        list: [],
      });
      await store.close();
    });

    it("are all reached page by page, in either order", async () => {
      const { store, create } = await opened();
      const ids = Array.from({ length: 25 }, (_, at) => `made-${at}`);
      for (const id of ids) await create(id);
      await create("conv_1");
      const page = async (order: "asc" | "desc", after?: string) => {
        const found = await store.lists(
          "ann",
          {
            ...all,
            limit: 10,
            order,
            after,
          },
          free,
        );
        return found.type === "found" ? [found.list.map(({ id }) => id), found.isWhole] : found;
      };
      expect(await page("asc")).toEqual([ids.slice(0, 10), false]);
      expect(await page("asc", "made-9")).toEqual([ids.slice(10, 20), false]);
      expect(await page("asc", "made-19")).toEqual([ids.slice(20), true]);
      expect(await page("desc")).toEqual([ids.toReversed().slice(0, 10), false]);
      expect(await page("desc", "made-10")).toEqual([ids.slice(0, 10).toReversed(), true]);
      expect(await page("asc", "made-24")).toEqual([[], true]);
      for (const id of ids.slice(3, 20)) await store.drop(listKey("ann", id));
      expect(await page("asc", "made-1")).toEqual([["made-2", ...ids.slice(20)], true]);
      expect(await page("desc", "made-20")).toEqual([["made-2", "made-1", "made-0"], true]);
      for (const after of ["made-5", "made-99", "\0"])
        expect(await page("asc", after)).toEqual({ type: "missing" });
      await store.close();
    });

    it("have items that are listed by pages, of which no more is loaded than is shown", async () => {
      const { store, create } = await opened();
      const ids = Array.from({ length: 25 }, (_, at) => `i${at}`);
      await create("other", "ann", "i1");
      await create("c", "ann", ...ids);
      await describePages(ids, (page, weigh) => store.page(listKey("ann", "c"), page, weigh));
      const page = { limit: 2, order: "asc" } as const;
      expect(await store.page(listKey("bob", "c"), page, free)).toEqual({ type: "missing" });
      await store.dropItem(listKey("ann", "c"), "i3");
      const rest = await store.page(listKey("ann", "c"), { ...page, after: "i2" }, free);
      expect(rest).toMatchObject({ items: [{ id: "i4" }, { id: "i5" }] });
      expect(await store.item(listKey("ann", "c"), "i3", free)).toBeUndefined();
      expect(await store.item(listKey("bob", "c"), "i4", free)).toBeUndefined();
      await store.close();
    });

    it("are listed up to so many bytes, and one at least", async () => {
      const { store, create } = await opened();
      for (const id of ["made-1", "made-2", "made-3"]) await create(id);
      const listed = (maxBytes: number) => store.lists("ann", { ...all, maxBytes }, free);
      expect(await listed(1)).toMatchObject({ list: [{ id: "made-1" }], isWhole: false });
      expect(await listed(10_000)).toMatchObject({ isWhole: true });
      await store.close();
    });

    it("keeps the first secret of a name", async () => {
      const { store } = await opened();
      const made = await Promise.all(["a", "b", "c"].map((one) => store.secret("key", one)));
      expect(new Set(made).size).toBe(1);
      expect(await store.secret("key", "z")).toBe(made[0]);
      expect(await store.secret("other", "z")).toBe("z");
      await store.close();
    });
  });
}
