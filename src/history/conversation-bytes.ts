/** What conversations weigh in a database. */

import type { StoredItem } from "./store.ts";

/** What a conversation and each of its items take beside their text. */
const ROW_BYTES = 128;

export const conversationBytes = (json: string): number => Buffer.byteLength(json) + ROW_BYTES;
export const conversationItemsBytes = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + Buffer.byteLength(json) + ROW_BYTES, 0);
