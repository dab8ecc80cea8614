import { isFields } from "../../turn/json.ts";
import type { Fields } from "../../turn/turn.ts";

/**
 * A request with the items that its references stand for in their place. What
 * is not found stays a reference: the upstream may know it.
 */
export function recallItems(body: Fields, find: (id: string) => Fields | undefined): Fields {
  const { input } = body;
  if (!Array.isArray(input) || !input.some(isReference)) return body;
  const items: readonly unknown[] = input;
  return { ...body, input: items.map((item) => (isReference(item) && find(item.id)) || item) };
}

type Reference = { readonly id: string };

/** The API lets its type be left out. */
const isReference = (item: unknown): item is Reference =>
  isFields(item) &&
  typeof item.id === "string" &&
  (item.type === "item_reference" || (item.type == null && item.role === undefined));
