/** Lists of which a request asks for one page, as the OpenAI API has them. */

import { Fault } from "../../turn/fault.ts";
import type { FoundPage, PageQuery, StoredItem } from "../../history/log.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import { isLong } from "./steps.ts";
import { REST } from "./send-json.ts";
import { shownId } from "./to-fault.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export function readPageQuery(query: string): PageQuery {
  const fields = new URLSearchParams(query);
  const limit = fields.get("limit") ?? String(DEFAULT_LIMIT);
  const order = fields.get("order") ?? "desc";
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT)
    throw wrong("limit", `must be a whole number from 1 to ${MAX_LIMIT}`);
  if (order !== "asc" && order !== "desc") throw wrong("order", "must be `asc` or `desc`");
  return { limit: Number(limit), order, after: fields.get("after") ?? undefined };
}

/** A list as JSON, of which each item is parsed and written when it is its turn. What is no item, as a damaged row may hold, is left out. */
export function* listPieces(
  items: readonly Pick<StoredItem, "json">[],
  hasMore: boolean,
  show: (item: Fields) => unknown = (item) => item,
): Generator<string> {
  let [first, last]: unknown[] = [];
  yield '{"object":"list","data":[';
  for (const { json } of items) {
    const takesLong = isLong(json);
    if (takesLong) yield REST;
    const item = jsonOf(json);
    if (!isFields(item)) continue;
    if (takesLong) yield REST;
    yield `${first === undefined ? "" : ","}${JSON.stringify(show(item))}`;
    first ??= item.id ?? null;
    last = item.id;
  }
  const ids = { first_id: first ?? null, last_id: last ?? null, has_more: hasMore };
  yield `],${JSON.stringify(ids).slice(1)}`;
}

/** The same of a page that was found in the store. */
export function pagePieces(
  page: Exclude<FoundPage, { readonly type: "missing" }>,
  { after = "" }: PageQuery,
  show?: (item: Fields) => unknown,
): Generator<string> {
  if (page.type === "unknown-after") throw unknownAfter(after);
  return listPieces(page.items, !page.isWhole, show);
}

export const unknownAfter = (after: string): Fault =>
  wrong("after", `must be the id of an item of the list, and '${shownId(after)}' is none`);

const wrong = (param: string, problem: string): Fault =>
  new Fault("request.invalid", `\`${param}\` ${problem}.`, { param });
