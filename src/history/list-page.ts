/** Reads one page of lists in a database, and no more of them than it takes. */

import { append } from "../turn/append.ts";
import { FIRST_ITEM_PLACE } from "./chain-rows.ts";
import type { Database, ListedRow, ListSpan, Row, Span } from "./database.ts";
import { mostItemsIn, splitRow } from "./item-groups.ts";
import type { FoundPage, PageQuery, Weigh } from "./store.ts";

/** Bytes that are read at once, where a row is no longer. */
export const SLICE = 1024 * 1024;
/** How many lists are looked through together. */
const LISTS = 256;
const LAST_PLACE = 2 ** 20 - 1;

/** Rows of a turn. */
export const parts = (turn: number, from: number, to: number): ListSpan => ({
  of: "turn",
  turn,
  from,
  to,
});
/** Those of its items, from one of them on. */
export const itemsOfTurn = (turn: number, first = FIRST_ITEM_PLACE): ListSpan =>
  parts(turn, first, LAST_PLACE);
const noItems: ListSpan = parts(0, 1, 0);

export const sumOf = (places: readonly { readonly bytes: number }[]): number =>
  places.reduce((sum, { bytes }) => sum + bytes, 0);

type PageOptions = PageQuery & { readonly weigh: Weigh };
/** Where the item is behind which a page begins, and the id of its row. */
type Start = {
  readonly id: string;
  readonly turn?: number;
  readonly segment?: number | null;
  readonly place: number;
};
type SegmentPlace = { readonly segment: number; readonly turn: number };
/** A list, or the lists of the turns of a segment. */
export type Source = ListSpan | SegmentPlace;

type Lists = Pick<Database, "segmentTurns" | "sizes" | "read">;

/** One page of lists that follow one another: of these as many rows as the page takes. */
export class ListPage {
  readonly #database: Lists;
  readonly #options: PageOptions;

  constructor(database: Lists, options: PageOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Of lists that are given oldest first: what is behind the item that was asked for, which is at `start`; or the first. */
  async of(sources: readonly Source[], start?: Start): Promise<FoundPage> {
    const { after, limit, order, weigh } = this.#options;
    const inOrder = order === "asc" ? sources : sources.toReversed();
    const first = start === undefined ? 0 : inOrder.findIndex((source) => holds(source, start));
    if (first === -1 || (after !== undefined && start === undefined))
      return { type: "unknown-after" };
    const items: Row[] = [];
    // A row that is that item alone is not read.
    const isRow = start?.id === after;
    let isBehind = isRow;
    const edge = start && { ...start, place: start.place + (isRow ? step(order) : 0) };
    for await (const lists of this.#listsOf(inOrder.slice(first), edge))
      for (let rest = lists; ;) {
        const wanted = limit - items.length;
        const sizes = await this.#database.sizes({ lists: rest, order, limit: wanted + 1 });
        if (wanted === 0 && sizes.length > 0) return { type: "found", items, isWhole: false };
        const rows = sliceOf(sizes.slice(0, wanted), wanted);
        const last = rows.at(-1);
        if (last === undefined) break;
        weigh(sumOf(rows));
        for (const found of await this.#database.read(rows.map((row) => rowOf(rest, row)))) {
          const all = found.flatMap(splitRow);
          append(items, order === "asc" ? all : all.toReversed());
        }
        if (!isBehind) {
          const behind = 1 + items.findIndex(({ id }) => id === after);
          if (behind === 0) return { type: "unknown-after" };
          items.splice(0, behind);
          isBehind = true;
        }
        if (items.length > limit)
          return { type: "found", items: items.slice(0, limit), isWhole: false };
        rest = restOf(rest, { ...last, place: last.place + step(order) }, order);
      }
    return { type: "found", items, isWhole: true };
  }

  /** The lists in their order, from a place in the first on; those of a segment are looked for when it is their turn. */
  async *#listsOf(
    sources: readonly Source[],
    start: Start | undefined,
  ): AsyncGenerator<readonly ListSpan[]> {
    const { order } = this.#options;
    let lists: ListSpan[] = [];
    for (const [at, source] of sources.entries()) {
      const own = isSegment(source) ? await this.#turnsOf(source) : [source];
      const isFirst = at === 0 && start !== undefined;
      const list = isFirst
        ? own.findIndex((one) => (isSegment(source) ? isTurn(one, start) : true))
        : -1;
      append(lists, isFirst ? restOf(own, { ...start, list }, order) : own);
      if (lists.length < LISTS) continue;
      yield lists;
      lists = [];
    }
    if (lists.length > 0) yield lists;
  }

  async #turnsOf({ segment, turn }: SegmentPlace): Promise<readonly ListSpan[]> {
    const turns = await this.#database.segmentTurns({ segment, turn });
    const lists = turns.map((one) => itemsOfTurn(one));
    return this.#options.order === "asc" ? lists : lists.toReversed();
  }
}

/** As many rows as make a slice and may have no more items than are wanted; and one at least. */
function sliceOf(rows: readonly ListedRow[], wanted: number): readonly ListedRow[] {
  let [bytes, items] = [0, 0];
  const end = rows.findIndex((row, at) => {
    bytes += row.bytes;
    items += mostItemsIn(row.id);
    return at > 0 && (bytes > SLICE || items > wanted);
  });
  return end === -1 ? rows : rows.slice(0, end);
}

const rowOf = (lists: readonly ListSpan[], { list, place }: ListedRow): Span => ({
  ...(lists[list] ?? noItems),
  from: place,
  to: place,
});

/** What is left of lists from a place in one of them on. */
function restOf(
  lists: readonly ListSpan[],
  { list, place }: { readonly list: number; readonly place: number },
  order: PageQuery["order"],
): readonly ListSpan[] {
  const edge = order === "asc" ? "from" : "to";
  return [{ ...(lists[list] ?? noItems), [edge]: place }, ...lists.slice(list + 1)];
}

const step = (order: PageQuery["order"]): number => (order === "asc" ? 1 : -1);

function holds(source: Source, start: Start): boolean {
  const { turn = -1, segment, place } = start;
  if (isSegment(source)) return source.segment === segment && turn <= source.turn;
  return isTurn(source, start) && source.from <= place && place <= source.to;
}

const isTurn = (list: ListSpan, { turn }: Start): boolean =>
  list.of === "items" || list.turn === turn;

const isSegment = (source: Source): source is SegmentPlace => !("of" in source);
