import type { AnyName } from "./names.ts";
import type { Item, Message, Role } from "./turn.ts";

export const isByModel = <Name extends AnyName>(item: Item<Name>): boolean =>
  item.type === "call" ||
  item.type === "reasoning" ||
  (item.type === "message" && item.role === "assistant");

/** True for items of the model's turn: its own, and those of its provider. */
export const isOfModelTurn = <Name extends AnyName>(item: Item<Name>): boolean =>
  item.type === "opaque" || isByModel(item);

/** True for messages of the system or developer role. */
export const isBySystem = <Name extends AnyName>(item: Item<Name>): item is Message =>
  item.type === "message" && (item.role === "system" || item.role === "developer");

/** True for a message that its dialect keeps in the field for instructions. */
export const isInstructions = <Name extends AnyName>(item: Item<Name>): item is Message =>
  item.type === "message" && item.instructions === true;

export const textMessage = (role: Role, text: string): Message => ({
  type: "message",
  role,
  parts: [{ type: "text", text }],
});
