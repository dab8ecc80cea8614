import type { Decision } from "../../turn/decision.ts";
import { isByModel } from "../../turn/item.ts";
import { itemPath, itemPlace } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Profile } from "../../turn/profile.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import { idAllocator, isLawfulId } from "../names/ids.ts";
import { takeNotes } from "../plan/notes.ts";
import type { Destination } from "../plan/reasoning.ts";
import type { Toolset } from "../plan/toolset.ts";
import { areNamed, fitNames } from "./names.ts";
import { isPaired, pairCalls } from "./pairs.ts";
import { areFit, fitParts, fitRoles } from "./media.ts";
import { areFollowed, areThoughtOut, dropLone, fitThoughts } from "./required-reasoning.ts";
import type { Mending, TracedItem } from "./traced-item.ts";
import { translate } from "./translate.ts";
import { areTakenUp, isLedIn, leadIn, takeUp } from "./turn-order.ts";

export type HistoryPlan = {
  /** The very same list where nothing changes. */
  readonly items: readonly Item<UpstreamName>[];
  /** Where each of them comes from, in the client's numbers; none: as they stand. */
  readonly places: readonly number[] | undefined;
  readonly decisions: readonly Decision[];
};

/** The conversation so far as the upstream can take it: names, forms, pairs, parts, roles and ids. */
export function planHistory(
  turn: Turn,
  set: Toolset,
  profile: Profile,
  destination: Destination = {},
): HistoryPlan {
  const notes = takeNotes();
  const translated = translate(turn, set, { profile, destination, notes });
  // Where no name differs the two kinds of name are the same.
  const same = turn.items as unknown as readonly Item<UpstreamName>[];
  const items = translated?.map(({ item }) => item) ?? same;
  const placesOf = (list: readonly TracedItem[]): readonly number[] =>
    list.map(({ at }) => itemPlace(turn, at));
  const apart = profile.history?.paired === true ? firstApart(turn, profile) : -1;
  if (apart >= 0) notes.note(itemPath(turn, apart), "repaired", TOGETHER);
  if (apart < 0 && isSound(items, profile)) {
    const places = translated === undefined ? turn.places : placesOf(translated);
    return { items, places, decisions: notes.decisions() };
  }
  const told = translated ?? same.map((item, at) => ({ item, at }));
  const { history: rule = {} } = profile;
  const path = (at: number): string => itemPath(turn, at);
  const mended = mend(told, { rule, profile, notes, path });
  return {
    items: mended === told ? items : mended.map(({ item }) => item),
    places: placesOf(mended),
    decisions: notes.decisions(),
  };
}

const TOGETHER = "what the model said and called in one go is sent in one message";

/**
 * The first call that stands in another message than what the model said or
 * called right before it; -1 if none does. Results must follow all of its calls.
 */
const firstApart = ({ dialect, items, places }: Turn, profile: Profile): number =>
  dialect !== profile.dialect || places === undefined
    ? -1
    : items.findIndex((item, at) => {
        const before = items[at - 1];
        const isGoingOn = item.type === "call" && before !== undefined && isByModel(before);
        return isGoingOn && places[at] !== places[at - 1];
      });

/** Whether the upstream takes it as it is. */
function isSound(items: readonly Item<UpstreamName>[], profile: Profile): boolean {
  const { history: rule, tools } = profile;
  if (rule === undefined) return true;
  const { ids, paired, empty, reasoningWithCalls, behindResults, beforeCalls } = rule;
  return (
    (paired !== true || isPaired(items, tools.parallel)) &&
    (ids === undefined ||
      items.every((item) => item.type !== "call" || isLawfulId(item.id, ids))) &&
    areFit(items, rule, profile) &&
    areNamed(items, rule) &&
    (empty !== false || areFollowed(items)) &&
    (behindResults === undefined || areTakenUp(items)) &&
    (beforeCalls === undefined || isLedIn(items)) &&
    (reasoningWithCalls === undefined || areThoughtOut(items))
  );
}

function mend(told: readonly TracedItem[], mending: Mending): readonly TracedItem[] {
  const { rule } = mending;
  const { reasoningWithCalls: blank, behindResults: words, beforeCalls: asked } = rule;
  const paired = rule.paired === true ? pairCalls(told, mending) : told;
  const fitted = fitRoles(fitParts(paired, mending), mending);
  const followed = rule.empty === false ? dropLone(fitted, mending) : fitted;
  const taken = words === undefined ? followed : takeUp(followed, words, mending);
  const led = asked === undefined ? taken : leadIn(taken, asked, mending);
  const thought = blank === undefined ? led : fitThoughts(led, blank, mending);
  const isIdentified = rule.paired === true || rule.ids !== undefined;
  return fitNames(isIdentified ? fitIds(thought, mending) : thought, mending);
}

/** Call ids in the upstream's form, each used once. Pairs stay pairs, so results follow their calls. */
function fitIds(
  told: readonly TracedItem[],
  { rule, notes, path }: Mending,
): readonly TracedItem[] {
  const allocate = idAllocator(rule.ids);
  /** The ids given to the calls of one client id: those without a result yet, and the last with one. */
  const known = new Map<string, { readonly open: string[]; last: string }>();
  let changed = false;
  const fitted = told.map((one): TracedItem => {
    const { item, at } = one;
    if (item.type === "call") {
      const id = allocate(item.id);
      const given = known.get(item.id);
      if (given === undefined) known.set(item.id, { open: [id], last: id });
      else given.open.push(id);
      if (id === item.id) return one;
      notes.note(path(at), "renamed", "call ids the upstream does not take are sent as others");
      changed = true;
      return { item: { ...item, id }, at };
    }
    if (item.type !== "result") return one;
    const given = known.get(item.call);
    if (given === undefined) return one;
    given.last = given.open.shift() ?? given.last;
    if (given.last === item.call) return one;
    changed = true;
    return { item: { ...item, call: given.last }, at };
  });
  return changed ? fitted : told;
}
