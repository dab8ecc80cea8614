import type { FoundChain, StoredItem, StoredResponse } from "./store.ts";

/** One row of a chain: a turn (`place` is RESPONSE_PLACE and `json` its response), or an item of it. */
export type ChainRow = {
  /** 1 is the response that was asked for. */
  readonly depth: number;
  readonly place: number;
  readonly id: string;
  /** Null where the chain is too large to be loaded. */
  readonly json: string | null;
  /** Of turns alone. */
  readonly at: number | null;
  readonly previous: string | null;
  readonly inputs: number | null;
  readonly origin: string | null;
};

/** Where the parts of a turn stand. */
export const PLAN_PLACE = 0;
export const RESPONSE_PLACE = 1;
export const FIRST_ITEM_PLACE = 2;

type Turn = { readonly row: ChainRow; readonly items: { place: number; item: StoredItem }[] };

/** Puts the rows of one query together, in whatever order they came. */
export function chainOf(id: string, rows: readonly ChainRow[]): FoundChain {
  const turns: Turn[] = [];
  for (const row of rows)
    if (row.place === RESPONSE_PLACE) turns[row.depth - 1] = { row, items: [] };
  const last = turns.at(-1);
  if (last === undefined) return { type: "missing", id };
  if (turns.some(({ row }) => row.json === null)) return { type: "too-large" };
  if (last.row.previous !== null) return { type: "missing", id: last.row.previous };
  for (const { depth, place, id: itemId, json } of rows)
    if (place >= FIRST_ITEM_PLACE && json !== null)
      turns[depth - 1]?.items.push({ place, item: { id: itemId, json } });
  const [newest, ...older] = turns.map(responseOf);
  if (newest === undefined) return { type: "missing", id };
  const before = older.map(({ input, items }) => itemsText([...input, ...items]));
  return { type: "found", before: joinedTexts(before.toReversed()), last: newest };
}

/** The JSON of items, separated by commas. */
export const itemsText = (items: readonly StoredItem[]): string =>
  items.map(({ json }) => json).join(",");

/** Several such texts as one; turns without items leave nothing between two commas. */
export const joinedTexts = (texts: readonly string[]): string =>
  texts.filter((text) => text !== "").join(",");

/** The one response of a query for one. */
export function responseIn(rows: readonly ChainRow[]): StoredResponse | undefined {
  const row = rows.find(({ place }) => place === RESPONSE_PLACE);
  if (row === undefined) return undefined;
  const items = rows.flatMap(({ place, id, json }) =>
    place >= FIRST_ITEM_PLACE && json !== null ? [{ place, item: { id, json } }] : [],
  );
  return responseOf({ row, items });
}

function responseOf({ row, items }: Turn): StoredResponse {
  const { id, at, previous, json, inputs, origin } = row;
  const inOrder = items.toSorted((a, b) => a.place - b.place).map(({ item }) => item);
  return {
    id,
    at: at ?? 0,
    previous: previous ?? undefined,
    input: inOrder.slice(0, inputs ?? 0),
    items: inOrder.slice(inputs ?? 0),
    json: json ?? "",
    ...(origin !== null && { origin }),
  };
}
