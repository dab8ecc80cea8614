/** The items and the response of a turn as one text. */

import type { ResponseRecord, StoredItem } from "./store.ts";

/** What others share with it is kept apart. */
type TurnContent = {
  readonly items: readonly StoredItem[];
  readonly response: Omit<ResponseRecord, "shared"> | undefined;
};

/**
 * On the first line what is short, and how long the texts behind it are: how many
 * items are input, the earlier response, the origin, the length of the response
 * (-1 for none), and of every item its id, its group and its length. Then the
 * response, and the items with commas between them.
 */
type Head = [number, string | null, string | null, number, ...(string | number | null)[]];
const HEAD_LENGTH = 4;
const ITEM_LENGTH = 3;

export function packTurn({ items, response }: TurnContent): string {
  const { previous = null, origin = null, json = "" } = response ?? {};
  const input = response?.input ?? [];
  const length = response === undefined ? -1 : json.length;
  const head: Head = [input.length, previous, origin, length];
  let texts = "";
  for (const list of [input, items])
    for (const item of list) {
      head.push(item.id, item.group ?? null, item.json.length);
      texts += texts === "" ? item.json : `,${item.json}`;
    }
  return `${JSON.stringify(head)}\n${json}${texts}`;
}

export function unpackTurn(text: string): TurnContent {
  const { head, at } = headOf(text);
  const [inputs, previous, origin, length] = head;
  let start = at + Math.max(length, 0);
  const all: StoredItem[] = [];
  for (let field = HEAD_LENGTH; field < head.length; field += ITEM_LENGTH) {
    const [id, group, chars] = head.slice(field, field + ITEM_LENGTH) as [string, string, number];
    const json = text.slice(start, start + chars);
    all.push(group === null ? { id, json } : { id, json, group });
    start += chars + ",".length;
  }
  const items = all.slice(inputs);
  if (length < 0) return { items, response: undefined };
  const response = {
    ...(previous !== null && { previous }),
    input: all.slice(0, inputs),
    json: text.slice(at, at + length),
    ...(origin !== null && { origin }),
  };
  return { items, response };
}

/** The items alone, with commas between them. */
export function itemsIn(text: string): string {
  const { head, at } = headOf(text);
  return text.slice(at + Math.max(head[3], 0));
}

function headOf(text: string): { readonly head: Head; readonly at: number } {
  const end = text.indexOf("\n");
  return { head: JSON.parse(text.slice(0, end)), at: end + 1 };
}
