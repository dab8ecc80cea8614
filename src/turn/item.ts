/** Questions that are asked about items of a conversation. */

import type { AnyName } from "./names.ts";
import type { Item, Message } from "./turn.ts";

/** Whether the model itself said it. */
export const isByModel = <Name extends AnyName>(item: Item<Name>): boolean =>
  item.type === "call" ||
  item.type === "reasoning" ||
  (item.type === "message" && item.role === "assistant");

/** Whether the model itself said it, or its provider did it in the model's turn. */
export const isOfModelTurn = <Name extends AnyName>(item: Item<Name>): boolean =>
  item.type === "opaque" || isByModel(item);

/** Whether it tells the model what to be, whichever of the two roles a dialect has for that. */
export const isBySystem = <Name extends AnyName>(item: Item<Name>): item is Message =>
  item.type === "message" && (item.role === "system" || item.role === "developer");

/** Whether it is a field of its own in its dialect. */
export const isInstructions = <Name extends AnyName>(item: Item<Name>): item is Message =>
  item.type === "message" && item.instructions === true;
