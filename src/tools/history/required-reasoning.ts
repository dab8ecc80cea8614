import { isByModel } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item, Reasoning } from "../../turn/turn.ts";
import type { Mending, TracedItem } from "./traced-item.ts";

/** Whether every turn of the model's that makes calls begins with reasoning. */
export const areThoughtOut = (items: readonly Item<UpstreamName>[]): boolean =>
  thoughtless(items).length === 0;

/** Puts `blank` where a turn of the model's makes calls and what it thought before is not known. */
export function fitThoughts(
  told: readonly TracedItem[],
  blank: string,
  { notes, path }: Mending,
): readonly TracedItem[] {
  const places = new Set(thoughtless(told.map(({ item }) => item)));
  if (places.size === 0) return told;
  const thought: Reasoning = { type: "reasoning", summary: [], content: [blank] };
  return told.flatMap((one, place) => {
    if (!places.has(place)) return [one];
    const reason = "what was thought before the call is not known; the upstream is told of nothing";
    notes.note(path(one.at), "repaired", reason);
    return [{ item: thought, at: one.at }, one];
  });
}

/** Whether every thought of the model's led to something. */
export const areFollowed = (items: readonly Item<UpstreamName>[]): boolean =>
  lone(items).size === 0;

/** Leaves out thoughts that led to nothing: by themselves they make a message without content. */
export function dropLone(
  told: readonly TracedItem[],
  { notes, path }: Mending,
): readonly TracedItem[] {
  const places = lone(told.map(({ item }) => item));
  if (places.size === 0) return told;
  const reason =
    "the upstream takes nothing empty, and nothing was said or called after this thought";
  for (const place of places) notes.note(path(told[place]?.at ?? 0), "dropped", reason);
  return told.filter((_, place) => !places.has(place));
}

/** Where reasoning stands in a turn of the model's that holds nothing else. */
function lone(items: readonly Item<UpstreamName>[]): ReadonlySet<number> {
  const found = new Set<number>();
  let turn: number[] = [];
  let isFollowed = false;
  const close = (): void => {
    if (!isFollowed) for (const place of turn) found.add(place);
    turn = [];
    isFollowed = false;
  };
  for (const [place, item] of items.entries()) {
    if (!isByModel(item)) close();
    else if (item.type === "reasoning") turn.push(place);
    else isFollowed = true;
  }
  close();
  return found;
}

/** Where the turns begin that make calls and hold no reasoning before anything else. */
function thoughtless(items: readonly Item<UpstreamName>[]): number[] {
  const places: number[] = [];
  let start: number | undefined;
  let known = false;
  for (const [place, item] of items.entries()) {
    if (!isByModel(item)) {
      start = undefined;
      continue;
    }
    if (start === undefined) {
      start = place;
      known = isKnown(item);
    }
    if (item.type === "call" && !known) {
      places.push(start);
      known = true;
    }
  }
  return places;
}

const isKnown = (item: Item<UpstreamName>): boolean =>
  item.type === "reasoning" &&
  (item.content.length + item.summary.length > 0 || item.details !== undefined);
