import { isOfModelTurn } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item, Reasoning } from "../../turn/turn.ts";
import { Draft, originOf, type History, type RepairContext } from "./draft.ts";

/** Puts `blank` where a turn of the model's makes calls and what it thought before is not known. */
export function addMissingReasoning(
  history: History,
  blank: string,
  { notes, path }: RepairContext,
): History {
  const { items } = history;
  const draft = new Draft(history);
  let end = 0;
  items.forEach((item, place) => {
    if (place >= end) {
      end = turnEnd(items, place);
      if (!isKnown(item) && hasIn(items, place, end, "call")) {
        const origin = originOf(history, place);
        const reason =
          "what was thought before the call is not known; the upstream is told of nothing";
        notes.note(path(origin), "repaired", reason);
        const thought: Reasoning = { type: "reasoning", summary: [], content: [blank] };
        draft.add(thought, origin);
      }
    }
    draft.keep(place);
  });
  return draft.history();
}

/** Leaves out reasoning that led to nothing: by itself it makes a message without content. */
export function dropLoneReasoning(history: History, { notes, path }: RepairContext): History {
  const { items } = history;
  const draft = new Draft(history);
  let end = 0;
  let isLone = false;
  items.forEach((item, place) => {
    if (place >= end) {
      end = turnEnd(items, place);
      isLone = isOfModelTurn(item) && !hasOther(items, place, end);
    }
    if (!isLone) return draft.keep(place);
    const reason =
      "the upstream takes nothing empty, and nothing was said or called after this thought";
    notes.note(path(originOf(history, place)), "dropped", reason);
  });
  return draft.history();
}

type Items = readonly Item<UpstreamName>[];

/** Behind the last item of the model's turn that begins at `start`; what is not the model's stands alone. */
function turnEnd(items: Items, start: number): number {
  let end = start;
  for (let item = items[end]; item !== undefined && isOfModelTurn(item); item = items[end]) end++;
  return Math.max(end, start + 1);
}

function hasIn(items: Items, start: number, end: number, type: Item["type"]): boolean {
  for (let place = start; place < end; place++) if (items[place]?.type === type) return true;
  return false;
}

function hasOther(items: Items, start: number, end: number): boolean {
  for (let place = start; place < end; place++) if (items[place]?.type !== "reasoning") return true;
  return false;
}

const isKnown = (item: Item<UpstreamName>): boolean =>
  item.type === "reasoning" &&
  (item.content.length + item.summary.length > 0 || item.details !== undefined);
