/** Reads one page of the stored completions of a tenant, and no more of the store than that takes. */

import type { EntryHead, Log, PageQuery } from "../../history/log.ts";
import { isFields, jsonOf } from "../../json/json.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { Fields } from "../../turn/turn.ts";
import { unknownAfter } from "./page.ts";
import type { StepQueue } from "./steps.ts";
import type { HeldBytes } from "./budget.ts";

type ListOptions = {
  readonly store: Pick<Log, "lists">;
  readonly tenant: Tenant;
  /** How the ids of completions begin. */
  readonly prefix: string;
  readonly query: PageQuery;
  /** Which of them are asked for; none: all. */
  readonly chooses?: ((completion: Fields) => boolean) | undefined;
  /** A page ends with the one that reaches this. */
  readonly maxBytes: number;
  /** Holds what is chosen, and each time what is chosen from. */
  readonly memory: HeldBytes;
  readonly steps: StepQueue;
};

type CompletionPage = { readonly data: readonly EntryHead[]; readonly hasMore: boolean };

/** A page for which something was found ends when so many were looked at. */
const MOST_SEEN = 1000;
const SEEN_AT_ONCE = 100;

/**
 * Pages may be shorter than asked for, also where more follow. One is never
 * empty then: clients take that for the end of the list.
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
      // One that went while the page was read leaves what was found so far.
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
