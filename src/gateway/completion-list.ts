/** Reads one page of the stored completions of a tenant, and no more of the store than that takes. */

import type { ConversationStore } from "../store/conversations.ts";
import { isFields, jsonOf } from "../turn/json.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import { listOf, unknownAfter, type PageQuery } from "./page.ts";

type ListOptions = {
  readonly conversations: Pick<ConversationStore, "listConversations">;
  readonly tenant: Tenant;
  /** How the ids of completions begin. */
  readonly prefix: string;
  readonly query: PageQuery;
  /** Which of them are asked for; none: all. */
  readonly chooses?: ((completion: Fields) => boolean) | undefined;
  /** A page ends with the one that reaches this. */
  readonly maxBytes: number;
};

/** A page for which something was found ends when so many were looked at. */
const MOST_SEEN = 1000;
const SEEN_AT_ONCE = 100;

/**
 * Pages may be shorter than asked for, also where more follow. One is never
 * empty then: clients take that for the end of the list.
 */
export async function completionPage(options: ListOptions): Promise<Fields> {
  const { conversations, tenant, prefix, query, chooses, maxBytes } = options;
  const chosen: Fields[] = [];
  let { after } = query;
  let seen = 0;
  let length = 0;
  for (;;) {
    const limit = chooses === undefined ? query.limit : SEEN_AT_ONCE;
    const { order } = query;
    const found = await conversations.listConversations(tenant, {
      prefix,
      order,
      after,
      limit,
      maxBytes,
    });
    if (found.type === "missing") {
      // One that went while the page was read leaves what was found so far.
      if (after === query.after) throw unknownAfter(after ?? "");
      return listOf(chosen, chosen.length > 0);
    }
    for (const { id, json } of found.list) {
      after = id;
      const completion = jsonOf(json);
      if (!isFields(completion) || chooses?.(completion) === false) continue;
      if (chosen.length === query.limit || length >= maxBytes) return listOf(chosen, true);
      chosen.push(completion);
      length += json.length;
    }
    seen += found.list.length;
    if (found.isWhole) return listOf(chosen, false);
    const isEnough = chooses === undefined || seen >= MOST_SEEN;
    if (isEnough && chosen.length > 0) return listOf(chosen, true);
  }
}
