/** Lists that are read page by page, in the form of the OpenAI API. */

import type { Fault } from "../../turn/fault.ts";
import type { EntryHead, FoundPage, Log, PageQuery, StoredItem } from "../../history/log.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Fields } from "../../turn/turn.ts";
import { isLong, type StepQueue } from "./steps.ts";
import { REST } from "./send-json.ts";
import type { HeldBytes } from "./budget.ts";
import { shownId, wrongParam } from "./to-fault.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export function readPageQuery(query: string, defaultOrder: PageQuery["order"] = "desc"): PageQuery {
  const fields = new URLSearchParams(query);
  const limit = fields.get("limit") ?? String(DEFAULT_LIMIT);
  const order = fields.get("order") ?? defaultOrder;
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT)
    throw wrongParam("limit", `must be a whole number from 1 to ${MAX_LIMIT}`);
  if (order !== "asc" && order !== "desc") throw wrongParam("order", "must be `asc` or `desc`");
  return { limit: Number(limit), order, after: fields.get("after") ?? undefined };
}

/** A list as JSON. Each item is parsed and written when its piece is asked for; damaged items are left out. */
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

/** The JSON of a page from the store. */
export function pagePieces(
  page: Exclude<FoundPage, { readonly type: "missing" }>,
  { after = "" }: PageQuery,
  show?: (item: Fields) => unknown,
): Generator<string> {
  if (page.type === "unknown-after") throw unknownAfter(after);
  return listPieces(page.items, !page.isWhole, show);
}

export const unknownAfter = (after: string): Fault =>
  wrongParam("after", `must be the id of an item of the list, and '${shownId(after)}' is none`);

type ListOptions = {
  readonly store: Pick<Log, "lists">;
  readonly tenant: Tenant;
  /** The prefix of the ids of completions. */
  readonly prefix: string;
  readonly query: PageQuery;
  /** A filter; left out: all. */
  readonly chooses?: ((completion: Fields) => boolean) | undefined;
  /** A page ends with the one that reaches this. */
  readonly maxBytes: number;
  /** Holds the chosen completions, and one batch of candidates at a time. */
  readonly memory: HeldBytes;
  readonly steps: StepQueue;
};

type CompletionPage = { readonly data: readonly EntryHead[]; readonly hasMore: boolean };

/** Candidates after which a page ends that has at least one completion. */
const MOST_SEEN = 1000;
const SEEN_AT_ONCE = 100;

/**
 * One page of the stored completions of a tenant. It may be shorter than asked for even if more
 * follow, but never empty then: to clients an empty page is the end of the list.
 */
export async function completionPage(options: ListOptions): Promise<CompletionPage> {
  const { store, tenant, prefix, query, chooses, maxBytes, memory, steps } = options;
  const rest = steps.resting();
  const data: EntryHead[] = [];
  const pageOf = (hasMore: boolean): CompletionPage => ({ data, hasMore });
  let { after } = query;
  let seen = 0;
  let length = 0;
  for (;;) {
    const limit = chooses === undefined ? query.limit : SEEN_AT_ONCE;
    const { order } = query;
    using held = memory.beside();
    const found = await store.lists(tenant, { prefix, order, after, limit, maxBytes }, held.load);
    if (found.type === "missing") {
      // If the last candidate was deleted meanwhile, the page ends with those before it.
      if (after === query.after) throw unknownAfter(after ?? "");
      return pageOf(data.length > 0);
    }
    for (const one of found.list) {
      const { id, json } = one;
      after = id;
      const completion = jsonOf(json);
      if (!isFields(completion) || chooses?.(completion) === false) continue;
      if (data.length === query.limit || length >= maxBytes) return pageOf(true);
      memory.load(json.length);
      data.push(one);
      length += json.length;
      await rest();
    }
    seen += found.list.length;
    if (found.isWhole) return pageOf(false);
    const isEnough = chooses === undefined || seen >= MOST_SEEN;
    if (isEnough && data.length > 0) return pageOf(true);
  }
}
