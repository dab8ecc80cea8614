/** The text of a turn's messages, for scripts and the demo. */

import { isByModel } from "../turn/item.ts";
import type { AnyName } from "../turn/names.ts";
import type { Item, Part, Turn } from "../turn/turn.ts";

export const joinText = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

/** The index of the last user message; -1 without one. */
export const lastUserIndex = <Name extends AnyName>(turn: Turn<Name>): number =>
  turn.items.findLastIndex((item) => item.type === "message" && item.role === "user");

export function lastUserText<Name extends AnyName>(turn: Turn<Name>): string {
  const item = turn.items[lastUserIndex(turn)];
  return item?.type === "message" ? joinText(item.parts) : "";
}

/** The number of answers of the model. Consecutive items of the model are one answer. */
export function modelTurns<Name extends AnyName>(items: readonly Item<Name>[]): number {
  let turns = 0;
  let inAnswer = false;
  for (const item of items) {
    const isModels = isByModel(item);
    if (isModels && !inAnswer) turns++;
    inAnswer = isModels;
  }
  return turns;
}
