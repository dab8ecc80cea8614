import type { Store, StoredItem } from "../store/store.ts";
import { jsonOf } from "../turn/json.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Turn } from "../turn/turn.ts";

/**
 * An answer of several rounds has the id of its first one, and an upstream that
 * keeps answers has kept each round as an answer of its own. Whoever goes on
 * from such an answer means all of it, and so the last round.
 */
export const lastAnswerItem = (answer: string, last: string): StoredItem => ({
  id: keyOf(answer),
  json: JSON.stringify(last),
});

/** What the last round is kept under; no item has such an id. */
const keyOf = (answer: string): string => `last-round:${answer}`;

/** A turn that goes on from an earlier answer, with the last round of that in its place. */
export async function fromLastAnswer(
  store: Pick<Store, "findItems">,
  tenant: Tenant,
  turn: Turn,
  limit: number,
): Promise<Turn> {
  const { previousResponse = "" } = turn.params;
  const field = turn.traits.params.previousResponse;
  const key = keyOf(previousResponse);
  const found = await store.findItems(tenant, [key], limit);
  const json = found.type === "too-large" ? undefined : found.items.get(key)?.json;
  const last = json === undefined ? undefined : jsonOf(json);
  if (typeof last !== "string" || field === undefined) return turn;
  return {
    ...turn,
    params: { ...turn.params, previousResponse: last },
    body: { ...turn.body, [field]: last },
  };
}
