/**
 * Reads of a database. What a request asks for is found with its size first, and
 * weighed; then it is read in slices, between which others are served.
 */

import { append } from "../turn/append.ts";
import { isStorableId } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import { FIRST_ITEM_PLACE, itemsTexts, PLAN_PLACE, RESPONSE_PLACE } from "./chain-rows.ts";
import type {
  FoundConversation,
  FoundList,
  ListQuery,
  StoredConversation,
} from "./conversations.ts";
import type {
  BeforePlace,
  Database,
  IdQuery,
  ItemsQuery,
  ListSpan,
  ResponsePlace,
  Row,
  Span,
} from "./database.ts";
import { itemIn, rowIds, splitRow } from "./item-groups.ts";
import { itemsOfTurn, ListPage, parts, SLICE, sumOf, type Source } from "./list-page.ts";
import type {
  FoundChain,
  FoundItems,
  FoundPage,
  PageQuery,
  ResponseHead,
  StoredItem,
  StoredResponse,
  Weigh,
} from "./store.ts";

/** How many rows of a long list are looked at together. */
const ROWS = 1000;
/** How often it is looked for what is gone when it is to be read: segments are joined, turns dropped. */
const TRIES = 3;
const LAST_ITEM = Number.MAX_SAFE_INTEGER;

type Place = { readonly span: Span; readonly bytes: number };
type Gone = "gone";
type Reads = Pick<
  Database,
  | "findItems"
  | "findPlan"
  | "findResponse"
  | "findBefore"
  | "findChainItem"
  | "findConversation"
  | "findConversationItem"
  | "listConversations"
  | "segmentTurns"
  | "sizes"
  | "read"
>;

export class DatabaseReading {
  readonly #database: Reads;

  constructor(database: Reads) {
    this.#database = database;
  }

  findItems(
    { maxBytes, ...query }: ItemsQuery & { readonly maxBytes: number },
    weigh: Weigh,
  ): Promise<FoundItems> {
    const ids = [...new Set(query.ids)];
    return again(weigh, { type: "found", items: new Map() }, async (more) => {
      const places = await this.#database.findItems({ ...query, ids: rowIds(ids) });
      const bytes = sumOf(places);
      if (bytes > maxBytes) return { type: "too-large" };
      more(bytes);
      const spans = places.map((place) => ({ ...place, span: onePart(place.turn, place.place) }));
      const rows = await this.#rows(spans);
      if (rows === "gone") return rows;
      const byId = new Map(
        places.map((place, at) => [place.id, { ...place, json: rows[at]?.[0]?.json ?? "" }]),
      );
      const items = new Map<string, StoredItem>();
      for (const id of ids) {
        const json = itemIn(byId, id);
        if (json !== undefined) items.set(id, { id, json });
      }
      return { type: "found", items };
    });
  }

  findPlan(query: IdQuery, weigh: Weigh): Promise<string | undefined> {
    return again(weigh, undefined, async (more) => {
      const place = await this.#database.findPlan(query);
      if (place === undefined) return undefined;
      const { turn, bytes, shared, sharedBytes } = place;
      more(bytes + sharedBytes);
      const head = { span: onePart(turn, PLAN_PLACE), bytes };
      const rows = await this.#rows([head, ...sharedText(query.tenant, { shared, sharedBytes })]);
      if (rows === "gone") return rows;
      const [plan, rest] = rows.map(textOf);
      return rest === undefined ? plan : `${plan}${rest}}`;
    });
  }

  findHead(query: IdQuery, weigh: Weigh): Promise<ResponseHead | undefined> {
    return again(weigh, undefined, async (more) => {
      const place = await this.#database.findResponse(query);
      if (place === undefined) return undefined;
      more(place.headBytes);
      const rows = await this.#rows([headText(place)]);
      return rows === "gone" ? rows : headOf(place, rows[0]);
    });
  }

  findResponse(query: IdQuery, weigh: Weigh): Promise<StoredResponse | undefined> {
    return again(weigh, undefined, async (more) => {
      const place = await this.#database.findResponse(query);
      if (place === undefined) return undefined;
      const { turn, inputRows, answerBytes, headBytes, sharedBytes } = place;
      more(headBytes + answerBytes + sharedBytes);
      const from = FIRST_ITEM_PLACE + inputRows;
      const answer = { span: itemsOfTurn(turn, from), bytes: answerBytes };
      const texts = [headText(place), answer, ...sharedText(query.tenant, place)];
      const rows = await this.#rows(texts);
      if (rows === "gone") return rows;
      const [head, items = [], shared] = rows;
      return {
        ...headOf(place, head),
        items: items.flatMap(splitRow),
        ...(shared !== undefined && { shared: { text: textOf(shared) } }),
      };
    });
  }

  findInput(query: IdQuery, weigh: Weigh): Promise<readonly StoredItem[]> {
    return again<readonly StoredItem[]>(weigh, [], async (more) => {
      const place = await this.#database.findResponse(query);
      if (place === undefined) return [];
      const bytes = place.itemBytes - place.answerBytes;
      more(bytes);
      const rows = await this.#rows([{ span: inputOf(place), bytes }]);
      return rows === "gone" ? rows : rows.flat().flatMap(splitRow);
    });
  }

  loadChain(query: IdQuery, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const missing: FoundChain = { type: "missing", id: query.id };
    return again(weigh, missing, async (more) => {
      const found = await this.#chainOf(query, maxBytes);
      if (found.type !== "found") return found;
      const { own, before } = found;
      more(found.bytes + own.headBytes);
      const items = { span: itemsOfTurn(own.turn), bytes: own.itemBytes };
      const rows = await this.#rows([headText(own), ...before.map(beforeText), items]);
      if (rows === "gone") return rows;
      const [head, ...lists] = rows;
      const last = headOf(own, head);
      return { type: "found", texts: itemsTexts(lists.flat()), bytes: found.bytes, last };
    });
  }

  listInput(query: IdQuery, page: PageQuery, weigh: Weigh): Promise<FoundPage> {
    return again(weigh, { type: "missing" }, async (more) => {
      const found = await this.#chainOf(query, Number.MAX_SAFE_INTEGER);
      if (found.type !== "found") return { type: "missing" };
      const { own, before } = found;
      const lists = new ListPage(this.#database, { ...page, weigh: more });
      const sources = [...before.map(beforeSource), inputOf(own)];
      if (page.after === undefined || !isStorableId(page.after)) return lists.of(sources);
      const places = await this.#database.findChainItem({
        tenant: query.tenant,
        ids: rowIds([page.after]),
        chain: [...before, { ...own, segment: null }].map(({ turn, segment }) => [turn, segment]),
        order: page.order,
      });
      for (const place of places) {
        const listed = await lists.of(sources, place);
        if (listed.type === "found") return listed;
      }
      return { type: "unknown-after" };
    });
  }

  findConversation(query: IdQuery, weigh: Weigh): Promise<StoredConversation | undefined> {
    const { tenant, id } = query;
    return again(weigh, undefined, async (more) => {
      const place = await this.#database.findConversation(query);
      if (place === undefined) return undefined;
      more(place.bytes);
      const [row] = await this.#database.read([{ of: "conversation", tenant, id }]);
      return row?.[0] === undefined ? "gone" : { id, json: row[0].json };
    });
  }

  async listConversations(
    query: ListQuery & Omit<IdQuery, "id">,
    weigh: Weigh,
  ): Promise<FoundList> {
    const { tenant } = query;
    const found = await this.#database.listConversations(query);
    if (found.type === "missing") return found;
    weigh(sumOf(found.list));
    const places = found.list.map(({ id, bytes }): Place => {
      return { span: { of: "conversation", tenant, id }, bytes };
    });
    const rows = await this.#rows(places);
    const list = found.list.flatMap(({ id }, at) => {
      const row = rows === "gone" ? undefined : rows[at]?.[0];
      return row === undefined ? [] : [{ id, json: row.json }];
    });
    return { type: "found", list, isWhole: found.isWhole };
  }

  async loadConversation(
    query: IdQuery,
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundConversation> {
    const place = await this.#database.findConversation({ ...query, adds: "items" });
    if (place === undefined) return { type: "missing" };
    if (place.itemBytes > maxBytes) return { type: "too-large" };
    weigh(place.itemBytes);
    const rows = await this.#rows([{ span: itemsOf(query), bytes: place.itemBytes }]);
    const texts = rows === "gone" ? [] : itemsTexts(rows.flat());
    return { type: "found", texts, bytes: place.itemBytes };
  }

  async listItems(query: IdQuery, page: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const place = await this.#database.findConversation(query);
    if (place === undefined) return { type: "missing" };
    const { after: item, order } = page;
    const lists = new ListPage(this.#database, { ...page, weigh });
    const sources = [itemsOf(query)];
    if (item === undefined || !isStorableId(item)) return lists.of(sources);
    const start = await this.#database.findConversationItem({ ...query, item, order });
    return lists.of(sources, start && { ...start, id: item });
  }

  async findItem(query: IdQuery, item: string, weigh: Weigh): Promise<string | undefined> {
    const asked = { ...query, item, order: "asc" } as const;
    const found = await this.#database.findConversationItem(asked);
    if (found === undefined) return undefined;
    weigh(found.bytes);
    const { place } = found;
    const [rows] = await this.#database.read([{ ...itemsOf(query), from: place, to: place }]);
    return rows?.[0]?.json;
  }

  /** A response and what goes before it, oldest first. */
  async #chainOf(
    query: IdQuery,
    maxBytes: number,
  ): Promise<
    | Exclude<FoundChain, { readonly type: "found" }>
    | {
        readonly type: "found";
        readonly own: ResponsePlace;
        readonly before: readonly BeforePlace[];
        readonly bytes: number;
      }
  > {
    const own = await this.#database.findResponse(query);
    if (own === undefined) return { type: "missing", id: query.id };
    const before =
      own.previous === null ? [] : await this.#database.findBefore({ ...query, maxBytes });
    const bytes = own.itemBytes + sumOf(before);
    if (bytes > maxBytes) return { type: "too-large" };
    const missing = (before.at(-1) ?? own).previous;
    if (missing !== null) return { type: "missing", id: missing };
    return { type: "found", own, before: before.toReversed(), bytes };
  }

  /** The rows of every place. */
  async #rows(places: readonly Place[]): Promise<readonly (readonly Row[])[] | Gone> {
    const found = places.map((): Row[] => []);
    let slice: { readonly at: number; readonly span: Span }[] = [];
    let bytes = 0;
    const read = async (): Promise<void> => {
      const lists = await this.#database.read(slice.map(({ span }) => span));
      for (const [n, { at }] of slice.entries()) append(found[at] ?? [], lists[n] ?? []);
      slice = [];
      bytes = 0;
    };
    for (const [at, place] of places.entries())
      for await (const part of this.#slicesOf(place)) {
        if (slice.length > 0 && bytes + part.bytes > SLICE) await read();
        slice.push({ at, span: part.span });
        bytes += part.bytes;
      }
    if (slice.length > 0) await read();
    const isThere = ({ span, bytes: size }: Place, at: number): boolean =>
      mayChange(span) || sizeOf(found[at] ?? []) === size;
    return places.every(isThere) ? found : "gone";
  }

  /** A long list in parts, of which only one with a single long row is larger than a slice. */
  async *#slicesOf({ span, bytes }: Place): AsyncGenerator<Place> {
    if (bytes <= SLICE || !isList(span)) {
      yield { span, bytes };
      return;
    }
    let first = span.from;
    for (let isMore = true; isMore;) {
      const lists = [{ ...span, from: first }];
      const sizes = await this.#database.sizes({ lists, order: "asc", limit: ROWS });
      let size = 0;
      for (const { place, bytes: more } of sizes) {
        if (size > 0 && size + more > SLICE) {
          yield { span: { ...span, from: first, to: place - 1 }, bytes: size };
          [first, size] = [place, 0];
        }
        size += more;
      }
      const to = sizes.at(-1)?.place ?? span.to;
      if (size > 0) yield { span: { ...span, from: first, to }, bytes: size };
      first = to + 1;
      isMore = sizes.length === ROWS;
    }
  }
}

/** Looks for something anew while it is gone before it was read. It is weighed once. */
async function again<Found>(
  weigh: Weigh,
  none: Found,
  look: (more: Weigh) => Promise<Found | Gone>,
): Promise<Found> {
  let weighed = 0;
  for (let tries = 0; tries < TRIES; tries++) {
    let sum = 0;
    const found = await look((bytes) => {
      sum += bytes;
      if (sum > weighed) weigh(sum - weighed);
      weighed = Math.max(weighed, sum);
    });
    if (found !== "gone") return found;
  }
  return none;
}

const onePart = (turn: number, place: number): ListSpan => parts(turn, place, place);
const itemsOf = ({ tenant, id }: IdQuery): ListSpan => ({
  of: "items",
  tenant,
  id,
  from: 0,
  to: LAST_ITEM,
});

const headText = ({ turn, headBytes }: ResponsePlace): Place => ({
  span: onePart(turn, RESPONSE_PLACE),
  bytes: headBytes,
});

const sharedText = (
  tenant: Tenant,
  { shared, sharedBytes }: Pick<ResponsePlace, "shared" | "sharedBytes">,
): readonly Place[] =>
  shared === null ? [] : [{ span: { of: "shared", tenant, digest: shared }, bytes: sharedBytes }];

const inputOf = ({ turn, inputRows }: ResponsePlace): ListSpan =>
  parts(turn, FIRST_ITEM_PLACE, FIRST_ITEM_PLACE + inputRows - 1);

const beforeText = ({ turn, segment, bytes }: BeforePlace): Place => ({
  span: segment === null ? itemsOfTurn(turn) : { of: "segment", segment, bytes },
  bytes,
});

const beforeSource = ({ turn, segment }: BeforePlace): Source =>
  segment === null ? itemsOfTurn(turn) : { segment, turn };

function headOf(
  { id, previous, origin }: ResponsePlace,
  rows: readonly Row[] | undefined,
): ResponseHead {
  const json = textOf(rows ?? []);
  return { id, previous: previous ?? undefined, json, ...(origin !== null && { origin }) };
}

const isList = (span: Span): span is ListSpan => span.of === "turn" || span.of === "items";
/** What is said of conversations, and their items, may change at any time. */
const mayChange = ({ of }: Span): boolean => of === "conversation" || of === "items";

const textOf = (rows: readonly Row[]): string => rows[0]?.json ?? "";

const sizeOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
