import type { Result } from "../../turn/turn.ts";
import { Draft, originOf, type History, type RepairContext } from "./draft.ts";

/** Results under the names that the upstream knows their tools by, and no names where it takes none. */
export function fitNames(history: History, { rule, notes, path }: RepairContext): History {
  const { names, resultNames } = rule;
  const { items } = history;
  const isWanted = ({ name }: Result): boolean => resultNames === true || name !== undefined;
  // The names of calls are looked up for results only: most clients give those none.
  const areWanted = items.some((item) => item.type === "result" && isWanted(item));
  if (!areWanted && names !== false) return history;
  const calls = new Map<string, string>();
  const draft = new Draft(history);
  items.forEach((item, place) => {
    if (item.type === "call") calls.set(item.id, item.name);
    if (item.type === "result" && isWanted(item)) {
      const name = calls.get(item.call) ?? item.name;
      if (name !== item.name) return draft.add({ ...item, name }, originOf(history, place));
    } else if (item.type === "message" && item.name !== undefined && names === false) {
      const origin = originOf(history, place);
      notes.note(path(origin), "dropped", "the upstream takes no names of who speaks");
      return draft.add({ ...item, name: undefined }, origin);
    }
    draft.keep(place);
  });
  return draft.history();
}
