/** Lists of which a request asks for one page, as the OpenAI API has them. */

import { Fault } from "../turn/fault.ts";
import type { Fields } from "../turn/turn.ts";
import { shownId } from "./shown-id.ts";

export type PageQuery = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the last item of the page before. */
  readonly after: string | undefined;
};

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

/** One page of a list whose items are given oldest first. */
export function page(
  items: readonly Fields[],
  { limit, order, after }: PageQuery,
  show: (item: Fields) => Fields,
): Fields {
  const all = order === "asc" ? items : items.toReversed();
  const at = after === undefined ? -1 : all.findIndex(({ id }) => id === after);
  if (after !== undefined && at === -1) throw unknownAfter(after);
  const data = all.slice(at + 1, at + 1 + limit).map(show);
  return listOf(data, at + 1 + limit < all.length);
}

export const listOf = (data: readonly Fields[], hasMore: boolean): Fields => ({
  object: "list",
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});

export const unknownAfter = (after: string): Fault =>
  wrong("after", `must be the id of an item of the list, and '${shownId(after)}' is none`);

const wrong = (param: string, problem: string): Fault =>
  new Fault("request.invalid", `\`${param}\` ${problem}.`, { param });
