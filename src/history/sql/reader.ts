/**
 * Reads entries of a database. What a request asks for is found with its size first,
 * and weighed; then it is read in slices, between which others are served.
 */

import { append } from "../../turn/append.ts";
import { isStorableId } from "../../turn/item-ids.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { itemIn, mostItemsIn, rowIds, splitRow } from "../item-groups.ts";
import {
  itemsTexts,
  type EntryHead,
  type FoundChain,
  type FoundItems,
  type FoundList,
  type FoundPage,
  type ItemsQuery,
  type Key,
  type ListQuery,
  type PageQuery,
  type StoredEntry,
  type StoredItem,
  type Weigh,
} from "../log.ts";
import { FIRST_ITEM, HEAD, LAST_ITEM, sumOf } from "../records.ts";
import type { Database } from "./operations.ts";
import type { FindQuery, FoundPlaces, PartSize, PartText, Place, Span } from "./read.ts";

/** Bytes that are read at once, where a part is no longer. */
const SLICE = 1024 * 1024;
/** How many parts of a long list, or entries of a long chain, are looked at together. */
const PARTS = 1000;
const ENTRIES = 256;
/** How often an entry is looked for that is gone when it is to be read. */
const TRIES = 3;

/** Parts that are read, and their bytes. */
type Piece = Span & { readonly bytes: number };

export type Asked = Exclude<keyof Database, "close">;

export abstract class SqlReader {
  /** Asks the database once, and not for too long. */
  protected abstract ask<Name extends Asked>(
    name: Name,
    query: Parameters<Database[Name]>[0],
  ): ReturnType<Database[Name]>;

  /** Waits until all that a tenant has queued is written or given up. */
  protected abstract settled(tenant: Tenant): Promise<void>;

  head(key: Key, weigh: Weigh): Promise<EntryHead | undefined> {
    return this.#readEntry(key, weigh, undefined, async (own, more) => {
      more(own.headBytes);
      const rows = await this.#rows([headOf(own)]);
      return rows && entryHead(own, rows[0]);
    });
  }

  entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined> {
    return this.#readEntry(key, weigh, undefined, async (own, more) => {
      more(own.headBytes + own.answerBytes + own.sharedBytes);
      const answer = pieceOf(own, own.inputRows + FIRST_ITEM, LAST_ITEM, own.answerBytes);
      const rows = await this.#rows([headOf(own), answer]);
      const shared = own.shared === null ? undefined : await this.#shared(key, own.shared);
      if (rows === undefined || (own.shared !== null && shared === undefined)) return undefined;
      const items = (rows[1] ?? []).flatMap(splitRow);
      const text = shared !== undefined && { shared: { text: shared } };
      return { ...entryHead(own, rows[0]), items, ...text };
    });
  }

  input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]> {
    return this.#readEntry<readonly StoredItem[]>(key, weigh, [], async (own, more) => {
      const bytes = own.itemBytes - own.answerBytes;
      more(bytes);
      const rows = await this.#rows([pieceOf(own, FIRST_ITEM, own.inputRows, bytes)]);
      return rows?.flat().flatMap(splitRow);
    });
  }

  load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const missing: FoundChain = { type: "missing", id: key.id };
    const once = weighOnce(weigh);
    return this.#readChain<FoundChain>(key, maxBytes, missing, async ({ own, chain }) => {
      const bytes = sumOf(chain);
      if (bytes > maxBytes) return { type: "too-large" };
      const { parent = null } = chain.at(-1) ?? {};
      if (parent !== null) return { type: "missing", id: parent };
      once()(bytes + (key.kind === "response" ? own.headBytes : 0));
      const links = chain
        .toReversed()
        .map(({ seq, bytes: size }) => pieceOf({ seq }, FIRST_ITEM, LAST_ITEM, size));
      const rows = await this.#rows([headOf(own), ...links], key.kind === "list");
      if (rows === undefined) return undefined;
      const [head, ...items] = rows;
      return { type: "found", texts: itemsTexts(items.flat()), bytes, last: entryHead(own, head) };
    });
  }

  page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const missing: FoundPage = { type: "missing" };
    return this.#readChain(key, Number.MAX_SAFE_INTEGER, missing, async ({ own, chain }) => {
      if ((chain.at(-1)?.parent ?? null) !== null) return missing;
      const entries = chain.map(({ seq }) => seq).toReversed();
      const last = [own.seq, Math.min(own.inputRows, LAST_ITEM)] as const;
      return this.#pageOf(entries, last, { ...query, weigh });
    });
  }

  async item(key: Key, item: string, weigh: Weigh): Promise<string | undefined> {
    if (!isStorableId(item)) return undefined;
    return this.#readEntry(key, weigh, undefined, async ({ seq }, more) => {
      const [found] = await this.ask("within", { entries: [seq], ids: [item] });
      if (found === undefined) return undefined;
      more(found.bytes);
      const { place, bytes } = found;
      return (await this.#rows([pieceOf({ seq }, place, place, bytes)]))?.[0]?.[0]?.json;
    });
  }

  async findItems(query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    return this.#findParts(query, weigh, "items");
  }

  async findNotes(query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    return this.#findParts(query, weigh, "notes");
  }

  async lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { limit, maxBytes, after = "" } = query;
    if (!isStorableId(after)) return { type: "missing" };
    await this.settled(tenant);
    const found = await this.ask("findLists", { ...query, tenant });
    if (found === undefined) return { type: "missing" };
    let bytes = 0;
    const end = found.findIndex((one, at) => {
      const isFull = at === limit || bytes >= maxBytes;
      bytes += one.bytes;
      return isFull;
    });
    const some = end === -1 ? found : found.slice(0, end);
    weigh(sumOf(some));
    const pieces = some.map(({ entry: seq, bytes: size }) => pieceOf({ seq }, HEAD, HEAD, size));
    const rows = (await this.#rows(pieces, true)) ?? [];
    const list = some.flatMap(({ id }, at) => {
      const row = rows[at]?.[0];
      return row === undefined ? [] : [{ id, json: row.json }];
    });
    return { type: "found", list, isWhole: end === -1 };
  }

  /** Reads of an entry, which is looked for anew while it is gone before it was read. It is weighed once. */
  async #readEntry<Found>(
    key: Key,
    weigh: Weigh,
    none: Found,
    look: (own: Place, weigh: Weigh) => Promise<Found | undefined>,
  ): Promise<Found> {
    if (!isStorableId(key.id)) return none;
    await this.settled(key.tenant);
    const once = weighOnce(weigh);
    for (let tries = 0; tries < TRIES; tries++) {
      const own = await this.ask("place", key);
      if (own === undefined) return none;
      const found = await look(own, once());
      if (found !== undefined) return found;
    }
    return none;
  }

  /** The same of an entry with all that it continues. */
  async #readChain<Found>(
    key: Key,
    maxBytes: number,
    none: Found,
    look: (found: FoundPlaces) => Promise<Found | undefined>,
  ): Promise<Found> {
    if (!isStorableId(key.id)) return none;
    await this.settled(key.tenant);
    for (let tries = 0; tries < TRIES; tries++) {
      const places = await this.ask("placeChain", { ...key, maxBytes });
      if (places === undefined) return none;
      const found = await look(places);
      if (found !== undefined) return found;
    }
    return none;
  }

  async #findParts(
    { tenant, ids: asked, maxBytes }: ItemsQuery,
    weigh: Weigh,
    of: FindQuery["of"],
  ): Promise<FoundItems> {
    const ids = [...new Set(asked.filter(isStorableId))];
    await this.settled(tenant);
    const once = weighOnce(weigh);
    for (let tries = 0; tries < TRIES && ids.length > 0; tries++) {
      const places = await this.ask("findParts", { tenant, ids: rowIds(ids), of });
      const bytes = sumOf(places);
      if (bytes > maxBytes) return { type: "too-large" };
      once()(bytes);
      const pieces = places.map(({ entry: seq, place, bytes: size }) =>
        pieceOf({ seq }, place, place, size),
      );
      const rows = await this.#rows(pieces);
      if (rows === undefined) continue;
      const byId = new Map(places.map(({ id }, at) => [id, { id, json: textOf(rows[at]) }]));
      const items = new Map<string, StoredItem>();
      for (const id of ids) {
        const json = itemIn(byId, id);
        if (json !== undefined) items.set(id, { id, json });
      }
      return { type: "found", items };
    }
    return { type: "found", items: new Map() };
  }

  /** One page of the items of entries, which are given oldest first, up to a last item. */
  async #pageOf(
    entries: readonly number[],
    last: readonly [entry: number, place: number],
    { after, limit, order, weigh }: PageQuery & { readonly weigh: Weigh },
  ): Promise<FoundPage> {
    if (after === undefined) return this.#pageFrom({ entries, last, limit, order, weigh });
    if (!isStorableId(after)) return { type: "unknown-after" };
    const found = await this.ask("within", { entries, ids: rowIds([after]) });
    for (const start of order === "asc" ? found : found.toReversed()) {
      const page = await this.#pageFrom({ entries, last, limit, order, weigh, start, after });
      if (page.type === "found") return page;
    }
    return { type: "unknown-after" };
  }

  /** The page behind an item in one part, which may hold others too; or the first page. */
  async #pageFrom(query: PageFrom): Promise<FoundPage> {
    const { entries, last, limit, order, weigh, start, after } = query;
    let [from, to]: [Edge, Edge] = [[0, 0], last];
    const isRising = order === "asc";
    const moveTo = (entry: number, place: number): void => {
      if (isRising) from = [entry, place];
      else to = [entry, place];
    };
    // A part that is that item alone is not read.
    let isBehind = start === undefined || start.id === after;
    if (start !== undefined) {
      if (start.entry === last[0] && start.place > last[1]) return { type: "unknown-after" };
      moveTo(start.entry, start.place + (isBehind ? stepOf(order) : 0));
    }
    const items: StoredItem[] = [];
    const inOrder = isRising ? entries : entries.toReversed();
    const edge = isRising ? from[0] : to[0];
    let at = inOrder.findIndex((entry) => (isRising ? entry >= edge : entry <= edge));
    while (at !== -1 && at < inOrder.length) {
      const some = inOrder.slice(at, at + ENTRIES);
      const wanted = limit - items.length;
      const asked = { entries: some, from, to, order, limit: wanted + 1 };
      const sizes = await this.ask("sizes", asked);
      if (wanted === 0 && sizes.length > 0) return { type: "found", items, isWhole: false };
      const parts = sliceOf(sizes.slice(0, wanted), wanted);
      const end = parts.at(-1);
      if (end === undefined) {
        at += ENTRIES;
        continue;
      }
      weigh(sumOf(parts));
      for (const found of (await this.#rows(runsOf(parts), true)) ?? []) {
        const all = found.flatMap(splitRow);
        append(items, isRising ? all : all.toReversed());
      }
      if (!isBehind) {
        const behind = 1 + items.findIndex(({ id }) => id === after);
        if (behind === 0) return { type: "unknown-after" };
        items.splice(0, behind);
        isBehind = true;
      }
      if (items.length > limit)
        return { type: "found", items: items.slice(0, limit), isWhole: false };
      moveTo(end.entry, end.place + stepOf(order));
    }
    return { type: "found", items, isWhole: true };
  }

  /** The parts of every piece; undefined if some of them are gone, unless they may change at any time. */
  async #rows(
    pieces: readonly Piece[],
    mayChange = false,
  ): Promise<readonly (readonly PartText[])[] | undefined> {
    const found = pieces.map((): PartText[] => []);
    let slice: { readonly at: number; readonly piece: Piece }[] = [];
    let bytes = 0;
    const read = async (): Promise<void> => {
      const spans = joinSpans(slice.map(({ piece }) => piece));
      const lists = await this.ask("read", spans);
      const byEntry = new Map<string, PartText[]>();
      for (const [n, { from, to }] of spans.entries())
        for (const row of lists[n] ?? []) {
          const key = `${row.entry} ${from} ${to}`;
          const rows = byEntry.get(key);
          if (rows === undefined) byEntry.set(key, [row]);
          else rows.push(row);
        }
      for (const { at, piece } of slice) {
        const [entry] = piece.entries;
        append(found[at] ?? [], byEntry.get(`${entry} ${piece.from} ${piece.to}`) ?? []);
      }
      slice = [];
      bytes = 0;
    };
    for (const [at, piece] of pieces.entries())
      for await (const part of this.#slicesOf(piece)) {
        if (slice.length > 0 && bytes + part.bytes > SLICE) await read();
        slice.push({ at, piece: part });
        bytes += part.bytes;
      }
    if (slice.length > 0) await read();
    const isThere = ({ bytes: size }: Piece, at: number): boolean =>
      sizeOf(found[at] ?? []) === size;
    return mayChange || pieces.every(isThere) ? found : undefined;
  }

  /** A long list in pieces, of which only one with a single long part is larger than a slice. */
  async *#slicesOf(piece: Piece): AsyncGenerator<Piece> {
    const { entries, from, to, bytes } = piece;
    if (bytes <= SLICE || from === to) {
      yield piece;
      return;
    }
    const [entry = 0] = entries;
    let first = from;
    for (let isMore = true; isMore;) {
      const edges = { from: [entry, first], to: [entry, to] } as const;
      const sizes = await this.ask("sizes", { entries, ...edges, order: "asc", limit: PARTS });
      let size = 0;
      for (const { place, bytes: more } of sizes) {
        if (size > 0 && size + more > SLICE) {
          yield { entries, from: first, to: place - 1, bytes: size };
          [first, size] = [place, 0];
        }
        size += more;
      }
      const end = sizes.at(-1)?.place ?? to;
      if (size > 0) yield { entries, from: first, to: end, bytes: size };
      first = end + 1;
      isMore = sizes.length === PARTS;
    }
  }

  async #shared({ tenant }: Key, digest: string): Promise<string | undefined> {
    return this.ask("readShared", { tenant, digest });
  }
}

type Edge = readonly [entry: number, place: number];
type PageFrom = PageQuery & {
  readonly entries: readonly number[];
  readonly last: Edge;
  readonly weigh: Weigh;
  /** The part with the item `after`. */
  readonly start?: PartSize;
};

const stepOf = (order: PageQuery["order"]): number => (order === "asc" ? 1 : -1);

/** As many parts as make a slice and may have no more items than are wanted; and one at least. */
function sliceOf(parts: readonly PartSize[], wanted: number): readonly PartSize[] {
  let [bytes, items] = [0, 0];
  const end = parts.findIndex((part, at) => {
    bytes += part.bytes;
    items += mostItemsIn(part.id);
    return at > 0 && (bytes > SLICE || items > wanted);
  });
  return end === -1 ? parts : parts.slice(0, end);
}

/** Weighs again only what is more than was weighed in a try before. */
function weighOnce(weigh: Weigh): () => Weigh {
  let weighed = 0;
  return () => {
    let sum = 0;
    return (bytes) => {
      sum += bytes;
      if (sum > weighed) weigh(sum - weighed);
      weighed = Math.max(weighed, sum);
    };
  };
}

const pieceOf = ({ seq }: Pick<Place, "seq">, from: number, to: number, bytes: number): Piece => ({
  entries: [seq],
  from,
  to,
  bytes,
});
const headOf = (own: Place): Piece => pieceOf(own, HEAD, HEAD, own.headBytes);

/** Parts that follow one another in an entry are one piece. */
function runsOf(parts: readonly PartSize[]): readonly Piece[] {
  const runs = new Map<number, { entries: number[]; from: number; to: number; bytes: number }>();
  for (const { entry, place, bytes } of parts) {
    const run = runs.get(entry) ?? { entries: [entry], from: place, to: place, bytes: 0 };
    runs.set(entry, run);
    run.from = Math.min(run.from, place);
    run.to = Math.max(run.to, place);
    run.bytes += bytes;
  }
  return [...runs.values()];
}

/** Entries of which the same places are read are one span. */
function joinSpans(pieces: readonly Piece[]): readonly Span[] {
  const spans = new Map<string, { readonly entries: number[]; from: number; to: number }>();
  for (const { entries, from, to } of pieces) {
    const span = spans.get(`${from} ${to}`);
    if (span === undefined) spans.set(`${from} ${to}`, { entries: [...entries], from, to });
    else append(span.entries, entries);
  }
  return [...spans.values()];
}

function entryHead(
  { id, parent, origin }: Place,
  rows: readonly PartText[] | undefined,
): EntryHead {
  const json = textOf(rows);
  return { id, previous: parent ?? undefined, json, ...(origin !== null && { origin }) };
}

const textOf = (rows: readonly PartText[] | undefined): string => rows?.[0]?.json ?? "";
const sizeOf = (rows: readonly PartText[]): number =>
  rows.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
