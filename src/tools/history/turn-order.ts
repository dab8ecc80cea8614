import { isByModel, isBySystem } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item } from "../../turn/turn.ts";
import type { Mending, TracedItem } from "./traced-item.ts";

/** Whether nobody but the model speaks right behind results. */
export const areTakenUp = (items: readonly Item<UpstreamName>[]): boolean =>
  items.every((_, place) => !isLeft(items, place));

/** Has the model say `words` where somebody else speaks right behind results. */
export function takeUp(
  told: readonly TracedItem[],
  words: string,
  { notes, path }: Mending,
): readonly TracedItem[] {
  const items = told.map(({ item }) => item);
  const parts = [{ type: "text", text: words } as const];
  return told.flatMap((one, place) => {
    if (!isLeft(items, place)) return [one];
    const reason = "only the model may speak behind results, so it is taken to have said a word";
    notes.note(path(one.at), "repaired", reason);
    return [{ item: { type: "message", role: "assistant", parts }, at: one.at }, one];
  });
}

/** Whether somebody else than the model speaks right behind results: what it only thought is nothing said. */
function isLeft(items: readonly Item<UpstreamName>[], place: number): boolean {
  const item = items[place];
  if (item === undefined || item.type === "result" || isByModel(item)) return false;
  let before = place - 1;
  while (items[before]?.type === "reasoning") before--;
  return items[before]?.type === "result";
}

/** Whether somebody speaks before the model calls anything. */
export const isLedIn = (items: readonly Item<UpstreamName>[]): boolean => firstCall(items) < 0;

/** Has the user say `words` where the conversation begins with calls. */
export function leadIn(
  told: readonly TracedItem[],
  words: string,
  { notes, path }: Mending,
): readonly TracedItem[] {
  const items = told.map(({ item }) => item);
  const first = told[firstCall(items)];
  if (first === undefined) return told;
  const reason = "a call must follow somebody's words, so the user is taken to have said some";
  notes.note(path(first.at), "repaired", reason);
  const parts = [{ type: "text", text: words } as const];
  const place = items.findIndex(isByModel);
  return told.toSpliced(place, 0, { item: { type: "message", role: "user", parts }, at: first.at });
}

/** The first call, if nobody but the model and the system has spoken by then. */
function firstCall(items: readonly Item<UpstreamName>[]): number {
  const place = items.findIndex((item) => !isByModel(item) && !isBySystem(item));
  const before = place < 0 ? items : items.slice(0, place);
  return before.findIndex((item) => item.type === "call");
}
