import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import { utf8Length } from "../turn/utf8-length.ts";
import { MemoryLeases } from "./leases.ts";
import {
  itemsTexts,
  KIND_LENGTH,
  listKey,
  PLANS_SHARE,
  type EntryHead,
  type FoundChain,
  type FoundItems,
  type FoundList,
  type FoundPage,
  type ItemsQuery,
  type Key,
  type Kind,
  type ListQuery,
  type Log,
  type NewList,
  type PageQuery,
  type Retention,
  type StoredEntry,
  type StoredItem,
  type StoredPlan,
  type StoredTurn,
  type Weigh,
} from "./log.ts";
import { InOrder, Shelf } from "./memory-shelf.ts";
import { usageSums, type UsageRow } from "./usage-sums.ts";

const DAY_MS = 86_400_000;
const memoryRetention: Retention = { maxBytes: 24 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };
/** The share of lists in what may be kept. */
const LISTS_SHARE = 1 / 6;
/** What an entry or an item takes beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;
/** How often in the time that entries are kept the expired ones are looked for. */
const SWEEPS = 32;

type Kept = {
  readonly tenant: Tenant;
  /** `rest` is found by its items and notes alone. */
  readonly kind: Kind | "rest";
  readonly id: string | undefined;
  /** The id that it is deleted with. */
  readonly owner: string | undefined;
  readonly plan: StoredPlan | undefined;
  readonly previous: string | undefined;
  readonly origin: string | undefined;
  readonly shared: SharedText | undefined;
  readonly input: readonly StoredItem[];
  readonly notes: readonly StoredItem[];
  /** Its place among all, by when it was made. */
  readonly order: number;
  json: string;
  items: readonly StoredItem[];
  /** The JSON of its items in UTF-8, once that was asked for. */
  itemBytes: number | undefined;
  bytes: number;
  /** When it was last written to. */
  at: number;
  /** The response that it continues. */
  parent: Kept | undefined;
  /** It was dropped, or a later response has its id. An entry that continues it must not keep what it continues itself. */
  isGone: boolean;
};

/** What one tenant has, by id. */
type Holding = {
  readonly byId: Readonly<Record<Kind, Map<string, Kept>>>;
  /** By the id of an item, or by its group. */
  readonly items: Map<string, Kept>;
  readonly notes: Map<string, Kept>;
  readonly byOwner: Map<string, Set<Kept>>;
  /** Lists by how their ids begin, in the order in which they were made. */
  readonly lists: Map<string, InOrder<Kept>>;
};

type New = Partial<Omit<Kept, "tenant" | "kind">> & Pick<Kept, "tenant" | "kind">;

/**
 * A log that lives as long as the process, in maps that are bounded. A write is
 * over when its call returns. Ages go by the clock of the process, which is never set.
 */
export class MemoryLog implements Log {
  readonly leases: MemoryLeases;
  readonly #secrets = new Map<string, string>();
  readonly #clock: Pick<Clock, "now">;
  readonly #maxAgeMs: number;
  readonly #tenants = new Map<Tenant, Holding>();
  readonly #usage = usageSums();
  readonly #shelves: Readonly<Record<Kept["kind"], Shelf<Kept>>>;
  #made = 0;
  #sweptAt: number;

  constructor(clock: Pick<Clock, "now">, { maxBytes, maxAgeMs } = memoryRetention) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#sweptAt = clock.now();
    this.leases = new MemoryLeases(clock);
    const answers = new Shelf<Kept>(maxBytes * (1 - PLANS_SHARE - LISTS_SHARE));
    const list = new Shelf<Kept>(maxBytes * LISTS_SHARE);
    const plan = new Shelf<Kept>(maxBytes * PLANS_SHARE);
    this.#shelves = { response: answers, rest: answers, list, plan };
  }

  start(): void {}

  trouble(): undefined {}

  append(turn: StoredTurn): Promise<void> | undefined {
    const { tenant, answerId: id, response, conversation, lease, items, notes = none } = turn;
    if (lease !== undefined) this.leases.check(tenant, lease);
    const list = conversation && this.#find(listKey(tenant, conversation.id));
    if (conversation !== undefined && list !== undefined) this.leases.check(tenant, conversation);
    const keptFor = response === undefined ? conversation?.id : undefined;
    if (turn.usage !== undefined) this.#usage.add(tenant, turn.at, turn.usage);
    if (keptFor !== undefined && list === undefined) return undefined;
    const owner = keptFor ?? id;
    if (id !== undefined && turn.plan !== undefined)
      this.#put({ tenant, kind: "plan", id, owner, plan: turn.plan });
    if (response !== undefined || items.length > 0 || notes.length > 0) {
      const kind = response === undefined || id === undefined ? "rest" : "response";
      this.#put({ tenant, kind, id, owner, ...response, items, notes });
    }
    if (turn.list !== undefined && id !== undefined)
      this.#put({ ...turn.list, tenant, kind: "list", id, owner: id });
    if (list !== undefined) this.#change(list, { items: conversation?.items ?? none });
    return undefined;
  }

  async create({ tenant, id, json, items }: NewList): Promise<void> {
    this.#put({ tenant, kind: "list", id, owner: id, json, items });
  }

  async head(key: Key, weigh: Weigh): Promise<EntryHead | undefined> {
    const kept = this.#find(key);
    if (kept === undefined) return undefined;
    weigh(kept.json.length);
    return headOf(kept);
  }

  async entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined> {
    const kept = this.#find(key);
    if (kept === undefined) return undefined;
    const { items, shared, plan, json } = kept;
    weigh((plan?.bytes ?? json.length) + lengthOf(items) + (shared?.text.length ?? 0));
    const text = shared !== undefined && { shared };
    return { ...headOf(kept), items, ...text, ...(plan !== undefined && { json: plan.json() }) };
  }

  async input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]> {
    const input = this.#find(key)?.input ?? none;
    weigh(lengthOf(input));
    return input;
  }

  async load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const chain = this.#chainOf(key);
    const last = chain.at(-1);
    if (last === undefined) return { type: "missing", id: key.id };
    let bytes = 0;
    for (const one of chain) bytes += itemBytes(one);
    if (bytes > maxBytes) return { type: "too-large" };
    const gap = this.#gapIn(chain);
    if (gap !== undefined) return { type: "missing", id: gap };
    weigh(bytes + (key.kind === "response" ? last.json.length : 0));
    return { type: "found", texts: itemsTexts(allItems(chain)), bytes, last: headOf(last) };
  }

  async page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const chain = this.#chainOf(key);
    if (chain.length === 0 || this.#gapIn(chain) !== undefined) return { type: "missing" };
    const last = chain.at(-1);
    const all = [...allItems(chain)];
    if (last?.kind === "response") all.length -= last.items.length;
    return pageOf(all, query, weigh);
  }

  async item(key: Key, id: string, weigh: Weigh): Promise<string | undefined> {
    const found = this.#find(key)?.items.find((one) => one.id === id);
    weigh(found?.json.length ?? 0);
    return found?.json;
  }

  async findItems({ tenant, ids, maxBytes }: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const kept = this.#tenants.get(tenant)?.items;
    const of = (id: string): Kept | undefined => kept?.get(id) ?? kept?.get(groupOf(id) ?? id);
    return this.#found(ids, maxBytes, weigh, of, ({ input, items }) => [...input, ...items]);
  }

  async findNotes({ tenant, ids, maxBytes }: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const kept = this.#tenants.get(tenant)?.notes;
    return this.#found(
      ids,
      maxBytes,
      weigh,
      (id) => kept?.get(id),
      ({ notes }) => notes,
    );
  }

  async lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { prefix, order, after, limit, maxBytes } = query;
    const last = after === undefined ? undefined : this.#find(listKey(tenant, after));
    if (after !== undefined && last === undefined) return { type: "missing" };
    const all = this.#tenants.get(tenant)?.lists.get(prefix.slice(0, KIND_LENGTH));
    const list: EntryHead[] = [];
    let bytes = 0;
    let isWhole = true;
    for (const kept of all?.walk(order, last?.order) ?? []) {
      if (kept.id?.startsWith(prefix) !== true || !this.#isKept(kept)) continue;
      isWhole = list.length < limit && bytes < maxBytes;
      if (!isWhole) break;
      bytes += kept.json.length;
      list.push(headOf(kept));
    }
    weigh(bytes);
    return { type: "found", list, isWhole };
  }

  async setHead(key: Key, json: string): Promise<boolean> {
    const kept = this.#find(key);
    if (kept !== undefined) this.#change(kept, { json });
    return kept !== undefined;
  }

  async extend(key: Key, items: readonly StoredItem[]): Promise<boolean> {
    const kept = this.#find(key);
    if (kept !== undefined) this.#change(kept, { items });
    return kept !== undefined;
  }

  async drop({ tenant, kind, id }: Key): Promise<boolean> {
    if (this.#find({ tenant, kind, id }) === undefined) return false;
    this.leases.drop({ tenant, id });
    const others = kind === "list" ? "response" : "list";
    for (const kept of this.#tenants.get(tenant)?.byOwner.get(id) ?? [])
      if (kept.kind !== others) this.#remove(kept);
    return true;
  }

  async dropItem(key: Key, id: string): Promise<boolean> {
    const kept = this.#find(key);
    const items = kept?.items.filter((one) => one.id !== id) ?? none;
    if (kept === undefined || items.length === kept.items.length) return false;
    kept.items = items;
    this.#change(kept, {});
    return true;
  }

  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]> {
    return Promise.resolve(this.#usage.read(tenant, start, end));
  }

  async secret(name: string, made: string): Promise<string> {
    const known = this.#secrets.get(name);
    if (known === undefined) this.#secrets.set(name, made);
    return known ?? made;
  }

  async close(): Promise<void> {}

  #find({ tenant, kind, id }: Key): Kept | undefined {
    const kept = this.#tenants.get(tenant)?.byId[kind].get(id);
    return kept !== undefined && this.#isKept(kept) ? kept : undefined;
  }

  #isKept({ isGone, at }: Kept): boolean {
    return !isGone && this.#clock.now() - at <= this.#maxAgeMs;
  }

  /** An entry with all that it continues, oldest first. */
  #chainOf(key: Key): readonly Kept[] {
    const chain: Kept[] = [];
    for (
      let next = this.#find(key);
      next !== undefined && (chain.length === 0 || this.#isKept(next));
      next = next.parent
    )
      chain.push(next);
    return chain.toReversed();
  }

  /** The id of the response that the oldest of a chain continues, where that is gone. */
  #gapIn([first]: readonly Kept[]): string | undefined {
    const isThere = first?.parent !== undefined && this.#isKept(first.parent);
    return isThere ? undefined : first?.previous;
  }

  #found(
    ids: readonly string[],
    maxBytes: number,
    weigh: Weigh,
    entryOf: (id: string) => Kept | undefined,
    itemsOf: (kept: Kept) => readonly StoredItem[],
  ): FoundItems {
    const known = new Map<Kept, ReadonlyMap<string, StoredItem>>();
    const items = new Map<string, StoredItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const kept = entryOf(id);
      if (kept === undefined || this.#clock.now() - kept.at > this.#maxAgeMs) continue;
      const all = known.get(kept) ?? new Map(itemsOf(kept).map((one) => [one.id, one]));
      known.set(kept, all);
      const item = all.get(id);
      if (item === undefined) continue;
      bytes += utf8Length(item.json);
      if (bytes > maxBytes) return { type: "too-large" };
      items.set(id, item);
    }
    weigh(bytes);
    return { type: "found", items };
  }

  #put(entry: New): void {
    const { tenant, kind, id, owner, previous } = entry;
    const made: Kept = {
      tenant,
      kind,
      id,
      owner,
      plan: entry.plan,
      previous,
      origin: entry.origin,
      shared: entry.shared,
      json: entry.json ?? "",
      input: entry.input ?? none,
      items: entry.items ?? none,
      notes: entry.notes ?? none,
      itemBytes: undefined,
      bytes: 0,
      at: this.#clock.now(),
      order: this.#made++,
      parent:
        previous === undefined ? undefined : this.#find({ tenant, kind: "response", id: previous }),
      isGone: false,
    };
    this.#dropExpired(made.at);
    made.bytes = weightOf(made);
    const shelf = this.#shelves[kind];
    if (!shelf.add(made)) return;
    this.#name(made);
    for (const heavy of shelf.excess()) this.#remove(heavy);
  }

  /** Makes an entry found. */
  #name(made: Kept): void {
    const { tenant, kind, id, owner, input, items, notes } = made;
    const held = this.#tenants.get(tenant) ?? newHolding();
    this.#tenants.set(tenant, held);
    if (owner !== undefined) {
      const owned = held.byOwner.get(owner);
      if (owned === undefined) held.byOwner.set(owner, new Set([made]));
      else owned.add(made);
    }
    for (const note of notes) held.notes.set(note.id, made);
    if (kind !== "list") {
      let last: string | undefined;
      // One key for all items of a group, which mostly are all of them.
      for (const { id: item, group = item } of input) {
        if (group !== last) held.items.set(group, made);
        last = group;
      }
      for (const item of items) held.items.set(item.id, made);
    }
    if (kind === "rest" || id === undefined) return;
    const replaced = held.byId[kind].get(id);
    if (kind === "response" && replaced !== undefined) forget(replaced);
    else if (replaced !== undefined) this.#remove(replaced);
    this.#tenants.set(tenant, held);
    held.byId[kind].set(id, made);
    if (kind !== "list") return;
    const start = id.slice(0, KIND_LENGTH);
    const lists = held.lists.get(start) ?? new InOrder<Kept>();
    held.lists.set(start, lists);
    lists.add(made);
  }

  /** Adds items to a list, or replaces its head. */
  #change(
    kept: Kept,
    { items, json }: { readonly items?: readonly StoredItem[]; readonly json?: string },
  ): void {
    const shelf = this.#shelves[kept.kind];
    shelf.remove(kept);
    if (items !== undefined) kept.items = [...kept.items, ...items];
    if (json !== undefined) kept.json = json;
    kept.itemBytes = undefined;
    kept.bytes = weightOf(kept);
    kept.at = this.#clock.now();
    if (!shelf.add(kept)) this.#remove(kept);
    for (const heavy of shelf.excess()) this.#remove(heavy);
  }

  #remove(kept: Kept): void {
    const { tenant, kind, id, owner = "" } = kept;
    forget(kept);
    this.#shelves[kind].remove(kept);
    const held = this.#tenants.get(tenant);
    if (held === undefined) return;
    const unname = (names: Map<string, Kept>, name: string): void => {
      if (names.get(name) === kept) names.delete(name);
    };
    for (const { id: item, group = item } of kept.input) unname(held.items, group);
    for (const item of kept.items) unname(held.items, item.id);
    for (const note of kept.notes) unname(held.notes, note.id);
    if (kind !== "rest" && id !== undefined) unname(held.byId[kind], id);
    const owned = held.byOwner.get(owner);
    owned?.delete(kept);
    if (owned?.size === 0) held.byOwner.delete(owner);
    const start = id?.slice(0, KIND_LENGTH) ?? "";
    if (kind === "list" && held.lists.get(start)?.dropOne() === 0) held.lists.delete(start);
    if (held.byOwner.size === 0) this.#tenants.delete(tenant);
  }

  #dropExpired(now: number): void {
    if (now - this.#sweptAt <= this.#maxAgeMs / SWEEPS) return;
    this.#sweptAt = now;
    for (const shelf of new Set(Object.values(this.#shelves)))
      for (const kept of shelf.before(now - this.#maxAgeMs)) this.#remove(kept);
  }
}

const none: readonly StoredItem[] = [];

const newHolding = (): Holding => ({
  byId: { response: new Map(), list: new Map(), plan: new Map() },
  items: new Map(),
  notes: new Map(),
  byOwner: new Map(),
  lists: new Map(),
});

function forget(kept: Kept): void {
  kept.isGone = true;
  kept.parent = undefined;
}

const headOf = ({ id = "", previous, json, origin }: Kept): EntryHead => ({
  id,
  previous,
  json,
  ...(origin !== undefined && { origin }),
});

function* allItems(chain: readonly Kept[]): Generator<StoredItem> {
  for (const { input, items } of chain) {
    yield* input;
    yield* items;
  }
}

function itemBytes(kept: Kept): number {
  if (kept.itemBytes !== undefined) return kept.itemBytes;
  let bytes = 0;
  for (const { json } of allItems([kept])) bytes += utf8Length(json);
  kept.itemBytes = bytes;
  return bytes;
}

function lengthOf(items: readonly StoredItem[]): number {
  let length = 0;
  for (const { json } of items) length += json.length;
  return length;
}

/** A character takes up to two bytes. */
function weightOf({ json, plan, input, items, notes }: Kept): number {
  let bytes = ENTRY_BYTES + 2 * json.length + (plan?.bytes ?? 0);
  for (const list of [input, items, notes])
    for (const item of list) bytes += 2 * (item.id.length + item.json.length) + ENTRY_BYTES;
  return bytes;
}

/** One page of a list that is in memory, oldest first. */
export function pageOf(
  list: readonly StoredItem[],
  { limit, order, after }: PageQuery,
  weigh: Weigh,
): FoundPage {
  const all = order === "asc" ? list : list.toReversed();
  const from = after === undefined ? 0 : 1 + all.findIndex(({ id }) => id === after);
  if (from === 0 && after !== undefined) return { type: "unknown-after" };
  const some = all.slice(from, from + limit);
  weigh(lengthOf(some));
  const items = some.map(({ id, json }) => ({ id, json }));
  return { type: "found", items, isWhole: from + limit >= all.length };
}
