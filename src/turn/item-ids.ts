/** Ids that are made together for the items of one request: a store can keep them, and find them, as one. */

import type { NewId } from "./clock.ts";

export type ItemIds = {
  readonly next: NewId;
  /** What they have in common, and no other request's. */
  readonly group: string;
};

const GROUP_LENGTH = 20;
const ID = new RegExp(`^[a-z]+_([a-z2-7]{${GROUP_LENGTH}})([0-9]{4,})$`);

/**
 * Ids that nobody can guess, and that begin alike: side by side in the index of a
 * database, they are written on one page and not on one each.
 */
export function itemIds(newId: NewId): ItemIds {
  const group = newId("item").slice("item_".length).slice(0, GROUP_LENGTH);
  let count = 0;
  return { group, next: (prefix) => `${prefix}_${group}${String(count++).padStart(4, "0")}` };
}

/** The group that an id was made in, and which of them it is; undefined for other ids. */
export function madeId(
  id: string,
): { readonly group: string; readonly number: number } | undefined {
  const [, group, number] = ID.exec(id) ?? [];
  return group === undefined ? undefined : { group, number: Number(number) };
}

/** The group that an id was made in, if it was. */
export const groupOf = (id: string): string | undefined => madeId(id)?.group;

/** More than any id or seal has that we or a provider make. */
export const MAX_STORED_ID = 512;

/** Whether what is stored can have this id. Databases take neither NUL nor halves of a character. */
export const isStorableId = (id: string): boolean =>
  id.length <= MAX_STORED_ID && id.isWellFormed() && !id.includes("\0");
