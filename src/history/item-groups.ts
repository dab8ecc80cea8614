/** Items whose ids were made together share a row: with one row per item, a long history would cost more than the rest of the write. */

import { madeId } from "../turn/item-ids.ts";
import type { StoredItem } from "./log.ts";

/** One item, or several with one id. */
export type ItemRow = Pick<StoredItem, "id" | "json">;

/** Begins the id of a row of several items. */
const GROUP_MARK = "~";
/** Separates two items: their JSON has no line break. */
const BETWEEN = ",\n";
/** The most items of a row: a page also reads the other items of its rows. */
export const MOST_ITEMS = 16;
/** The most characters of an item that shares a row. For a longer one the cost of a row does not matter. */
const LONGEST = 4 * 1024;

/**
 * The rows of a turn's items, in their order. Items that follow one another share a row
 * if their numbers have the same quotient, and only the first such row is shared; so a
 * search looks in one row beside the item's own.
 */
export function joinGroups(items: readonly StoredItem[]): readonly ItemRow[] {
  const rows: ItemRow[] = [];
  const known = new Set<string>();
  for (let at = 0; at < items.length;) {
    const item = items[at];
    if (item === undefined) break;
    const key = keyOf(item);
    let end = at + 1;
    if (key !== undefined && !known.has(key)) while (keyOf(items[end]) === key) end++;
    if (end === at + 1) rows.push(item);
    else {
      known.add(key ?? "");
      const json = items.slice(at, end).map((one) => one.json);
      rows.push({ id: GROUP_MARK + key, json: json.join(BETWEEN) });
    }
    at = end;
  }
  return rows;
}

/** The id of the row that an item may share; undefined for an item with its own row. */
const keyOf = (item: StoredItem | undefined): string | undefined =>
  item?.group === undefined || item.json.length > LONGEST ? undefined : rowKey(item.id);

function rowKey(id: string): string | undefined {
  const made = madeId(id);
  return made === undefined ? undefined : `${made.group}.${Math.floor(made.number / MOST_ITEMS)}`;
}

/** True for the id of a row of several items. */
export const isGroup = (id: string): boolean => id.startsWith(GROUP_MARK);

/** The items of a row. */
export function splitRow({ id, json }: ItemRow): readonly ItemRow[] {
  if (!isGroup(id)) return [{ id, json }];
  return json.split(BETWEEN).map((item) => ({ id: idIn(item), json: item }));
}

/** The ids of rows that the items with these ids may be in. */
export const rowIds = (ids: readonly string[]): string[] => [
  ...new Set(ids.flatMap((id) => [id, ...groupRowIds(id)])),
];

/** The JSON of the item with this id among rows by their ids. An item that was sent again with the same id is a separate, later row. */
export function itemIn(rows: ReadonlyMap<string, ItemRow>, id: string): string | undefined {
  const own = rows.get(id);
  if (own !== undefined) return own.json;
  for (const key of groupRowIds(id)) {
    const row = rows.get(key);
    const item = row === undefined ? undefined : splitRow(row).find((one) => one.id === id);
    if (item !== undefined) return item.json;
  }
  return undefined;
}

function groupRowIds(id: string): readonly string[] {
  const key = rowKey(id);
  return key === undefined ? [] : [GROUP_MARK + key];
}

/** The id of an item of a group, which its JSON begins with. */
const idIn = (json: string): string => /^\{"id":"([^"]*)"/.exec(json)?.[1] ?? "";
