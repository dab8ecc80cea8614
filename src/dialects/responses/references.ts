/** Resolves `item_reference` among the input. */

import { isFields, jsonOf } from "../../json/json.ts";
import type { Fields } from "../../turn/turn.ts";
import type { MissingItem, References } from "../dialect.ts";

const none: readonly string[] = [];

/** `item_reference` among the input. */
export const references: References = {
  idsIn({ input }, areBareToo) {
    if (!Array.isArray(input)) return none;
    const items: readonly unknown[] = input;
    let ids: string[] | undefined;
    for (const item of items) if (refers(item, areBareToo)) (ids ??= []).push(item.id);
    return ids ?? none;
  },
  resolve(body, found, areBareToo) {
    const { input } = body;
    if (!Array.isArray(input)) return { body, missing: [] };
    const items: readonly unknown[] = input;
    /** An item that is referred to twice is read once. */
    const read = new Map<string, unknown>();
    const missing: MissingItem[] = [];
    const resolved = items.flatMap((item) => {
      if (!refers(item, areBareToo)) return [item];
      const json = found.get(item.id)?.json;
      if (json === undefined) {
        missing.push({ id: item.id, isIdle: item.type === "reasoning" });
        return [];
      }
      if (!read.has(item.id)) read.set(item.id, jsonOf(json));
      return [read.get(item.id)];
    });
    return { body: { ...body, input: resolved }, missing };
  },
};

type Reference = Fields & { readonly id: string };

const refers = (item: unknown, areBareToo: boolean): item is Reference =>
  isReference(item) || (areBareToo && isBare(item));

const hasId = (item: unknown): item is Reference => isFields(item) && typeof item.id === "string";

/** The API lets its type be left out. */
const isReference = (item: unknown): item is Reference =>
  hasId(item) && (item.type === "item_reference" || (item.type == null && item.role === undefined));

/** The fields that hold what an item is about, whatever else it says. */
const contents: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["reasoning", ["summary", "content", "encrypted_content"]],
  ["image_generation_call", ["result"]],
]);

/** Whether an item says nothing but its id, such as reasoning without a word or a seal. */
function isBare(item: unknown): item is Reference {
  if (!hasId(item)) return false;
  const { type, id: _, status: __, ...rest } = item;
  const said = contents.get(type)?.map((key) => item[key]) ?? Object.values(rest);
  return said.every(isNothing);
}

const isNothing = (value: unknown): boolean =>
  value == null || value === "" || (Array.isArray(value) && value.every(isEmptyText));
const isEmptyText = (part: unknown): boolean => isFields(part) && part.text === "";
