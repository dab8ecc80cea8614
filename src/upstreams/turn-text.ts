import { isByModel } from "../turn/item.ts";
import type { AnyName } from "../turn/names.ts";
import type { Item, Part, Turn } from "../turn/turn.ts";

export const textOf = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

/** Where the last thing that the user said stands; -1 if they said nothing. */
export const lastUserIndex = <Name extends AnyName>(turn: Turn<Name>): number =>
  turn.items.findLastIndex((item) => item.type === "message" && item.role === "user");

export function lastUserText<Name extends AnyName>(turn: Turn<Name>): string {
  const item = turn.items[lastUserIndex(turn)];
  return item?.type === "message" ? textOf(item.parts) : "";
}

/** How often the model has spoken before: what it said without being answered counts once. */
export function modelTurns<Name extends AnyName>(items: readonly Item<Name>[]): number {
  let turns = 0;
  let speaking = false;
  for (const item of items) {
    const models = isByModel(item);
    if (models && !speaking) turns++;
    speaking = models;
  }
  return turns;
}
