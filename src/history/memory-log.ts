/**
 * A log in the memory of the process, with bounded bytes. The texts of entries lie side by side in
 * blocks of bytes outside the heap of JavaScript (`memory-shelf.ts`): as objects, 24 MB of them
 * would be marked by each collection of garbage, and V8 lets the heap grow with what is alive.
 */

import { append } from "../turn/append.ts";
import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import { utf8Length } from "../turn/utf8-length.ts";
import { MemoryLeases } from "./leases.ts";
import {
  itemsTexts,
  listKey,
  PLANS_SHARE,
  type EntryHead,
  type FoundChain,
  type FoundItems,
  type FoundList,
  type FoundPage,
  type ItemsQuery,
  type Key,
  type EntryKind,
  type ListQuery,
  type Log,
  type NewList,
  type PageQuery,
  type Retention,
  type StoredEntry,
  type StoredItem,
  type StoredTurn,
  type Weigh,
} from "./log.ts";
import {
  MemoryEntry,
  MemoryShelf,
  type EntryContent,
  type NewEntry,
  type MemoryKind,
} from "./memory-shelf.ts";
import { UsageSums, type UsageRow } from "./usage-sums.ts";

const DAY_MS = 86_400_000;
const memoryRetention: Retention = { maxBytes: 24 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };
/** The share of lists in the retention. */
const LISTS_SHARE = 1 / 6;
/** The number of sweeps for expired entries in the time that an entry is kept. */
const SWEEPS = 32;

/** The entries of one tenant, by id. */
type Holding = {
  /** Lists are in the order of their creation. */
  readonly byId: Readonly<Record<EntryKind, Map<string, MemoryEntry>>>;
  /** By the id of an item, or by its group. */
  readonly items: Map<string, MemoryEntry>;
  readonly notes: Map<string, MemoryEntry>;
  /** The number of entries. */
  size: number;
};

/** Writes complete within their call. Ages are measured by the monotonic clock. */
export class MemoryLog implements Log {
  readonly leases: MemoryLeases;
  readonly #secrets = new Map<string, string>();
  readonly #clock: Pick<Clock, "now">;
  readonly #maxAgeMs: number;
  readonly #tenants = new Map<Tenant, Holding>();
  readonly #usage = new UsageSums();
  readonly #shelves: Readonly<Record<MemoryKind, MemoryShelf>>;
  #made = 0;
  #sweptAt: number;

  constructor(clock: Pick<Clock, "now">, { maxBytes, maxAgeMs } = memoryRetention) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#sweptAt = clock.now();
    this.leases = new MemoryLeases(clock);
    const answers = new MemoryShelf(maxBytes * (1 - PLANS_SHARE - LISTS_SHARE));
    const list = new MemoryShelf(maxBytes * LISTS_SHARE);
    const plan = new MemoryShelf(maxBytes * PLANS_SHARE);
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
    const { plan } = turn;
    if (id !== undefined && plan !== undefined)
      this.#put({ tenant, kind: "plan", id, owner, plan });
    if (response !== undefined || items.length > 0 || notes.length > 0) {
      const kind = response === undefined || id === undefined ? "rest" : "response";
      this.#put({ tenant, kind, id, owner, ...response, items, notes });
    }
    if (turn.list !== undefined && id !== undefined)
      this.#put({ ...turn.list, tenant, kind: "list", id, owner: id });
    if (list !== undefined && conversation !== undefined) this.#addItems(list, conversation.items);
    return undefined;
  }

  async create({ tenant, id, json, items }: NewList): Promise<void> {
    this.#put({ tenant, kind: "list", id, owner: id, json, items });
  }

  async head(key: Key, weigh: Weigh): Promise<EntryHead | undefined> {
    const entry = this.#find(key);
    if (entry === undefined) return undefined;
    const head = headOf(entry);
    weigh(head.json.length);
    return head;
  }

  async entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined> {
    const found = this.#find(key);
    if (found === undefined) return undefined;
    const { shared, plan } = found;
    const content = found.read();
    const { items, json } = content;
    weigh((plan?.bytes ?? json.length) + lengthOf(items) + (shared?.text.length ?? 0));
    const text = shared !== undefined && { shared };
    const head = headOf(found, content);
    return { ...head, items, ...text, ...(plan !== undefined && { json: plan.json() }) };
  }

  async input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]> {
    const input = this.#find(key)?.read().input ?? none;
    weigh(lengthOf(input));
    return input;
  }

  async load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const chain = this.#chainOf(key);
    const last = chain.at(-1);
    if (last === undefined) return { type: "missing", id: key.id };
    const items: StoredItem[] = [];
    let bytes = 0;
    for (const entry of chain) {
      const { input, items: answer } = entry.read();
      for (const list of [input, answer])
        for (const item of list) {
          bytes += utf8Length(item.json);
          items.push(item);
        }
      if (bytes > maxBytes) return { type: "too-large" };
    }
    const gap = chain[0]?.previous;
    if (gap !== undefined) return { type: "missing", id: gap };
    const head = headOf(last);
    weigh(bytes + (key.kind === "response" ? head.json.length : 0));
    return { type: "found", texts: itemsTexts(items), bytes, last: head };
  }

  async page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const chain = this.#chainOf(key);
    const last = chain.at(-1);
    if (last === undefined || chain[0]?.previous !== undefined) return { type: "missing" };
    const all: StoredItem[] = [];
    for (const entry of chain) {
      const { input, items } = entry.read();
      append(all, input);
      if (entry !== last || last.kind !== "response") append(all, items);
    }
    return pageOf(all, query, weigh);
  }

  async item(key: Key, id: string, weigh: Weigh): Promise<string | undefined> {
    const found = this.#find(key)
      ?.read()
      .items.find((one) => one.id === id);
    weigh(found?.json.length ?? 0);
    return found?.json;
  }

  async find({ tenant, of, ids, maxBytes }: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const held = this.#tenants.get(tenant)?.[of];
    const known = new Map<MemoryEntry, ReadonlyMap<string, StoredItem>>();
    const items = new Map<string, StoredItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const entry = held?.get(id) ?? (of === "items" ? held?.get(groupOf(id) ?? id) : undefined);
      if (entry === undefined || !this.#isKept(entry)) continue;
      let all = known.get(entry);
      if (all === undefined) {
        const { input, items: answer, notes } = entry.read();
        all = new Map((of === "notes" ? notes : [...input, ...answer]).map((one) => [one.id, one]));
        known.set(entry, all);
      }
      const item = all.get(id);
      if (item === undefined) continue;
      bytes += utf8Length(item.json);
      if (bytes > maxBytes) return { type: "too-large" };
      items.set(id, item);
    }
    weigh(bytes);
    return { type: "found", items };
  }

  async lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { prefix, order, after, limit, maxBytes } = query;
    const last = after === undefined ? undefined : this.#find(listKey(tenant, after));
    if (after !== undefined && last === undefined) return { type: "missing" };
    const all = [...(this.#tenants.get(tenant)?.byId.list.values() ?? [])];
    if (order === "desc") all.reverse();
    const list: EntryHead[] = [];
    let bytes = 0;
    let isWhole = true;
    for (const entry of all.slice(last === undefined ? 0 : all.indexOf(last) + 1)) {
      if (entry.id?.startsWith(prefix) !== true || !this.#isKept(entry)) continue;
      isWhole = list.length < limit && bytes < maxBytes;
      if (!isWhole) break;
      const head = headOf(entry);
      bytes += head.json.length;
      list.push(head);
    }
    weigh(bytes);
    return { type: "found", list, isWhole };
  }

  async setHead(key: Key, json: string): Promise<boolean> {
    return this.#change(this.#find(key), (content) => ({ ...content, json }));
  }

  async extend(key: Key, items: readonly StoredItem[]): Promise<boolean> {
    return this.#addItems(this.#find(key), items);
  }

  async drop({ tenant, kind, id }: Key): Promise<boolean> {
    if (this.#find({ tenant, kind, id }) === undefined) return false;
    this.leases.drop({ tenant, id });
    const others = kind === "list" ? "response" : "list";
    // Deletions are rare, so no index leads from an entry to those that belong to it.
    for (const shelf of new Set(Object.values(this.#shelves)))
      for (const entry of shelf.entriesOf(tenant))
        if (entry.owner === id && entry.kind !== others) this.#remove(entry);
    return true;
  }

  async dropItem(key: Key, id: string): Promise<boolean> {
    const entry = this.#find(key);
    const items = entry?.read().items;
    const left = items?.filter((one) => one.id !== id);
    if (left === undefined || left.length === items?.length) return false;
    return this.#change(entry, (content) => ({ ...content, items: left }));
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

  #find({ tenant, kind, id }: Key): MemoryEntry | undefined {
    const entry = this.#tenants.get(tenant)?.byId[kind].get(id);
    return entry !== undefined && this.#isKept(entry) ? entry : undefined;
  }

  #isKept({ at }: MemoryEntry): boolean {
    return this.#clock.now() - at <= this.#maxAgeMs;
  }

  /**
   * An entry with all that it continues, oldest first. It has a gap if the oldest continues another.
   * A response with the id of the parent that was made after the child is not its parent.
   */
  #chainOf(key: Key): readonly MemoryEntry[] {
    const chain: MemoryEntry[] = [];
    let next = this.#find(key);
    while (next !== undefined) {
      chain.push(next);
      const { previous: id, tenant, order } = next;
      const parent = id === undefined ? undefined : this.#find({ tenant, kind: "response", id });
      next = parent !== undefined && parent.order < order ? parent : undefined;
    }
    return chain.toReversed();
  }

  #put(given: NewEntry): void {
    const { tenant, kind, id, input = none, items = none, notes = none } = given;
    const now = this.#clock.now();
    if (now - this.#sweptAt > this.#maxAgeMs / SWEEPS) this.#dropExpired(now);
    const made = new MemoryEntry(given, this.#made++);
    made.write(given, now);
    const shelf = this.#shelves[kind];
    if (!shelf.add(made)) return;
    if (notes.length > 0) made.noteNames = notes.map((note) => note.id);
    if (kind !== "list" && input.length + items.length > 0) made.names = itemNames(input, items);
    let held = this.#tenants.get(tenant);
    if (held === undefined) this.#tenants.set(tenant, (held = newHolding()));
    held.size++;
    if (kind !== "rest" && id !== undefined) this.#point(held.byId[kind], id, made);
    for (const name of made.noteNames) this.#point(held.notes, name, made);
    for (const name of made.names) this.#point(held.items, name, made);
    shelf.empty(this.#remove);
  }

  /** Lets a name find an entry. Removes the one that it found before if no other name finds that. */
  #point(names: Map<string, MemoryEntry>, name: string, made: MemoryEntry): void {
    const before = names.get(name);
    if (before === made) return;
    names.delete(name);
    names.set(name, made);
    made.uses++;
    if (before !== undefined && --before.uses === 0) this.#remove(before);
  }

  #addItems(entry: MemoryEntry | undefined, items: readonly StoredItem[]): boolean {
    return this.#change(entry, (content) => ({ ...content, items: [...content.items, ...items] }));
  }

  /** Writes a list again, at the end of its shelf. */
  #change(entry: MemoryEntry | undefined, edit: (content: EntryContent) => EntryContent): boolean {
    if (entry === undefined) return false;
    const shelf = this.#shelves[entry.kind];
    const content = edit(entry.read());
    shelf.remove(entry);
    entry.write(content, this.#clock.now());
    if (!shelf.add(entry)) this.#remove(entry);
    shelf.empty(this.#remove);
    return true;
  }

  readonly #remove = (entry: MemoryEntry): void => {
    const { tenant, kind, id, names, noteNames } = entry;
    const held = this.#tenants.get(tenant);
    if (held !== undefined && entry.uses > 0) {
      if (kind !== "rest" && id !== undefined) unname(held.byId[kind], id, entry);
      for (const name of noteNames) unname(held.notes, name, entry);
      for (const name of names) unname(held.items, name, entry);
    }
    if (held !== undefined && --held.size === 0) this.#tenants.delete(tenant);
    this.#shelves[kind].remove(entry);
  };

  #dropExpired(now: number): void {
    this.#sweptAt = now;
    for (const shelf of new Set(Object.values(this.#shelves)))
      shelf.expire(now - this.#maxAgeMs, this.#remove);
  }
}

const none: readonly StoredItem[] = [];

function unname(names: Map<string, MemoryEntry>, name: string, entry: MemoryEntry): void {
  if (names.get(name) === entry) names.delete(name);
}

const newHolding = (): Holding => ({
  byId: { response: new Map(), list: new Map(), plan: new Map() },
  items: new Map(),
  notes: new Map(),
  size: 0,
});

const headOf = (
  entry: MemoryEntry,
  { json, origin }: Pick<EntryContent, "json" | "origin"> = entry.read(),
): EntryHead => ({
  id: entry.id ?? "",
  previous: entry.previous,
  json,
  ...(origin !== undefined && { origin }),
});

/** The keys of items in the maps. All items of a group share one key. */
function itemNames(input: readonly StoredItem[], items: readonly StoredItem[]): readonly string[] {
  const names: string[] = [];
  for (const { id, group } of input) {
    const name = group ?? id;
    if (name !== names.at(-1)) names.push(name);
  }
  for (const { id } of items) names.push(id);
  return names;
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

function lengthOf(items: readonly StoredItem[]): number {
  let length = 0;
  for (const { json } of items) length += json.length;
  return length;
}
