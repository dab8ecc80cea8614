/** The items and the response of a turn as one piece of memory, of which any part is read without the others. */

import type { ResponseRecord, StoredItem } from "./store.ts";
import type { TextBlocks } from "./text-blocks.ts";

/** What others share with it is kept apart. */
export type TurnContent = {
  readonly items: readonly StoredItem[];
  readonly response: Omit<ResponseRecord, "shared"> | undefined;
};

/**
 * The response, the items with commas between them, and what is short: how many
 * items are input, the earlier response, the origin, how many bytes the response
 * has (-1 for none), and of every item its id, its group and its bytes.
 */
type Head = [number, string | null, string | null, number, ...(string | number | null)[]];
const HEAD_LENGTH = 4;
const ITEM_LENGTH = 3;

export type PackedTurn = {
  readonly bytes: Uint8Array;
  /** Where its items begin and end; its head is behind them. */
  readonly items: number;
  readonly head: number;
};

/** To be stored before the next is packed. */
export function packTurn({ items, response }: TurnContent, blocks: TextBlocks): PackedTurn {
  const { previous = null, origin = null, json = "" } = response ?? {};
  const input = response?.input ?? [];
  const all = [...input, ...items];
  const texts = [json, ...all.map((item, at) => (at === 0 ? item.json : `,${item.json}`))];
  return blocks.encode(texts, (sizes) => {
    const [size = 0] = sizes;
    const head: Head = [input.length, previous, origin, response === undefined ? -1 : size];
    for (const [at, item] of all.entries())
      head.push(item.id, item.group ?? null, (sizes[at + 1] ?? 0) - Number(at > 0));
    return JSON.stringify(head);
  });
}

/** An item of a turn, and where it is behind the beginning of the turn. */
export type PackedItem = {
  readonly id: string;
  readonly group: string | undefined;
  readonly start: number;
  readonly bytes: number;
};

export type PackedHead = Pick<ResponseRecord, "previous" | "origin"> & {
  /** None where it has no response. */
  readonly responseBytes: number | undefined;
  readonly input: readonly PackedItem[];
  readonly items: readonly PackedItem[];
};

export function unpackHead(text: string): PackedHead {
  const head = JSON.parse(text) as Head;
  const [inputs, previous, origin, length] = head;
  let start = Math.max(length, 0);
  const all: PackedItem[] = [];
  for (let field = HEAD_LENGTH; field < head.length; field += ITEM_LENGTH) {
    const [id, group, bytes] = head.slice(field, field + ITEM_LENGTH) as [string, string, number];
    all.push({ id, group: group ?? undefined, start, bytes });
    start += bytes + ",".length;
  }
  return {
    ...(previous !== null && { previous }),
    ...(origin !== null && { origin }),
    responseBytes: length < 0 ? undefined : length,
    input: all.slice(0, inputs),
    items: all.slice(inputs),
  };
}
