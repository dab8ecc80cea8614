/** Items whose ids were made together are one row: a request may bring its whole history, a row for each of which would cost more than all else. */

import { madeId } from "../turn/item-ids.ts";
import type { StoredItem } from "./log.ts";

/** One item, or several with one id. */
export type Row = Pick<StoredItem, "id" | "json">;

/** Begins the id of a row of several items. */
export const GROUP_MARK = "~";
/** JSON as it is written here has no line break, so this stands between two items and nowhere else. */
const BETWEEN = ",\n";
/** How many items a row has at most: a page of them is read without the others. */
export const MOST_ITEMS = 16;
/** Characters of JSON. For a longer item, a row of its own costs nothing beside it. */
const LONGEST = 4 * 1024;

/**
 * The rows of a turn's items, in their order. Items that follow one another are
 * one row where their numbers in their group say so, the first time; so an item
 * is looked for in one row beside its own.
 */
export function joinGroups(items: readonly StoredItem[]): readonly Row[] {
  const rows: Row[] = [];
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

/** What the row of an item is found by, where it may be with others in one. */
const keyOf = (item: StoredItem | undefined): string | undefined =>
  item?.group === undefined || item.json.length > LONGEST ? undefined : rowKey(item.id);

function rowKey(id: string): string | undefined {
  const made = madeId(id);
  return made === undefined ? undefined : `${made.group}.${Math.floor(made.number / MOST_ITEMS)}`;
}

/** The items of a row. */
export function splitRow({ id, json }: Row): readonly Row[] {
  if (!id.startsWith(GROUP_MARK)) return [{ id, json }];
  return json.split(BETWEEN).map((item) => ({ id: idIn(item), json: item }));
}

/** The ids of rows that the items with these ids may be in. */
export const rowIds = (ids: readonly string[]): string[] => [
  ...new Set(ids.flatMap((id) => [id, ...groupRowIds(id)])),
];

/** The JSON of the item with this id among rows by their ids. What was sent again under the same id is a later row of its own. */
export function itemIn(rows: ReadonlyMap<string, Row>, id: string): string | undefined {
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
