/** Where the rows of a turn stand, and their texts. */

import type { StoredItem } from "./store.ts";

/** Where the parts of a turn stand. */
export const PLAN_PLACE = 0;
export const RESPONSE_PLACE = 1;
export const FIRST_ITEM_PLACE = 2;

/** Characters of a text that is parsed in a moment. */
export const TEXT = 256 * 1024;

/** The JSON of items, separated by commas, in texts of about that length where no item is longer. */
export function itemsTexts(items: Iterable<Pick<StoredItem, "json">>): readonly string[] {
  const texts: string[] = [];
  let text = "";
  for (const { json } of items) {
    if (text !== "" && text.length + json.length > TEXT) {
      texts.push(text);
      text = "";
    }
    text = text === "" ? json : `${text},${json}`;
  }
  return text === "" ? texts : [...texts, text];
}
