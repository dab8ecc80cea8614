import { isByModel, isBySystem } from "../../turn/item.ts";
import { Draft, originOf, type History, type RepairContext } from "./draft.ts";

/** Adds the model's `words` where somebody else speaks right behind results. */
export function answerResults(
  history: History,
  words: string,
  { notes, path }: RepairContext,
): History {
  const draft = new Draft(history);
  /** Whether only reasoning has followed the last result: reasoning alone is no answer to it. */
  let isBehindResults = false;
  history.items.forEach((item, place) => {
    if (isBehindResults && item.type !== "result" && !isByModel(item)) {
      const reason = "only the model may speak behind results, so it is taken to have said a word";
      const origin = originOf(history, place);
      notes.note(path(origin), "repaired", reason);
      const parts = [{ type: "text", text: words } as const];
      draft.add({ type: "message", role: "assistant", parts }, origin);
    }
    draft.keep(place);
    if (item.type !== "reasoning") isBehindResults = item.type === "result";
  });
  return draft.history();
}

/** Adds the user's `words` where the conversation begins with calls. */
export function introduceCalls(
  history: History,
  words: string,
  { notes, path }: RepairContext,
): History {
  const { items } = history;
  const call = firstCall(history);
  if (call < 0) return history;
  const origin = originOf(history, call);
  const reason = "a call must follow somebody's words, so the user is taken to have said some";
  notes.note(path(origin), "repaired", reason);
  const draft = new Draft(history);
  const first = items.findIndex(isByModel);
  items.forEach((_, place) => {
    const parts = [{ type: "text", text: words } as const];
    if (place === first) draft.add({ type: "message", role: "user", parts }, origin);
    draft.keep(place);
  });
  return draft.history();
}

/** The first call, if nobody but the model and the system has spoken by then; else -1. */
function firstCall({ items }: History): number {
  const place = items.findIndex(
    (item) => item.type === "call" || (!isByModel(item) && !isBySystem(item)),
  );
  return items[place]?.type === "call" ? place : -1;
}
