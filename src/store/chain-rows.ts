import { splitRow } from "./item-groups.ts";
import type { FoundChain, StoredItem, StoredResponse } from "./store.ts";

/** One row of a chain. */
export type ChainRow = {
  /** 1 is the response that was asked for. */
  readonly depth: number;
  /** Of that one: RESPONSE_PLACE for its turn, whose `json` is the response, and higher for an item. Else BEFORE_PLACE. */
  readonly place: number;
  readonly id: string;
  /** Where `place` is BEFORE_PLACE, items of earlier turns separated by commas; null where there are too many. */
  readonly json: string | null;
  /** The response that goes before. */
  readonly previous: string | null;
  readonly inputs: number | null;
  readonly origin: string | null;
  /** How many bytes of items there are. */
  readonly bytes: number | null;
};

/** Where the parts of a turn stand. */
export const PLAN_PLACE = 0;
export const RESPONSE_PLACE = 1;
export const FIRST_ITEM_PLACE = 2;
/** For the items of the turns before. */
export const BEFORE_PLACE = -1;

/** Puts the rows of one query together: the turn and the items of the response, and what goes before it from the newest on. */
export function chainOf(id: string, rows: readonly ChainRow[], maxBytes: number): FoundChain {
  const last = responseIn(rows);
  if (last === undefined) return { type: "missing", id };
  const earlier = rows.filter(({ place }) => place === BEFORE_PLACE);
  const own = rows.find(({ place }) => place === RESPONSE_PLACE);
  const isLarge = (own?.bytes ?? 0) > maxBytes || earlier.some(({ json }) => json === null);
  if (isLarge) return { type: "too-large" };
  const missing = earlier.length === 0 ? last.previous : (earlier.at(-1)?.previous ?? undefined);
  if (missing !== undefined) return { type: "missing", id: missing };
  const texts = earlier.map(({ json }) => json ?? "");
  return { type: "found", before: joinedTexts(texts.toReversed()), last };
}

/** The JSON of items, separated by commas. */
export const itemsText = (items: readonly StoredItem[]): string =>
  items.map(({ json }) => json).join(",");

/** Several such texts as one; turns without items leave nothing between two commas. */
export const joinedTexts = (texts: readonly string[]): string =>
  texts.filter((text) => text !== "").join(",");

/** The one response of a query for one; `shared` is the text that it has in common with others. */
export function responseIn(
  rows: readonly ChainRow[],
  shared?: string | null,
): StoredResponse | undefined {
  const row = rows.find(({ place }) => place === RESPONSE_PLACE);
  if (row === undefined) return undefined;
  const { id, previous, json, inputs, origin } = row;
  const inOrder = rows
    .filter(({ place }) => place >= FIRST_ITEM_PLACE)
    .toSorted((a, b) => a.place - b.place)
    .flatMap((item) => splitRow({ id: item.id, json: item.json ?? "" }));
  return {
    id,
    previous: previous ?? undefined,
    input: inOrder.slice(0, inputs ?? 0),
    items: inOrder.slice(inputs ?? 0),
    json: json ?? "",
    ...(shared != null && { shared: { text: shared } }),
    ...(origin !== null && { origin }),
  };
}
