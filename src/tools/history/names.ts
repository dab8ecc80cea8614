import type { UpstreamName } from "../../turn/names.ts";
import type { HistoryRule } from "../../turn/profile.ts";
import type { Item, Result } from "../../turn/turn.ts";
import type { Mending, TracedItem } from "./traced-item.ts";

/** Whether messages and results say the names that the upstream takes and wants. */
export function areNamed(items: readonly Item<UpstreamName>[], rule: HistoryRule): boolean {
  const isAsked = rule.names === false || rule.resultNames === true;
  if (!isAsked && items.every((item) => item.type !== "result" || item.name === undefined))
    return true;
  const naming = namer(rule);
  return items.every((item) => naming(item) === item);
}

/** Results under the names that the upstream knows their tools by, and no names where it takes none. */
export function fitNames(
  told: readonly TracedItem[],
  { rule, notes, path }: Mending,
): readonly TracedItem[] {
  const naming = namer(rule);
  let changed = false;
  const fitted = told.map((one): TracedItem => {
    const item = naming(one.item);
    if (item === one.item) return one;
    changed = true;
    if (item.type === "message")
      notes.note(path(one.at), "dropped", "the upstream takes no names of who speaks");
    return { item, at: one.at };
  });
  return changed ? fitted : told;
}

/** Gives an item as the upstream wants it named, the items of a conversation one after the other. */
function namer({
  names,
  resultNames,
}: HistoryRule): (item: Item<UpstreamName>) => Item<UpstreamName> {
  const calls = new Map<string, string>();
  const isWanted = ({ name }: Result): boolean => resultNames === true || name !== undefined;
  return (item) => {
    if (item.type === "call") calls.set(item.id, item.name);
    if (item.type === "result" && isWanted(item)) {
      const name = calls.get(item.call) ?? item.name;
      return name === item.name ? item : { ...item, name };
    }
    if (item.type !== "message" || item.name === undefined || names !== false) return item;
    return { ...item, name: undefined };
  };
}
