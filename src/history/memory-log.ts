/** A log in the memory of the process, with bounded maps. */

import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
import type { SharedText } from "../turn/shared-text.ts";
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
  type StoredPlan,
  type StoredTurn,
  type Weigh,
} from "./log.ts";
import { UsageSums, type UsageRow } from "./usage-sums.ts";

const DAY_MS = 86_400_000;
const memoryRetention: Retention = { maxBytes: 24 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };
/** The share of lists in the retention. */
const LISTS_SHARE = 1 / 6;
/** Bytes of an entry or an item beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;
/** The number of sweeps for expired entries in the time that an entry is kept. */
const SWEEPS = 32;

type Kept = {
  readonly tenant: Tenant;
  /** `rest`: an entry that is found only by its items and notes. */
  readonly kind: EntryKind | "rest";
  readonly id: string | undefined;
  /** The id of the entry whose deletion also deletes this one. */
  readonly owner: string | undefined;
  readonly plan: StoredPlan | undefined;
  readonly previous: string | undefined;
  readonly origin: string | undefined;
  readonly shared: SharedText | undefined;
  readonly input: readonly StoredItem[];
  readonly notes: readonly StoredItem[];
  /** Its number in the order of creation. */
  readonly order: number;
  json: string;
  items: readonly StoredItem[];
  bytes: number;
  /** Time of the last write to it. */
  at: number;
};

/** The entries of one tenant, by id. */
type Holding = {
  /** Lists are in the order of their creation. */
  readonly byId: Readonly<Record<EntryKind, Map<string, Kept>>>;
  /** By the id of an item, or by its group. */
  readonly items: Map<string, Kept>;
  readonly notes: Map<string, Kept>;
  /** Without entries that `byId` has under the id of their owner. */
  readonly byOwner: Map<string, Set<Kept>>;
  /** The number of entries. */
  size: number;
};

const kinds: readonly EntryKind[] = ["response", "list", "plan"];

type NewEntry = Partial<Omit<Kept, "tenant" | "kind">> & Pick<Kept, "tenant" | "kind">;

/** Writes complete within their call. Ages are measured by the monotonic clock. */
export class MemoryLog implements Log {
  readonly leases: MemoryLeases;
  readonly #secrets = new Map<string, string>();
  readonly #clock: Pick<Clock, "now">;
  readonly #maxAgeMs: number;
  readonly #tenants = new Map<Tenant, Holding>();
  readonly #usage = new UsageSums();
  readonly #shelves: Readonly<Record<Kept["kind"], Shelf>>;
  #made = 0;
  #sweptAt: number;

  constructor(clock: Pick<Clock, "now">, { maxBytes, maxAgeMs } = memoryRetention) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#sweptAt = clock.now();
    this.leases = new MemoryLeases(clock);
    const answers = new Shelf(maxBytes * (1 - PLANS_SHARE - LISTS_SHARE));
    const list = new Shelf(maxBytes * LISTS_SHARE);
    const plan = new Shelf(maxBytes * PLANS_SHARE);
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
    if (list !== undefined && conversation !== undefined) this.#addItems(list, conversation.items);
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
    for (const { json } of allItems(chain)) bytes += utf8Length(json);
    if (bytes > maxBytes) return { type: "too-large" };
    const gap = chain[0]?.previous;
    if (gap !== undefined) return { type: "missing", id: gap };
    weigh(bytes + (key.kind === "response" ? last.json.length : 0));
    return { type: "found", texts: itemsTexts(allItems(chain)), bytes, last: headOf(last) };
  }

  async page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const chain = this.#chainOf(key);
    const last = chain.at(-1);
    if (last === undefined || chain[0]?.previous !== undefined) return { type: "missing" };
    const all = [...allItems(chain)];
    if (last.kind === "response") all.length -= last.items.length;
    return pageOf(all, query, weigh);
  }

  async item(key: Key, id: string, weigh: Weigh): Promise<string | undefined> {
    const found = this.#find(key)?.items.find((one) => one.id === id);
    weigh(found?.json.length ?? 0);
    return found?.json;
  }

  async findItems(query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const kept = this.#tenants.get(query.tenant)?.items;
    const entryOf = (id: string): Kept | undefined => kept?.get(id) ?? kept?.get(groupOf(id) ?? id);
    return this.#found(query, weigh, entryOf, (one) => [...allItems([one])]);
  }

  async findNotes(query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const kept = this.#tenants.get(query.tenant)?.notes;
    const entryOf = (id: string): Kept | undefined => kept?.get(id);
    return this.#found(query, weigh, entryOf, ({ notes }) => notes);
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
    for (const kept of all.slice(last === undefined ? 0 : all.indexOf(last) + 1)) {
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
    return this.#change(this.#find(key), (kept) => void (kept.json = json));
  }

  async extend(key: Key, items: readonly StoredItem[]): Promise<boolean> {
    return this.#addItems(this.#find(key), items);
  }

  async drop({ tenant, kind, id }: Key): Promise<boolean> {
    if (this.#find({ tenant, kind, id }) === undefined) return false;
    this.leases.drop({ tenant, id });
    const others = kind === "list" ? "response" : "list";
    const held = this.#tenants.get(tenant);
    for (const kept of held === undefined ? [] : ownedBy(held, id))
      if (kept.kind !== others) this.#remove(kept);
    return true;
  }

  async dropItem(key: Key, id: string): Promise<boolean> {
    const kept = this.#find(key);
    const items = kept?.items.filter((one) => one.id !== id);
    if (items === undefined || items.length === kept?.items.length) return false;
    return this.#change(kept, (one) => void (one.items = items));
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

  #isKept({ at }: Kept): boolean {
    return this.#clock.now() - at <= this.#maxAgeMs;
  }

  /**
   * An entry with all that it continues, oldest first. It has a gap if the oldest continues another.
   * A response with the id of the parent that was made after the child is not its parent.
   */
  #chainOf(key: Key): readonly Kept[] {
    const chain: Kept[] = [];
    let next = this.#find(key);
    while (next !== undefined) {
      chain.push(next);
      const { previous: id, tenant, order } = next;
      const parent = id === undefined ? undefined : this.#find({ tenant, kind: "response", id });
      next = parent !== undefined && parent.order < order ? parent : undefined;
    }
    return chain.toReversed();
  }

  #found(
    { ids, maxBytes }: ItemsQuery,
    weigh: Weigh,
    entryOf: (id: string) => Kept | undefined,
    itemsOf: (kept: Kept) => readonly StoredItem[],
  ): FoundItems {
    const known = new Map<Kept, ReadonlyMap<string, StoredItem>>();
    const items = new Map<string, StoredItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const kept = entryOf(id);
      if (kept === undefined || !this.#isKept(kept)) continue;
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

  #put(entry: NewEntry): void {
    const made: Kept = {
      id: undefined,
      owner: undefined,
      plan: undefined,
      previous: undefined,
      origin: undefined,
      shared: undefined,
      json: "",
      input: none,
      items: none,
      notes: none,
      ...entry,
      bytes: 0,
      at: this.#clock.now(),
      order: this.#made++,
    };
    this.#dropExpired(made.at);
    made.bytes = weightOf(made);
    const shelf = this.#shelves[made.kind];
    if (!shelf.add(made)) return;
    this.#name(made);
    for (const heavy of shelf.excess()) this.#remove(heavy);
  }

  /** Adds an entry to the maps by id, item, note and owner. */
  #name(made: Kept): void {
    const { tenant, kind, id, owner, input, items, notes } = made;
    const isNamed = kind !== "rest" && id !== undefined;
    const replaced = isNamed ? this.#tenants.get(tenant)?.byId[kind].get(id) : undefined;
    if (replaced !== undefined && kind !== "response") this.#remove(replaced);
    let held = this.#tenants.get(tenant);
    if (held === undefined) this.#tenants.set(tenant, (held = newHolding()));
    held.size++;
    if (isNamed) held.byId[kind].set(id, made);
    // A list or plan with the same id is gone now; a response can still be found by its items.
    if (replaced !== undefined && kind === "response") addOwned(held, replaced);
    if (!isNamed || owner !== id) addOwned(held, made);
    for (const note of notes) held.notes.set(note.id, made);
    if (kind !== "list") for (const name of itemNames(input, items)) held.items.set(name, made);
  }

  #addItems(kept: Kept | undefined, items: readonly StoredItem[]): boolean {
    return this.#change(kept, (one) => void (one.items = [...one.items, ...items]));
  }

  #change(kept: Kept | undefined, edit: (kept: Kept) => void): boolean {
    if (kept === undefined) return false;
    const shelf = this.#shelves[kept.kind];
    shelf.remove(kept);
    edit(kept);
    kept.bytes = weightOf(kept);
    kept.at = this.#clock.now();
    if (!shelf.add(kept)) this.#remove(kept);
    for (const heavy of shelf.excess()) this.#remove(heavy);
    return true;
  }

  #remove(kept: Kept): void {
    const { tenant, kind, id, owner = "", input, items, notes } = kept;
    this.#shelves[kind].remove(kept);
    const held = this.#tenants.get(tenant);
    if (held === undefined) return;
    const unname = (names: Map<string, Kept>, name: string): void => {
      if (names.get(name) === kept) names.delete(name);
    };
    for (const name of itemNames(input, items)) unname(held.items, name);
    for (const note of notes) unname(held.notes, note.id);
    if (kind !== "rest" && id !== undefined) unname(held.byId[kind], id);
    const owned = held.byOwner.get(owner);
    owned?.delete(kept);
    if (owned?.size === 0) held.byOwner.delete(owner);
    if (--held.size === 0) this.#tenants.delete(tenant);
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
  size: 0,
});

function addOwned({ byOwner }: Holding, kept: Kept): void {
  if (kept.owner === undefined) return;
  const owned = byOwner.get(kept.owner);
  if (owned === undefined) byOwner.set(kept.owner, new Set([kept]));
  else owned.add(kept);
}

function ownedBy({ byId, byOwner }: Holding, id: string): readonly Kept[] {
  const named = kinds.map((kind) => byId[kind].get(id)).filter((kept) => kept?.owner === id);
  return [...new Set([...named, ...(byOwner.get(id) ?? [])])].filter((kept) => kept !== undefined);
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

/** The keys of items in the maps. All items of a group share one key. */
function itemNames(input: readonly StoredItem[], items: readonly StoredItem[]): readonly string[] {
  const names: string[] = [];
  for (const { id, group = id } of input) if (group !== names.at(-1)) names.push(group);
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

/** A character has up to two bytes. */
function weightOf({ json, plan, input, items, notes }: Kept): number {
  let bytes = ENTRY_BYTES + 2 * json.length + (plan?.bytes ?? 0);
  for (const list of [input, items, notes])
    for (const item of list) bytes += 2 * (item.id.length + item.json.length) + ENTRY_BYTES;
  return bytes;
}

/**
 * A full shelf is emptied to this share of its size. Removing one entry per write would be slow:
 * each iteration of a Set skips the entries deleted at its front.
 */
const LEFT = 63 / 64;

/** The entries of one tenant on a shelf, the last written at the end. */
type Share = {
  bytes: number;
  readonly entries: Set<Kept>;
  /** The number of entries with a text, which is counted once. */
  readonly shared: Map<SharedText, number>;
};

/**
 * Entries with a bound of bytes. The tenant with the most bytes loses its oldest entries first,
 * so that no tenant displaces the entries of another.
 */
class Shelf {
  readonly #maxBytes: number;
  readonly #shares = new Map<Tenant, Share>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns false for an entry that alone is too heavy. */
  add(kept: Kept): boolean {
    const { tenant, shared, bytes } = kept;
    if (bytes + 2 * (shared?.text.length ?? 0) > this.#maxBytes) return false;
    let share = this.#shares.get(tenant);
    if (share === undefined) {
      share = { bytes: 0, entries: new Set(), shared: new Map() };
      this.#shares.set(tenant, share);
    }
    share.entries.add(kept);
    this.#count(share, kept, 1);
    return true;
  }

  remove(kept: Kept): void {
    const share = this.#shares.get(kept.tenant);
    if (share?.entries.delete(kept) !== true) return;
    this.#count(share, kept, -1);
    if (share.entries.size === 0) this.#shares.delete(kept.tenant);
  }

  #count(share: Share, { shared, bytes }: Kept, sign: 1 | -1): void {
    let change = bytes;
    if (shared !== undefined) {
      const times = (share.shared.get(shared) ?? 0) + sign;
      if (times === 0) share.shared.delete(shared);
      else share.shared.set(shared, times);
      // The first entry with the text adds its bytes, and the last one removes them.
      if (times === (sign === 1 ? 1 : 0)) change += 2 * shared.text.length;
    }
    share.bytes += sign * change;
    this.#bytes += sign * change;
  }

  /** The entries to remove; the caller removes each before it asks for the next. */
  *excess(): Generator<Kept> {
    if (this.#bytes <= this.#maxBytes) return;
    while (this.#bytes > this.#maxBytes * LEFT) {
      const [heaviest, next] = [...this.#shares.values()].toSorted((a, b) => b.bytes - a.bytes);
      for (const kept of heaviest?.entries ?? []) {
        yield kept;
        const isEnough = this.#bytes <= this.#maxBytes * LEFT;
        if (isEnough || (heaviest?.bytes ?? 0) < (next?.bytes ?? 0)) break;
      }
    }
  }

  /** Entries that were last written before a moment. */
  *before(at: number): Generator<Kept> {
    for (const { entries } of this.#shares.values())
      for (const kept of entries) {
        if (kept.at >= at) break;
        yield kept;
      }
  }
}
