import type { NewId } from "./clock.ts";

export type ItemIds = {
  readonly next: NewId;
  /** The part that all ids of one request share. */
  readonly group: string;
};

const GROUP_LENGTH = 20;
const ID = new RegExp(`^[a-z]+_([a-z2-7]{${GROUP_LENGTH}})([0-9]{4,})$`);

/**
 * Ids for the items of one request. They cannot be guessed, and share a prefix, so that the index of
 * a database keeps them on one page.
 */
export function itemIds(newId: NewId): ItemIds {
  const group = newId("item").slice("item_".length).slice(0, GROUP_LENGTH);
  let count = 0;
  return { group, next: (prefix) => `${prefix}_${group}${String(count++).padStart(4, "0")}` };
}

/** The group and number of an id that `itemIds` made; undefined for other ids. */
export function madeId(
  id: string,
): { readonly group: string; readonly number: number } | undefined {
  const [, group, number] = ID.exec(id) ?? [];
  return group === undefined ? undefined : { group, number: Number(number) };
}

/** The group of an id that `itemIds` made; undefined for other ids. */
export const groupOf = (id: string): string | undefined => madeId(id)?.group;

/** The most characters of a stored id; ids and seals of the gateway and of providers are shorter. */
export const MAX_STORED_ID = 512;

/** True if an id can be stored. Databases take neither NUL nor lone surrogates. */
export const isStorableId = (id: string): boolean =>
  id.length <= MAX_STORED_ID && id.isWellFormed() && !id.includes("\0");
