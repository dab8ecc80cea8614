import { describe, expect, it } from "vitest";
import {
  planText,
  responseKey,
  listKey,
  planKey,
  type FoundChain,
  type FoundPage,
  type PageQuery,
  type Retention,
  type Log,
  type StoredItem,
  type StoredPlan,
  type StoredTurn,
  type Weigh,
} from "../../src/history/log.ts";
import type { Fault } from "../../src/turn/fault.ts";
import { newId } from "../../src/host/platform/ids.ts";
import type { Clock } from "../../src/turn/clock.ts";
import { itemIds } from "../../src/turn/item-ids.ts";
import { stillClock, type StillClock } from "./still-clock.ts";

const HOUR_MS = 3_600_000;
/** A database drops what is too much beside what is written. */
export const soon = { timeout: 20_000 };
const roomy: Retention = { maxBytes: 100_000_000, maxAgeMs: HOUR_MS };

/** Makes all that is stored so much older. */
export type Age = (store: Log, clock: StillClock, ms: number) => Promise<void> | void;

export type OpenStore = (clock: Clock, retention: Retention) => Log | Promise<Log>;

export const turn = (over: Partial<StoredTurn> = {}): StoredTurn => ({
  tenant: "ann",
  at: 0,
  items: [],
  usage: { model: "m", failed: false, usage: undefined, calls: 0, truncated: false },
  ...over,
});

export const item = (id: string, text = id): StoredItem => ({
  id,
  json: JSON.stringify({ id, text }),
});

/** A turn whose answer can be retrieved and continued. */
export const answer = (
  id: string,
  over: Partial<StoredTurn> & { previous?: string } = {},
): StoredTurn => {
  const { previous, ...rest } = over;
  const input = [item(`${id}-in`)];
  const response = { previous, input, json: JSON.stringify({ id, status: "completed" }) };
  return turn({ answerId: id, items: [item(`${id}-out`)], response, ...rest });
};

/** Room for whatever is loaded. */
export const free: Weigh = () => {};

const idsFound = async (store: Log, tenant: string, ...ids: string[]): Promise<string[]> => {
  const found = await store.find(
    { of: "items", tenant: tenant, ids: ids, maxBytes: 1_000_000 },
    free,
  );
  return found.type === "found" ? [...found.items.keys()] : [found.type];
};

const pairsOf = (items: readonly StoredItem[] = []): StoredItem[] =>
  items.map(({ id, json }) => ({ id, json }));

const foundItems = async (store: Log, ids: readonly string[]): Promise<StoredItem[]> => {
  const found = await store.find(
    { of: "items", tenant: "ann", ids: ids, maxBytes: 1_000_000 },
    free,
  );
  return found.type === "found" ? pairsOf([...found.items.values()]) : [];
};

/** The responses of a chain, by their answers' items. */
const idsIn = ({ texts, last }: Extract<FoundChain, { type: "found" }>): string => {
  const items = JSON.parse(`[${texts.join(",")}]`) as readonly { readonly id: string }[];
  const answers = items.flatMap(({ id }) => (id.endsWith("-out") ? [id.slice(0, -4)] : []));
  expect(answers.at(-1)).toBe(last.id);
  return answers.join(" ");
};

/** The ids of a chain, oldest first. */
export const chainOf = async (store: Log, id: string, tenant = "ann"): Promise<string> => {
  const chain = await store.load(responseKey(tenant, id), 1_000_000, free);
  if (chain.type === "found") return idsIn(chain);
  return chain.type === "missing" ? `missing ${chain.id}` : chain.type;
};

const planOf = async (store: Log, tenant: string, id: string): Promise<unknown> => {
  const plan = await store.entry(planKey(tenant, id), free);
  return plan === undefined ? undefined : JSON.parse(planText(plan));
};

/** A note as the gateway keeps of a seal. */
const seal = (name: string): StoredItem => ({ id: name, json: "up" });
const notesFound = async (store: Log, tenant: string, ...ids: string[]): Promise<string[]> => {
  const found = await store.find({ of: "notes", tenant, ids, maxBytes: 1_000_000 }, free);
  return found.type === "found" ? [...found.items.keys()] : [found.type];
};

const idsHeld = async (store: Log, id: string): Promise<string[]> => {
  const found = await store.load(listKey("ann", id), 1_000_000, free);
  const texts = found.type === "found" ? found.texts : [];
  return (JSON.parse(`[${texts.join(",")}]`) as StoredItem[]).map((one) => one.id);
};

/** What holds for every list of items that is given by pages; each id stands for an item of `item`. */
export async function describePages(
  ids: readonly string[],
  list: (page: PageQuery, weigh: Weigh) => Promise<FoundPage>,
): Promise<void> {
  for (const order of ["asc", "desc"] as const) {
    const all = order === "asc" ? ids : ids.toReversed();
    for (const limit of [1, 7, ids.length, ids.length + 1]) {
      const seen: string[] = [];
      for (let isWhole = false; !isWhole;) {
        let weighed = 0;
        const weigh: Weigh = (bytes) => void (weighed += bytes);
        const found = await list({ limit, order, after: seen.at(-1) }, weigh);
        if (found.type !== "found") throw new Error(found.type);
        const shown = found.items.reduce((sum, { json }) => sum + json.length, 0);
        // Short items are read together.
        expect(weighed).toBeGreaterThanOrEqual(shown);
        expect(weighed).toBeLessThan(shown + 3000);
        seen.push(...found.items.map(({ id }) => id));
        isWhole = found.isWhole;
      }
      expect(seen).toEqual(all);
    }
    for (const after of ["unknown", "a\0b"])
      expect(await list({ limit: 1, order, after }, free)).toEqual({ type: "unknown-after" });
    const full = (): never => {
      throw new Error("full");
    };
    await expect(list({ limit: 1, order }, full)).rejects.toThrow("full");
  }
}

const requests = async (store: Log, tenant: string): Promise<number[]> =>
  (await store.sumUsage(tenant, 0, HOUR_MS)).map(({ sum }) => sum.requests);

/** What holds for a store of every kind. */
export function describeStore(kind: string, open: OpenStore, age: Age): void {
  const opened = async (retention = roomy) => {
    const clock = stillClock();
    return { clock, store: await open(clock, retention) };
  };

  describe(`the ${kind} store`, () => {
    it("finds what a turn left behind", async () => {
      const { store } = await opened();
      const plan = { json: () => '{"object":"plan"}', bytes: 10 };
      await store.append(answer("a", { plan, notes: [seal("s")] }));
      expect(await planOf(store, "ann", "a")).toEqual({ object: "plan" });
      expect(await notesFound(store, "ann", "s", "t", "a-out")).toEqual(["s"]);
      expect(await idsFound(store, "ann", "s")).toEqual([]);
      expect(await idsFound(store, "ann", "a-out", "a-in", "b")).toEqual(["a-out", "a-in"]);
      expect(await store.entry(responseKey("ann", "a"), free)).toEqual({
        id: "a",
        previous: undefined,
        items: [item("a-out")],
        json: '{"id":"a","status":"completed"}',
      });
      expect(await requests(store, "ann")).toEqual([1]);
      await store.close();
    });

    it("knows nothing of another tenant", async () => {
      const { store } = await opened();
      const plan = { json: () => '{"object":"plan"}', bytes: 10 };
      await store.append(answer("a", { plan, notes: [seal("s")] }));
      for (const tenant of ["bob", "", "an", "ann ", "__proto__"]) {
        expect(await planOf(store, tenant, "a")).toBeUndefined();
        expect(await notesFound(store, tenant, "s")).toEqual([]);
        expect(await idsFound(store, tenant, "a-out")).toEqual([]);
        expect(await store.entry(responseKey(tenant, "a"), free)).toBeUndefined();
        expect(await chainOf(store, "a", tenant)).toBe("missing a");
        expect(await store.drop(responseKey(tenant, "a"))).toBe(false);
        expect(await requests(store, tenant)).toEqual([]);
      }
      expect(await chainOf(store, "a")).toBe("a");
      await store.close();
    });

    it("keeps apart what two tenants have under one id, and gives the later of two of one", async () => {
      const { store } = await opened();
      const plan = (name: string) => ({ json: () => JSON.stringify({ name }), bytes: 10 });
      await store.append(turn({ answerId: "a", items: [item("i", "1")], plan: plan("1") }));
      await store.append(
        turn({ tenant: "bob", answerId: "a", items: [item("i", "2")], plan: plan("2") }),
      );
      await store.append(turn({ answerId: "a", items: [item("i", "3")], plan: plan("3") }));
      const jsonOf = async (tenant: string): Promise<string | undefined> => {
        const found = await store.find(
          { of: "items", tenant: tenant, ids: ["i"], maxBytes: 1000 },
          free,
        );
        return found.type === "found" ? found.items.get("i")?.json : found.type;
      };
      expect([await planOf(store, "ann", "a"), await jsonOf("ann")]).toEqual([
        { name: "3" },
        '{"id":"i","text":"3"}',
      ]);
      expect([await planOf(store, "bob", "a"), await jsonOf("bob")]).toEqual([
        { name: "2" },
        '{"id":"i","text":"2"}',
      ]);
      await store.close();
    });

    it("takes any text for an id", async () => {
      const { store } = await opened();
      const ids = [
        "__proto__",
        "constructor",
        "'; DROP TABLE items; --",
        "",
        "\u{1F600}\n\\",
        "a b",
      ];
      for (const id of ids) await store.append(answer(id));
      for (const id of ids) expect((await store.entry(responseKey("ann", id), free))?.id).toBe(id);
      expect(await store.entry(responseKey("ann", "toString"), free)).toBeUndefined();
      await store.close();
    });

    it("knows no id that is too long or no text, and asks nobody for it", async () => {
      const { store } = await opened();
      await store.append(answer("a"));
      for (const id of ["a\0", "\0", "\ud800", "a".repeat(1_000_000)]) {
        expect(await store.entry(responseKey("ann", id), free)).toBeUndefined();
        expect(await planOf(store, "ann", id)).toBeUndefined();
        expect(await store.drop(responseKey("ann", id))).toBe(false);
        expect(await idsFound(store, "ann", id, "a-in")).toEqual(["a-in"]);
        expect(await notesFound(store, "ann", id)).toEqual([]);
        expect(await store.load(responseKey("ann", id), 1000, free)).toEqual({
          type: "missing",
          id,
        });
      }
      await store.close();
    });

    it("keeps every character of what it is given", async () => {
      const { store } = await opened();
      const text = "\u{1F600} \u2028 \\ \" ' {a,b} \0 \ud800 \n\t é".repeat(3);
      await store.append(answer("a", { items: [item("i", text)] }));
      const found = await store.entry(responseKey("ann", "a"), free);
      expect(found?.items).toEqual([item("i", text)]);
      expect(JSON.parse(found?.items[0]?.json ?? "")).toEqual({ id: "i", text });
      await store.close();
    });

    it("finds what was saved a moment ago, whether or not it is written", async () => {
      const { store } = await opened();
      const saving: Promise<void>[] = [];
      for (let at = 0; at < 300; at++) {
        saving.push(
          Promise.resolve(store.append(answer(`${at}`, at > 0 ? { previous: `${at - 1}` } : {}))),
        );
      }
      expect((await store.entry(responseKey("ann", "150"), free))?.id).toBe("150");
      const chain = await store.load(responseKey("ann", "299"), 1_000_000, free);
      expect(chain.type === "found" && idsIn(chain).split(" ").length).toBe(300);
      expect(await requests(store, "ann")).toEqual([300]);
      for (const saved of saving) await saved;
      await store.close();
    });

    it("adds up usage by model, and names no more than a hundred in an hour", async () => {
      const { store } = await opened();
      const usage = { input: 3, output: 2, total: 5, cached: 1, cacheWrite: 4, reasoning: 2 };
      const entry = { failed: true, usage, cost: 0.25, calls: 2, truncated: true };
      const save = async (model: string) =>
        await store.append(turn({ usage: { model, ...entry } }));
      await Promise.all(Array.from({ length: 99 }, (_, at) => save(`m${at}`)));
      for (const model of ["m0", "m99", "m100", "m101", "m1"]) await save(model);
      const rows = await store.sumUsage("ann", 0, HOUR_MS);
      expect(rows.length).toBe(101);
      const requestsOf = (name: string) => rows.find(({ model }) => model === name)?.sum.requests;
      expect(["m0", "m1", "m99", "m100", "other"].map(requestsOf)).toEqual([2, 2, 1, undefined, 2]);
      expect(rows.find(({ model }) => model === "m0")?.sum).toEqual({
        requests: 2,
        failures: 2,
        uncounted: 0,
        input: 6,
        output: 4,
        total: 10,
        cached: 2,
        cacheWrite: 8,
        reasoning: 4,
        calls: 4,
        truncated: 2,
        cost: 500_000_000,
      });
      expect(await store.sumUsage("ann", HOUR_MS, 2 * HOUR_MS)).toEqual([]);
      await store.close();
    });

    it("keeps items whose ids were made together as if each were kept by itself", async () => {
      const store = await open(stillClock(), roomy);
      const { group, next } = itemIds(newId);
      const made = (text: string): StoredItem => ({ ...item(next("msg"), text), group });
      const [first, second] = [made("a,\n{"), made('b"},\n{"id":"x')];
      const input = [
        first,
        second,
        item("own", ",\n"),
        made("c"),
        item("other"),
        made("d"),
        made(""),
      ];
      const response = { input, json: "{}" };
      await store.append(answer("r1", { response }));
      const plain = input.map(({ id, json }) => ({ id, json }));
      const all = { limit: 100, order: "asc" } as const;
      expect(await store.page(responseKey("ann", "r1"), all, free)).toMatchObject({ items: plain });
      const ids = [...input.map(({ id }) => id), `msg_${group}9999`, "r1-out"];
      expect(await foundItems(store, ids)).toEqual([...plain, item("r1-out")]);
      // What a client sends again under its id is later than what it was.
      const again = { input: [item(first.id, "again"), item(second.id)], json: "{}" };
      await store.append(answer("r2", { response: { ...again, previous: "r1" } }));
      expect(await foundItems(store, [first.id, plain[3]?.id ?? ""])).toEqual([
        again.input[0],
        plain[3],
      ]);
      const chain = await store.load(responseKey("ann", "r2"), 1_000_000, free);
      expect(chain.type === "found" && JSON.parse(`[${chain.texts.join(",")}]`)).toEqual(
        [...plain, item("r1-out"), ...again.input, item("r2-out")].map(({ json }): unknown =>
          JSON.parse(json),
        ),
      );
      expect(await store.drop(responseKey("ann", "r1"))).toBe(true);
      expect(await foundItems(store, ids)).toEqual([again.input[0], again.input[1]]);
      await store.close();
    });

    it("loads a chain oldest first, and forks of it", async () => {
      const { store } = await opened();
      await store.append(answer("a"));
      await store.append(answer("b", { previous: "a" }));
      await store.append(answer("c", { previous: "b" }));
      await store.append(answer("d", { previous: "b" }));
      expect(await chainOf(store, "c")).toBe("a b c");
      expect(await chainOf(store, "d")).toBe("a b d");
      await store.close();
    });

    it("loads a chain of any depth whole, and what was forked from it anywhere", async () => {
      const { store } = await opened();
      const save = async (id: string, previous?: string): Promise<void> => {
        // Bytes and characters differ, and some turns are too large to be joined with others.
        const text = "\u00e4\u{1F600}".repeat(id === "t40" ? 20_000 : 3);
        const items = [item(`${id}-more`, text), item(`${id}-out`)];
        await store.append(answer(id, { items, ...(previous !== undefined && { previous }) }));
      };
      const saving: Promise<void>[] = [];
      for (let at = 0; at < 600; at++)
        saving.push(save(`t${at}`, at > 0 ? `t${at - 1}` : undefined));
      for (const saved of saving) await saved;
      const upTo = (last: number): string[] =>
        Array.from({ length: last + 1 }, (_, at) => `t${at}`);
      for (const at of [0, 15, 16, 40, 99, 257, 598]) {
        for (let turn = 0; turn < 20; turn++)
          await save(`f${at}-${turn}`, turn === 0 ? `t${at}` : `f${at}-${turn - 1}`);
        const forked = Array.from({ length: 20 }, (_, turn) => `f${at}-${turn}`);
        expect(await chainOf(store, `f${at}-19`)).toBe([...upTo(at), ...forked].join(" "));
        expect(await chainOf(store, `t${at}`)).toBe(upTo(at).join(" "));
      }
      expect(await chainOf(store, "t599")).toBe(upTo(599).join(" "));
      await store.drop(responseKey("ann", "t100"));
      expect(await chainOf(store, "t599")).toBe("missing t100");
      expect(await chainOf(store, "t101")).toBe("missing t100");
      expect(await chainOf(store, "t99")).toBe(upTo(99).join(" "));
      expect(await chainOf(store, "f99-19")).toContain("t99 f99-0");
      await store.close();
    });

    it("lists by pages what a response was asked with, and loads no more than is shown", async () => {
      const { store } = await opened();
      // Each request has a group of its own.
      let request = itemIds(newId);
      const ids: string[] = [];
      const made = (id = request.next("msg"), text = id): StoredItem => {
        ids.push(id);
        const { group } = request;
        return { ...item(id, text), ...(id.includes(group) && { group }) };
      };
      const save = async (id: string, previous: string | undefined, input: StoredItem[]) => {
        if (ids.at(-1) !== input.at(-1)?.id && input.length > 0) throw new Error("out of order");
        const response = { previous, input, json: JSON.stringify({ id }) };
        await store.append(answer(id, { items: [item(`${id}-out`)], response }));
        ids.push(`${id}-out`);
        request = itemIds(newId);
      };
      await save(
        "r0",
        undefined,
        Array.from({ length: 150 }, () => made()),
      );
      await save("r1", "r0", [made("own"), made(undefined, "x".repeat(100_000)), made(), made()]);
      for (let at = 2; at < 40; at++) await save(`r${at}`, `r${at - 1}`, [made(`r${at}-in`)]);
      await save("r40", "r39", []);
      await save("r41", "r40", [made(), made("last")]);
      const shown = ids.slice(0, -1);
      await describePages(shown, (page, weigh) =>
        store.page(responseKey("ann", "r41"), page, weigh),
      );
      const upTo = (id: string): string[] => ids.slice(0, ids.indexOf(`${id}-out`));
      for (const id of ["r0", "r1", "r17", "r40"])
        await describePages(upTo(id), (page, weigh) =>
          store.page(responseKey("ann", id), page, weigh),
        );
      const page = { limit: 1, order: "asc", after: "r41-out" } as const;
      expect(await store.page(responseKey("ann", "r41"), page, free)).toEqual({
        type: "unknown-after",
      });
      for (const [tenant, id] of [
        ["bob", "r41"],
        ["ann", "r42"],
      ] as const)
        expect(await store.page(responseKey(tenant, id), page, free)).toEqual({ type: "missing" });
      await store.drop(responseKey("ann", "r3"));
      expect(await store.page(responseKey("ann", "r41"), page, free)).toEqual({ type: "missing" });
      await store.close();
    });

    it("weighs what is to be loaded, and loads nothing for which there is no room", async () => {
      const { store } = await opened();
      const plan = { json: () => `{"object":"plan","a":"${"p".repeat(2000)}"}`, bytes: 2000 };
      const input = [item("a-in", "i".repeat(10_000))];
      const response = { input, json: `{"id":"a","text":"${"r".repeat(500)}"}` };
      await store.append(answer("a", { plan, response, items: [item("a-out", "o".repeat(3000))] }));
      await store.create({
        tenant: "ann",
        id: "conv_1",
        json: `{"id":"${"c".repeat(700)}"}`,
        items: input,
      });
      const list = { prefix: "conv_", order: "asc", limit: 5, maxBytes: 1_000_000 } as const;
      const loads: Record<string, readonly [number, (weigh: Weigh) => Promise<unknown>]> = {
        items: [
          10_000,
          (weigh) =>
            store.find({ of: "items", tenant: "ann", ids: ["a-in"], maxBytes: 1_000_000 }, weigh),
        ],
        plan: [2000, (weigh) => store.entry(planKey("ann", "a"), weigh)],
        head: [500, (weigh) => store.head(responseKey("ann", "a"), weigh)],
        response: [3500, (weigh) => store.entry(responseKey("ann", "a"), weigh)],
        chain: [13_500, (weigh) => store.load(responseKey("ann", "a"), 1_000_000, weigh)],
        conversation: [700, (weigh) => store.head(listKey("ann", "conv_1"), weigh)],
        "its items": [10_000, (weigh) => store.load(listKey("ann", "conv_1"), 1_000_000, weigh)],
        "one item": [10_000, (weigh) => store.item(listKey("ann", "conv_1"), "a-in", weigh)],
        conversations: [700, (weigh) => store.lists("ann", list, weigh)],
      };
      for (const [name, [least, load]] of Object.entries(loads)) {
        let weighed = 0;
        await load((bytes) => void (weighed += bytes));
        expect([name, weighed >= least && weighed < least + 200]).toEqual([name, true]);
        const full = (): never => {
          throw new Error(`full: ${name}`);
        };
        await expect(load(full)).rejects.toThrow(`full: ${name}`);
      }
      await store.close();
    });

    it("gives no part of a chain that has a gap or is too large", async () => {
      const { store } = await opened();
      await store.append(answer("a"));
      await store.append(answer("b", { previous: "a" }));
      await store.append(answer("c", { previous: "b" }));
      const bytes = ["a", "b", "c"]
        .flatMap((id) => [item(`${id}-in`), item(`${id}-out`)])
        .reduce((sum, { json }) => sum + json.length, 0);
      expect((await store.load(responseKey("ann", "c"), bytes, free)).type).toBe("found");
      expect((await store.load(responseKey("ann", "c"), bytes - 1, free)).type).toBe("too-large");
      await store.drop(responseKey("ann", "a"));
      expect(await chainOf(store, "c")).toBe("missing a");
      await store.close();
    });

    it("ends a chain whose ids come again", async () => {
      const { store } = await opened();
      await store.append(answer("a"));
      await store.append(answer("a", { previous: "a" }));
      expect(await chainOf(store, "a")).toBe("missing a");
      await store.close();
    });

    it("finds no more items than may be loaded", async () => {
      const { store } = await opened();
      await store.append(turn({ items: [item("a"), item("b")] }));
      const bytes = item("a").json.length;
      expect(
        (await store.find({ of: "items", tenant: "ann", ids: ["a", "a"], maxBytes: bytes }, free))
          .type,
      ).toBe("found");
      expect(
        (await store.find({ of: "items", tenant: "ann", ids: ["a", "b"], maxBytes: bytes }, free))
          .type,
      ).toBe("too-large");
      await store.close();
    });

    it("deletes a response with its items and its plan, and leaves the sums", async () => {
      const { store } = await opened();
      const plan = { json: () => '{"object":"plan"}', bytes: 10 };
      await store.append(answer("a", { plan }));
      await store.append(answer("a", { plan }));
      await store.append(answer("b", { plan }));
      expect(await store.drop(responseKey("ann", "a"))).toBe(true);
      expect(await store.drop(responseKey("ann", "a"))).toBe(false);
      expect(await store.entry(responseKey("ann", "a"), free)).toBeUndefined();
      expect(await idsFound(store, "ann", "a-in", "a-out", "b-out")).toEqual(["b-out"]);
      expect(await planOf(store, "ann", "a")).toBeUndefined();
      expect(await planOf(store, "ann", "b")).toEqual({ object: "plan" });
      expect(await requests(store, "ann")).toEqual([3]);
      await store.close();
    });

    it("deletes what is still queued, so that no later write brings it back", async () => {
      const { store } = await opened();
      await store.create({ tenant: "ann", id: "conv", json: "{}", items: [] });
      const lease = { id: "conv", owner: "one" };
      await store.leases.take({ tenant: "ann", ...lease, ms: HOUR_MS });
      const list = { json: "{}", items: [item("c-in")] };
      const conversation = { ...lease, items: [item("d-in")] };
      const saving = [
        store.append(answer("a")),
        store.append(answer("b", { previous: "a" })),
        store.append(turn({ answerId: "c", list, notes: [item("thoughts")] })),
        store.append(turn({ answerId: "d", conversation, items: [item("d-out")] })),
      ];
      const keys = [responseKey("ann", "a"), responseKey("ann", "b"), listKey("ann", "c")];
      const dropping = [...keys, listKey("ann", "conv")].map((key) => store.drop(key));
      expect(await Promise.all(dropping)).toEqual([true, true, true, true]);
      for (const saved of saving) await saved;
      for (const key of keys) expect(await store.head(key, free)).toBeUndefined();
      expect(await idsFound(store, "ann", "a-in", "b-out", "d-out")).toEqual([]);
      expect(await store.drop(listKey("ann", "conv"))).toBe(false);
      await store.close();
    });

    it("keeps what responses share until none of them is left, for each tenant by itself", async () => {
      const { store } = await opened();
      const shared = { text: JSON.stringify(["\u00e4 tool ".repeat(500)]) };
      const sharing = (id: string, tenant = "ann", text = shared): StoredTurn => {
        const made = answer(id, { tenant });
        return { ...made, ...(made.response && { response: { ...made.response, shared: text } }) };
      };
      await store.append(sharing("a"));
      await store.append(sharing("b"));
      await store.append(sharing("a", "bob"));
      await store.append(sharing("c", "ann", { text: '["other"]' }));
      await store.drop(responseKey("ann", "a"));
      await store.drop(responseKey("bob", "a"));
      expect((await store.entry(responseKey("ann", "b"), free))?.shared).toEqual(shared);
      expect((await store.entry(responseKey("ann", "c"), free))?.shared).toEqual({
        text: '["other"]',
      });
      expect(await store.entry(responseKey("bob", "a"), free)).toBeUndefined();
      await store.append(sharing("d", "bob"));
      expect((await store.entry(responseKey("bob", "d"), free))?.shared).toEqual(shared);
      await store.close();
    });

    it("keeps what plans share, with each other and with responses, until none of them is left", async () => {
      const { store } = await opened();
      const shared = { text: JSON.stringify(["t\u00f6ol ".repeat(500)]) };
      const plan = (name: string): StoredPlan => {
        const head = `{"name":"${name}","tools":`;
        return { json: () => `${head}${shared.text}}`, parts: () => ({ head, shared }), bytes: 10 };
      };
      const whole = (name: string) => ({ name, tools: JSON.parse(shared.text) as unknown });
      const response = { input: [], json: "{}", shared };
      for (const id of ["a", "b"]) await store.append(answer(id, { plan: plan(id) }));
      await store.append(answer("c", { plan: plan("c"), response }));
      await store.append(answer("a", { tenant: "bob", plan: plan("bob's") }));
      expect(await planOf(store, "ann", "a")).toEqual(whole("a"));
      for (const id of ["a", "c"]) await store.drop(responseKey("ann", id));
      expect(await planOf(store, "ann", "a")).toBeUndefined();
      expect(await planOf(store, "ann", "b")).toEqual(whole("b"));
      await store.drop(responseKey("ann", "b"));
      expect(await planOf(store, "bob", "a")).toEqual(whole("bob's"));
      await store.append(answer("d", { plan: plan("d") }));
      expect(await planOf(store, "ann", "d")).toEqual(whole("d"));
      await store.close();
    });

    it("adds to a conversation what a turn brings to it, and stores the turn where that is gone", async () => {
      const { store } = await opened();
      const fresh = { tenant: "ann", id: "conv_1", json: "{}", items: [item("first")] };
      await store.create(fresh);
      const owner = "one";
      await store.leases.take({ tenant: "ann", id: "conv_1", owner, ms: HOUR_MS });
      const entry = (id: string, name: string) => ({
        id,
        owner,
        items: [item(`${name}-1`), item(name)],
      });
      await Promise.all([
        store.append(answer("a", { conversation: entry("conv_1", "a") })),
        store.append(turn({ conversation: entry("conv_1", "b") })),
        store.append(answer("c", { conversation: entry("conv_gone", "c") })),
        store.append(answer("d", { tenant: "bob", conversation: entry("conv_1", "d") })),
      ]);
      expect(await idsHeld(store, "conv_1")).toEqual(["first", "a-1", "a", "b-1", "b"]);
      expect((await store.entry(responseKey("ann", "c"), free))?.id).toBe("c");
      expect((await store.entry(responseKey("bob", "d"), free))?.id).toBe("d");
      await store.close();
    });

    it("writes no turn whose conversation another has had since, and all others of its batch", async () => {
      const { store } = await opened();
      const id = "conv_1";
      await store.create({ tenant: "ann", id, json: "{}", items: [] });
      const lease = { tenant: "ann", id, owner: "two" };
      await store.leases.take({ ...lease, ms: HOUR_MS });
      const save = async (name: string, owner?: string): Promise<string> => {
        const entry = owner !== undefined && { conversation: { id, owner, items: [item(name)] } };
        const saving = (async () => store.append(answer(name, { ...entry })))();
        return saving.then(
          () => "saved",
          (error: Fault) => error.code,
        );
      };
      const saved = await Promise.all([save("a"), save("b", "one"), save("c", "two")]);
      expect(saved).toEqual(["saved", "store.superseded", "saved"]);
      await store.leases.release(lease);
      expect(await save("d", "two")).toBe("store.superseded");
      expect(await idsHeld(store, id)).toEqual(["c"]);
      await store.close();
    });

    it("keeps no response of a turn that is not to be stored", async () => {
      const { store } = await opened();
      await store.append(turn({ answerId: "a" }));
      expect(await store.entry(responseKey("ann", "a"), free)).toBeUndefined();
      expect(await chainOf(store, "a")).toBe("missing a");
      await store.close();
    });

    it("knows nothing that has expired", async () => {
      const { store, clock } = await opened();
      const plan = { json: () => '{"object":"plan"}', bytes: 10 };
      const usage = undefined;
      await store.append(answer("a", { plan, usage }));
      await age(store, clock, HOUR_MS / 2);
      await store.append(answer("b", { plan, previous: "a", usage }));
      await age(store, clock, HOUR_MS / 2 - 10_000);
      expect(await chainOf(store, "b")).toBe("a b");
      await age(store, clock, 20_000);
      // What is stored now shows that the clock was not set.
      await store.append(answer("c", { usage }));
      store.start();
      await expect.poll(() => store.entry(responseKey("ann", "a"), free), soon).toBeUndefined();
      expect(await planOf(store, "ann", "a")).toBeUndefined();
      expect(await idsFound(store, "ann", "a-out", "b-out")).toEqual(["b-out"]);
      expect(await chainOf(store, "b")).toBe("missing a");
      await store.close();
    });

    it("leases an id to one owner at a time, who may write under it until another has it", async () => {
      const { store, clock } = await opened();
      const { leases } = store;
      const term = (owner: string, tenant = "ann", ms = HOUR_MS / 2) => ({
        tenant,
        id: "a",
        owner,
        ms,
      });
      const save = (name: string, owner: string) => {
        const turn = answer("a", { items: [item(name)], lease: { id: "a", owner } });
        return Promise.resolve().then(() => store.append(turn));
      };
      const refused = { code: "store.superseded" };
      expect(await leases.renew(term("one"))).toBe("lost");
      await expect(save("too soon", "one")).rejects.toMatchObject(refused);
      expect(await leases.take(term("one"))).toBe(true);
      expect(await leases.take(term("two"))).toBe(false);
      expect(await leases.take(term("one"))).toBe(true);
      expect(await leases.take(term("two", "bob"))).toBe(true);
      await leases.askToStop({ tenant: "bob", id: "a" });
      expect(await leases.renew(term("two", "bob"))).toBe("asked");
      await leases.release(term("two"));
      expect(await leases.isHeld(term("one"))).toBe(true);
      await save("first", "one");
      expect(await leases.renew(term("one", "ann", 1))).toBe("held");
      // A lease in a database ends by the clock of that.
      clock.move(2);
      await expect.poll(() => leases.isHeld(term("one"))).toBe(false);
      await save("later", "one");
      const tries = await Promise.all(
        ["b", "c", "d", "e"].map((owner) => leases.take(term(owner))),
      );
      expect(tries.filter(Boolean)).toHaveLength(1);
      expect(await leases.renew(term("one"))).toBe("lost");
      const late = save("too late", "one");
      const usage = store.append(turn({ answerId: "other", items: [item("other")] }));
      await expect(late).rejects.toMatchObject(refused);
      await usage;
      expect(await idsFound(store, "ann", "first", "later", "too late", "other")).toEqual([
        "first",
        "later",
        "other",
      ]);
      await store.close();
    });

    it("deletes thoughts and seals with their answer, and what a turn left in a conversation with that", async () => {
      const { store } = await opened();
      const left = (name: string): Partial<StoredTurn> => ({
        notes: [item(`thoughts:${name}`), seal(`seal ${name}`)],
        plan: { json: () => "{}", bytes: 10 },
      });
      for (const id of ["conv_1", "chat_1"])
        await store.create({ tenant: "ann", id, json: "{}", items: [] });
      await store.leases.take({ tenant: "ann", id: "conv_1", owner: "one", ms: HOUR_MS });
      const conversation = { id: "conv_1", owner: "one", items: [item("said")] };
      await store.append(answer("a", left("a")));
      await store.append(turn({ answerId: "b", conversation, ...left("b") }));
      await store.append(turn({ answerId: "chat_1", ...left("chat_1") }));
      const names = ["a", "b", "chat_1"];
      const seen = async (): Promise<unknown> => [
        await notesFound(store, "ann", "thoughts:a", "thoughts:b", "thoughts:chat_1"),
        await notesFound(store, "ann", ...names.map((name) => `seal ${name}`)),
        (await Promise.all(names.map((name) => store.entry(planKey("ann", name), free)))).map(
          Boolean,
        ),
      ];
      const first = ["thoughts:a", "thoughts:b", "thoughts:chat_1"];
      expect(await seen()).toEqual([
        first,
        ["seal a", "seal b", "seal chat_1"],
        [true, true, true],
      ]);
      expect(await store.drop(responseKey("ann", "a"))).toBe(true);
      expect(await store.drop(listKey("ann", "chat_1"))).toBe(true);
      expect(await seen()).toEqual([["thoughts:b"], ["seal b"], [false, true, false]]);
      expect(await store.drop(listKey("ann", "conv_1"))).toBe(true);
      expect(await seen()).toEqual([[], [], [false, false, false]]);
      // Its late turn leaves nothing either.
      await store.append(turn({ answerId: "c", conversation, ...left("b") }));
      expect(await notesFound(store, "ann", "seal b")).toEqual([]);
      expect(await store.entry(planKey("ann", "c"), free)).toBeUndefined();
      await store.close();
    });

    it("lets nobody write under the lease of a response that was deleted", async () => {
      const { store } = await opened();
      const lease = { id: "a", owner: "one" };
      await store.leases.take({ tenant: "ann", ...lease, ms: HOUR_MS });
      await store.append(answer("a", { lease }));
      expect(await store.drop(responseKey("ann", "a"))).toBe(true);
      const late = turn({ answerId: "a", items: [item("stream:a:0")], lease });
      for (const again of [answer("a", { lease }), late])
        await expect(Promise.resolve().then(() => store.append(again))).rejects.toMatchObject({
          code: "store.superseded",
        });
      expect(await store.entry(responseKey("ann", "a"), free)).toBeUndefined();
      expect(await idsFound(store, "ann", "a-in", "a-out", "stream:a:0")).toEqual([]);
      await store.close();
    });

    it("drops the oldest where there is too much, and only of the tenant that has most", async () => {
      const { store } = await opened({ maxBytes: 1_000_000, maxAgeMs: HOUR_MS });
      const long = "x".repeat(10_000);
      await store.append(answer("mine", { tenant: "bob" }));
      for (let at = 0; at < 200; at++)
        await store.append(answer(`${at}`, { items: [item(`item ${at}`, long)] }));
      await expect.poll(() => store.entry(responseKey("ann", "0"), free), soon).toBeUndefined();
      expect((await store.entry(responseKey("ann", "199"), free))?.id).toBe("199");
      expect((await store.entry(responseKey("bob", "mine"), free))?.id).toBe("mine");
      await store.close();
    });

    it("drops plans by what they weigh, and none of the answers for them", async () => {
      const { store } = await opened({ maxBytes: 1_000_000, maxAgeMs: HOUR_MS });
      await store.append(answer("first"));
      for (let at = 0; at < 20; at++) {
        const plan = { json: () => JSON.stringify({ at }), bytes: 100_000 };
        await store.append(turn({ answerId: `${at}`, plan }));
      }
      const huge = { json: () => "{}", bytes: 30_000_000 };
      await store.append(turn({ answerId: "huge", plan: huge }));
      expect(await planOf(store, "ann", "huge")).toBeUndefined();
      await expect.poll(() => planOf(store, "ann", "0"), soon).toBeUndefined();
      expect(await planOf(store, "ann", "19")).toEqual({ at: 19 });
      expect((await store.entry(responseKey("ann", "first"), free))?.id).toBe("first");
      await store.close();
    });
  });
}
