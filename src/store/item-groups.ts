/** Items whose ids were made together are one row: a request may bring its whole history, a row for each of which would cost more than all else. */

import { groupOf } from "../turn/item-ids.ts";
import type { StoredItem } from "./store.ts";

type Row = Pick<StoredItem, "id" | "json">;

/** Begins the id of a row of several items. */
const MARK = "~";
/** JSON as it is written here has no line break, so this stands between two items and nowhere else. */
const BETWEEN = ",\n";

/**
 * The rows of a turn's items, in their order. The first run of several items of a
 * group is one row, and that alone: so an item is looked for in one row beside its own.
 */
export function joinGroups(items: readonly StoredItem[]): readonly Row[] {
  const from = items.findIndex((item, at) => areOfOneGroup(item, items[at + 1]));
  const group = items[from]?.group;
  if (group === undefined) return items;
  let end = from + 1;
  while (areOfOneGroup(items[from], items[end])) end++;
  const json = items.slice(from, end).map((item) => item.json);
  const row = { id: MARK + group, json: json.join(BETWEEN) };
  return [...items.slice(0, from), row, ...items.slice(end)];
}

const areOfOneGroup = (item: StoredItem | undefined, next: StoredItem | undefined): boolean =>
  item?.group !== undefined && item.group === next?.group;

/** The items of a row. */
export function splitRow({ id, json }: Row): readonly Row[] {
  if (!id.startsWith(MARK)) return [{ id, json }];
  return json.split(BETWEEN).map((item) => ({ id: idIn(item), json: item }));
}

/** The ids of rows that the items with these ids may be in. */
export const rowIds = (ids: readonly string[]): string[] => [
  ...new Set(ids.flatMap((id) => [id, ...groupRowId(id)])),
];

/** The item with this id among rows by their ids. What was sent again under the same id is a later row of its own. */
export function itemIn<Found extends Row>(
  rows: ReadonlyMap<string, Found>,
  id: string,
): { readonly row: Found; readonly json: string } | undefined {
  const own = rows.get(id);
  if (own !== undefined) return { row: own, json: own.json };
  for (const key of groupRowId(id)) {
    const row = rows.get(key);
    const item = row === undefined ? undefined : splitRow(row).find((one) => one.id === id);
    if (row !== undefined && item !== undefined) return { row, json: item.json };
  }
  return undefined;
}

function groupRowId(id: string): [string] | [] {
  const group = groupOf(id);
  return group === undefined ? [] : [MARK + group];
}

/** The id of an item of a group, which its JSON begins with. */
const idIn = (json: string): string => /^\{"id":"([^"]*)"/.exec(json)?.[1] ?? "";
