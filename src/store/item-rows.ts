import { itemIn } from "./item-groups.ts";
import type { FoundItem } from "./store.ts";

/** A row of a query for items. */
export type ItemRow = {
  readonly id: string;
  readonly json: string | null;
  readonly origin: string | null;
};

/** The rows of one query as items, in the order in which their ids were asked for. */
export function itemsInOrder(
  ids: readonly string[],
  rows: readonly ItemRow[],
): ReadonlyMap<string, FoundItem> {
  const byId = new Map(rows.map((row) => [row.id, { ...row, json: row.json ?? "" }]));
  const items = new Map<string, FoundItem>();
  for (const id of ids) {
    const found = itemIn(byId, id);
    if (found === undefined) continue;
    const { origin } = found.row;
    items.set(id, { id, json: found.json, ...(origin !== null && { origin }) });
  }
  return items;
}
