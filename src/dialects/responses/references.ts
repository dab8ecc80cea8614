/** Resolves `item_reference` among the input. */

import { isFields, jsonOf } from "../../turn/json.ts";
import type { References } from "../dialect.ts";

const none: readonly string[] = [];

/** `item_reference` among the input. */
export const references: References = {
  idsIn({ input }) {
    if (!Array.isArray(input)) return none;
    const items: readonly unknown[] = input;
    let ids: string[] | undefined;
    for (const item of items) if (isReference(item)) (ids ??= []).push(item.id);
    return ids ?? none;
  },
  resolve(body, found) {
    const { input } = body;
    if (!Array.isArray(input) || found.size === 0) return body;
    const items: readonly unknown[] = input;
    /** An item that is referred to twice is read once. */
    const read = new Map<string, unknown>();
    const resolved = items.map((item) => {
      const json = isReference(item) ? found.get(item.id)?.json : undefined;
      if (json === undefined || !isReference(item)) return item;
      if (!read.has(item.id)) read.set(item.id, jsonOf(json));
      return read.get(item.id);
    });
    return { ...body, input: resolved };
  },
};

type Reference = { readonly id: string };

/** The API lets its type be left out. */
const isReference = (item: unknown): item is Reference =>
  isFields(item) &&
  typeof item.id === "string" &&
  (item.type === "item_reference" || (item.type == null && item.role === undefined));
