/**
 * A log in a database. A read first finds the sizes of entries, and reserves memory for them;
 * then it loads them in slices, so that other reads can run between two slices.
 */

import { append } from "../turn/append.ts";
import { type Clock, within } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import { isStorableId } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import { SWEEP_MS } from "./age-watch.ts";
import { itemIn, rowIds, splitRow, type ItemRow } from "./item-groups.ts";
import type { LeaseStore } from "./leases.ts";
import {
  itemsTexts,
  PLANS_SHARE,
  type EntryHead,
  type FoundChain,
  type FoundItems,
  type FoundList,
  type FoundPage,
  type ItemsQuery,
  type Key,
  type ListQuery,
  type Log,
  type NewList,
  type PageQuery,
  type Retention,
  type SharedLimits,
  type StoredEntry,
  type StoredItem,
  type StoredTurn,
  type Weigh,
} from "./log.ts";
import {
  checkIds,
  FIRST_ITEM,
  HEAD,
  LAST_ITEM,
  listRecord,
  recordOf,
  sumOf,
  type WriteBatch,
  type SharedRecord,
} from "./records.ts";
import type { Database, OperationName, QueryOf, ResultOf } from "./sql/operations.ts";
import { openPostgres } from "./sql/postgres.ts";
import type { FoundPart, FoundEntry, Slice, SliceQuery } from "./sql/read.ts";
import { openSqlite } from "./sql/sqlite-database.ts";
import { HOUR_MS, HOURS_KEPT, type UsageRow } from "./usage-sums.ts";
import { WriteQueue } from "./write-queue.ts";

/** A store outside the process. */
export type DatabaseConfig =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

export type LogOptions = {
  readonly clock: Clock;
  readonly retention: Retention;
  readonly gatherMs?: number | undefined;
  /** Receives the fault of the database when it begins, and undefined when it ends. */
  readonly onState?: ((fault: Fault | undefined) => void) | undefined;
  /** Called when a sweep begins to keep expired rows because the clock may have been set. */
  readonly onWait?: (() => void) | undefined;
};

/** The longest delay of the end of a stored answer. */
const GATHER_MS = 20;
/** The longest time that a request waits for the database. */
const READ_MS = 10_000;
/** A sweep begins when this share of the retention has been written. */
const SWEEP_SHARE = 1 / 48;
/** The most entries of a chain that one slice reads. */
const ENTRIES = 256;
/** The most bytes of parts that one query by ids reads, unless one part is longer. */
const FOUND_BYTES = 1024 * 1024;

const ITEMS = [FIRST_ITEM, LAST_ITEM] as const;
const HEADS = [HEAD, HEAD] as const;

type Range = Omit<SliceQuery, "order" | "limit" | "texts"> & {
  readonly order?: PageQuery["order"];
  /** The consumer may lower it between two slices. */
  limit?: number;
  /** Receives the bytes of each slice before it is loaded. Omitted if the caller has reserved them. */
  readonly weigh?: Weigh;
};

/** A log in a database, which is opened by `start` or the first operation. */
export function openDatabaseStore(config: DatabaseConfig, options: LogOptions): Log {
  const database =
    config.kind === "sqlite" ? openSqlite(config.path) : openPostgres(config.url, options.clock);
  return new SqlLog(database, options);
}

export class SqlLog implements Log {
  readonly leases: LeaseStore;
  readonly limits: SharedLimits;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #queue: WriteQueue;
  readonly #onWait: () => void;
  #waits = false;
  /** Bytes that were written since the last sweep. */
  #written = 0;
  /** Shared texts that were written: each is stored once. */
  readonly #sharedBefore = new WeakSet<SharedRecord>();
  #isSweeping = false;
  #isClosed = false;
  #cancelSweep: (() => void) | undefined;

  constructor(database: Database, options: LogOptions) {
    const { clock, retention, gatherMs = GATHER_MS, onState = () => {} } = options;
    this.#database = database;
    this.#onWait = options.onWait ?? (() => {});
    this.#clock = clock;
    this.#retention = retention;
    const write = (batch: WriteBatch): Promise<void> => this.#write(batch);
    this.#queue = new WriteQueue({ clock, write, gatherMs, onState });
    this.limits = { spend: (spent) => database.ask("spend", spent) };
    // Leases do not wait for queued writes: a write may take longer than a lease lasts.
    this.leases = {
      take: (lease) => this.#ask("takeLease", lease),
      renew: (lease) => this.#ask("renewLease", lease),
      isHeld: (key) => this.#ask("isLeaseHeld", key),
      askToStop: (key) => this.#ask("askToStop", key),
      release: (lease) => this.#ask("releaseLease", lease),
    };
  }

  start(): void {
    void this.#sweep().catch((error: unknown) => {
      if (error instanceof Fault) this.#queue.suspend(error);
    });
  }

  trouble(): Fault | undefined {
    return this.#queue.fault;
  }

  /** Not async: an async function would hold the whole turn in memory during the write. */
  append(turn: StoredTurn): Promise<void> {
    return this.#queue.add(recordOf(turn, this.#retention.maxBytes * PLANS_SHARE));
  }

  async create(list: NewList): Promise<void> {
    const { tenant } = list;
    const entries = [listRecord(list)];
    const none = { conversation: null, lease: null, usage: undefined };
    const turn = { tenant, at: this.#clock.date(), entries, ...none };
    await this.#settled(tenant);
    await this.#bounded(this.#database.ask("write", { id: crypto.randomUUID(), turns: [turn] }));
  }

  async head(key: Key, weigh: Weigh): Promise<EntryHead | undefined> {
    const own = await this.#settledAsk(key, "place", key);
    if (own === undefined) return undefined;
    weigh(own.headBytes);
    return this.#headOf(own);
  }

  async entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined> {
    const own = await this.#settledAsk(key, "place", key);
    if (own === undefined) return undefined;
    const { seq, inputRows, answerBytes, shared: digest } = own;
    weigh(own.headBytes + answerBytes + own.sharedBytes);
    const { tenant } = key;
    const [head, items, shared] = await Promise.all([
      this.#headOf(own),
      this.#items({ entries: [seq], places: [inputRows + 1, LAST_ITEM] }, answerBytes),
      digest === null ? undefined : this.#ask("readShared", { tenant, digest }),
    ]);
    // Another request deleted it meanwhile.
    if (head === undefined || items === undefined) return undefined;
    if (digest !== null && shared === undefined) return undefined;
    const text = shared !== undefined && { shared: { text: shared } };
    return { ...head, items: items.flatMap(splitRow), ...text };
  }

  async input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]> {
    const own = await this.#settledAsk(key, "place", key);
    if (own === undefined) return [];
    const { seq, inputRows } = own;
    const bytes = own.itemBytes - own.answerBytes;
    weigh(bytes);
    const rows = await this.#items({ entries: [seq], places: [FIRST_ITEM, inputRows] }, bytes);
    return rows?.flatMap(splitRow) ?? [];
  }

  async load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const missing: FoundChain = { type: "missing", id: key.id };
    const found = await this.#settledAsk(key, "placeChain", { ...key, maxBytes });
    if (found === undefined) return missing;
    const { own, chain } = found;
    const bytes = sumOf(chain);
    if (bytes > maxBytes) return { type: "too-large" };
    const { parent = null } = chain.at(-1) ?? {};
    if (parent !== null) return { type: "missing", id: parent };
    weigh(bytes + (key.kind === "response" ? own.headBytes : 0));
    const entries = chain.map(({ seq }) => seq).toReversed();
    // A list may lose items at any time; a response without some of its items was deleted.
    const [last, items] = await Promise.all([
      this.#headOf(own),
      this.#items({ entries, places: ITEMS }, bytes, key.kind === "list"),
    ]);
    if (last === undefined || items === undefined) return missing;
    return { type: "found", texts: itemsTexts(items), bytes, last };
  }

  async page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const maxBytes = Number.MAX_SAFE_INTEGER;
    const found = await this.#settledAsk(key, "placeChain", { ...key, maxBytes });
    if (found === undefined || (found.chain.at(-1)?.parent ?? null) !== null)
      return { type: "missing" };
    const { own, chain } = found;
    const entries = chain.map(({ seq }) => seq).toReversed();
    const [seq, place] = [own.seq, Math.min(own.inputRows, LAST_ITEM)];
    const range: Range = { entries, places: ITEMS, to: [seq, place] };
    const { after, order } = query;
    if (after === undefined) return (await this.#pageFrom(range, query, weigh)) ?? none;
    if (!isStorableId(after)) return none;
    const ids = rowIds([after]);
    const parts = (await this.#ask("findWithin", { entries, ids })).filter(
      (part) => part.entry !== seq || part.place <= place,
    );
    // The id of a row of several items does not prove that the row holds the item.
    for (const start of order === "asc" ? parts : parts.toReversed()) {
      const page = await this.#pageFrom(range, query, weigh, start);
      if (page !== undefined) return page;
    }
    return none;
  }

  async item(key: Key, item: string, weigh: Weigh): Promise<string | undefined> {
    if (!isStorableId(item)) return undefined;
    const own = await this.#settledAsk(key, "place", key);
    if (own === undefined) return undefined;
    const entries = [own.seq];
    const [found] = await this.#ask("findWithin", { entries, ids: [item] });
    if (found === undefined) return undefined;
    const { place, bytes } = found;
    weigh(bytes);
    return (await this.#items({ entries, places: [place, place] }, bytes))?.[0]?.json;
  }

  async find({ tenant, of, ids: asked, maxBytes }: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const ids = [...new Set(asked.filter(isStorableId))];
    const items = new Map<string, StoredItem>();
    await this.#settled(tenant);
    if (ids.length === 0) return { type: "found", items };
    const query = { tenant, of, ids: rowIds(ids), texts: false };
    const sizes = await this.#ask("findParts", query);
    const bytes = sumOf(sizes);
    if (bytes > maxBytes) return { type: "too-large" };
    weigh(bytes);
    const rows = new Map<string, ItemRow>();
    for (let at = 0; at < sizes.length;) {
      let [end, size] = [at, 0];
      do size += sizes[end++]?.bytes ?? 0;
      while (size + (sizes[end]?.bytes ?? Infinity) <= FOUND_BYTES);
      const some = sizes.slice(at, end).map(({ id }) => id);
      for (const { id, json } of await this.#ask("findParts", { ...query, ids: some, texts: true }))
        rows.set(id, { id, json });
      at = end;
    }
    for (const id of ids) {
      const json = itemIn(rows, id);
      if (json !== undefined) items.set(id, { id, json });
    }
    return { type: "found", items };
  }

  async lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { limit, maxBytes, after: id = "", order } = query;
    const found = await this.#settledAsk({ tenant, id }, "findLists", { ...query, tenant });
    if (found === undefined) return { type: "missing" };
    let bytes = 0;
    const end = found.findIndex((one, at) => {
      const isFull = at === limit || bytes >= maxBytes;
      bytes += one.bytes;
      return isFull;
    });
    const some = end === -1 ? found : found.slice(0, end);
    weigh(sumOf(some));
    const entries = some.map(({ entry }) => entry);
    const range = { entries: order === "asc" ? entries : entries.toReversed(), places: HEADS };
    const heads = (await this.#items(range, sumOf(some), true)) ?? [];
    const texts = new Map(heads.map(({ entry, json }) => [entry, json]));
    const list = some.flatMap(({ entry, id: own }) => {
      const json = texts.get(entry);
      return json === undefined ? [] : [{ id: own, json }];
    });
    return { type: "found", list, isWhole: end === -1 };
  }

  setHead({ tenant, id }: Key, json: string): Promise<boolean> {
    return this.#change({ tenant, id }, "setHead", { tenant, id, json });
  }

  extend({ tenant, id }: Key, items: readonly StoredItem[]): Promise<boolean> {
    checkIds(items.map((item) => item.id));
    return this.#change({ tenant, id }, "extend", { tenant, id, items });
  }

  drop(key: Key): Promise<boolean> {
    return this.#change(key, "drop", key);
  }

  async dropItem({ tenant, id }: Key, item: string): Promise<boolean> {
    return isStorableId(item) && this.#change({ tenant, id }, "dropItem", { tenant, id, item });
  }

  async sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]> {
    await this.#settled(tenant);
    return this.#ask("sumUsage", { tenant, start, end });
  }

  secret(name: string, made: string): Promise<string> {
    return this.#ask("secret", { name, made });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    await this.#queue.close();
    await this.#database.close();
  }

  #ask<Name extends OperationName>(name: Name, query: QueryOf<Name>): ResultOf<Name> {
    const asking: Promise<unknown> = this.#database.ask(name, query);
    return this.#bounded(asking) as ResultOf<Name>;
  }

  /** Asks after the queued writes of a tenant have ended. Returns undefined for an id that no row can have. */
  async #settledAsk<Name extends OperationName>(
    { tenant, id }: Pick<Key, "tenant" | "id">,
    name: Name,
    query: QueryOf<Name>,
  ): Promise<Awaited<ResultOf<Name>> | undefined> {
    if (!isStorableId(id)) return undefined;
    await this.#settled(tenant);
    return this.#ask(name, query) as Awaited<ResultOf<Name>>;
  }

  async #change<Name extends "setHead" | "extend" | "drop" | "dropItem">(
    key: Pick<Key, "tenant" | "id">,
    name: Name,
    query: QueryOf<Name>,
  ): Promise<boolean> {
    return (await this.#settledAsk(key, name, query)) ?? false;
  }

  async #settled(tenant: Tenant): Promise<void> {
    const settled = this.#queue.settled(tenant);
    if (settled !== undefined) await this.#bounded(settled);
  }

  #bounded<Found>(asking: Promise<Found>): Promise<Found> {
    return within(this.#clock, READ_MS, asking, timedOut);
  }

  async #headOf({
    seq,
    id,
    parent,
    origin,
    headBytes,
  }: FoundEntry): Promise<EntryHead | undefined> {
    const row = headBytes > 0 && (await this.#items({ entries: [seq], places: HEADS }, 1))?.[0];
    if (row === undefined) return undefined;
    const json = row === false ? "" : row.json;
    return { id, previous: parent ?? undefined, json, ...(origin !== null && { origin }) };
  }

  /** The parts in a range, up to a number of bytes; undefined if some were deleted, unless `mayChange`. */
  async #items(
    range: Range,
    bytes: number,
    mayChange = false,
  ): Promise<readonly FoundPart[] | undefined> {
    const items: FoundPart[] = [];
    let left = bytes;
    if (bytes > 0)
      for await (const { parts } of this.#slices(range)) {
        append(items, parts);
        left -= sumOf(parts);
        if (left <= 0) break;
      }
    return left <= 0 || mayChange ? items : undefined;
  }

  /** Slices of parts in their order. */
  async *#slices(range: Range): AsyncGenerator<Slice> {
    const { order = "asc", weigh, ...rest } = range;
    let { from, to } = range;
    const inOrder = order === "asc" ? range.entries : range.entries.toReversed();
    let at = inOrder.findIndex((entry) =>
      order === "asc" ? entry >= (from?.[0] ?? 0) : entry <= (to?.[0] ?? Infinity),
    );
    while (at !== -1 && at < inOrder.length) {
      const entries = inOrder.slice(at, at + ENTRIES);
      const { limit = Infinity } = range;
      const query = { ...rest, entries, order, from, to, limit };
      let slice = await this.#ask("slice", { ...query, texts: weigh === undefined });
      if (weigh !== undefined && slice.parts.length > 0) {
        weigh(sumOf(slice.parts));
        slice = await this.#ask("slice", { ...query, texts: true });
      }
      yield slice;
      const [entry, place] = slice.end ?? [0, 0];
      if (slice.end === undefined || !slice.isMore) at += ENTRIES;
      else if (order === "asc") from = [entry, place + 1];
      else to = [entry, place - 1];
    }
  }

  /** A page that begins after an item in one part; undefined if the part does not hold the item. */
  async #pageFrom(
    range: Range,
    { after, limit, order }: PageQuery,
    weigh: Weigh,
    start?: FoundPart,
  ): Promise<FoundPage | undefined> {
    const rest: Range = { ...range, order, limit, weigh };
    let isAfterStart = start === undefined || start.id === after;
    if (start !== undefined) {
      const step = order === "asc" ? 1 : -1;
      const edge = [start.entry, start.place + (isAfterStart ? step : 0)] as const;
      Object.assign(rest, order === "asc" ? { from: edge } : { to: edge });
    }
    const items: StoredItem[] = [];
    for await (const { parts, isMore } of this.#slices(rest)) {
      const found = parts.flatMap((part) => {
        const some = splitRow(part);
        return order === "asc" ? some : some.toReversed();
      });
      if (!isAfterStart) {
        const next = 1 + found.findIndex(({ id }) => id === after);
        if (next === 0) return undefined;
        found.splice(0, next);
        isAfterStart = true;
      }
      append(items, found);
      if (items.length > limit || (items.length === limit && isMore))
        return { type: "found", items: items.slice(0, limit), isWhole: false };
      rest.limit = limit - items.length;
    }
    return { type: "found", items, isWhole: true };
  }

  async #write(batch: WriteBatch): Promise<void> {
    await this.#database.ask("write", batch);
    for (const { entries } of batch.turns)
      for (const { bytes, shared } of entries) {
        this.#written += bytes;
        if (shared === null || this.#sharedBefore.has(shared)) continue;
        this.#sharedBefore.add(shared);
        this.#written += shared.text.length;
      }
    if (this.#written > this.#retention.maxBytes * SWEEP_SHARE) this.#sweepQuietly();
    else this.#sweepLater();
  }

  #sweepLater(): void {
    if (this.#isClosed) return;
    const sweep = (): void => {
      this.#cancelSweep = undefined;
      this.#sweepQuietly();
    };
    this.#cancelSweep ??= this.#clock.at(this.#clock.now() + SWEEP_MS, sweep, "background");
  }

  /** Ignores a failure: the next write or read reports the fault, and the next sweep tries again. */
  #sweepQuietly(): void {
    this.#sweep().catch(() => {});
  }

  /** Sweeps in steps, so that other operations can run between two steps. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping || this.#isClosed) return;
    this.#isSweeping = true;
    this.#written = 0;
    const { maxAgeMs, maxBytes } = this.#retention;
    const maxPlanBytes = maxBytes * PLANS_SHARE;
    const sizes = { maxBytes: maxBytes - maxPlanBytes, maxPlanBytes };
    const bounds = { maxAgeMs, maxUsageAgeMs: HOURS_KEPT * HOUR_MS, ...sizes };
    try {
      for (let more = true; more && !this.#isClosed;) {
        const swept = await this.#database.ask("sweep", bounds);
        if (swept.waits && !this.#waits) this.#onWait();
        this.#waits = swept.waits;
        ({ more } = swept);
      }
    } finally {
      this.#isSweeping = false;
      this.#sweepLater();
    }
  }
}

const none: FoundPage = { type: "unknown-after" };

const timedOut = (): Fault =>
  new Fault("store.timeout", "The store did not answer in time; send the request again.");
