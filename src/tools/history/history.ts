import type { Decision } from "../../turn/decision.ts";
import { isByModel } from "../../turn/item.ts";
import { itemPath, itemPlace } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { takesFrom, type Profile } from "../../turn/profile.ts";
import type { Item, Turn } from "../../turn/turn.ts";
import { idAllocator } from "../names/ids.ts";
import { takeNotes } from "../plan/notes.ts";
import type { Destination } from "../plan/reasoning.ts";
import type { Toolset } from "../plan/toolset.ts";
import { Draft, originOf, type History, type RepairContext } from "./draft.ts";
import { fitParts, fitRoles } from "./media.ts";
import { fitNames } from "./names.ts";
import { pairCalls } from "./pairs.ts";
import { addMissingReasoning, dropLoneReasoning } from "./required-reasoning.ts";
import { translate } from "./translate.ts";
import { answerResults, introduceCalls } from "./turn-order.ts";

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
  const apart = profile.history?.paired === true ? firstApart(turn, profile) : -1;
  if (apart >= 0) notes.note(itemPath(turn, apart), "repaired", TOGETHER);
  if (losesPrefill(turn, profile))
    notes.note(itemPath(turn, turn.items.length - 1), "changed", ANEW);
  const { history: rule } = profile;
  const path = (origin: number): string => itemPath(turn, origin);
  const { items, origins } =
    rule === undefined ? translated : applyRules(translated, { rule, profile, notes, path });
  return {
    // Not the client's own list: what stands in several messages must not be sent as it came.
    items: apart >= 0 ? [...items] : items,
    places: origins === undefined ? turn.places : origins.map((at) => itemPlace(turn, at)),
    decisions: notes.decisions(),
  };
}

const TOGETHER = "what the model said and called in one go is sent in one message";

const ANEW = "the upstream may answer anew instead of going on with these words";

/** Whether an answer is to go on with the last words, and the upstream's dialect knows no such thing. */
function losesPrefill({ dialect, traits, items }: Turn, profile: Profile): boolean {
  if (traits.prefills !== true || takesFrom(dialect, profile)) return false;
  const last = items.at(-1);
  return last?.type === "message" && last.role === "assistant" && last.parts.length > 0;
}

/**
 * The first call that stands in another message than the text or call of the model
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

/** Every rule in turn; each gives back what it was given where nothing has to change. */
function applyRules(history: History, context: RepairContext): History {
  const { rule } = context;
  const { reasoningWithCalls: blank, behindResults: words, beforeCalls: asked } = rule;
  const paired = rule.paired === true ? pairCalls(history, context) : history;
  const fitted = fitRoles(fitParts(paired, context), context);
  const followed = rule.empty === false ? dropLoneReasoning(fitted, context) : fitted;
  const answered = words === undefined ? followed : answerResults(followed, words, context);
  const introduced = asked === undefined ? answered : introduceCalls(answered, asked, context);
  const reasoned =
    blank === undefined ? introduced : addMissingReasoning(introduced, blank, context);
  const hasIdRule = rule.paired === true || rule.ids !== undefined;
  return fitNames(hasIdRule ? fitIds(reasoned, context) : reasoned, context);
}

/** Call ids in the upstream's form, each used once. Pairs stay pairs, so results follow their calls. */
function fitIds(history: History, { rule, notes, path }: RepairContext): History {
  const { items } = history;
  if (!items.some(({ type }) => type === "call")) return history;
  const tryOut = idAllocator(rule.ids);
  if (items.every((item) => item.type !== "call" || tryOut(item.id) === item.id)) return history;
  const allocate = idAllocator(rule.ids);
  /** The ids given to the calls of one client id: those without a result yet, and the last with one. */
  const known = new Map<string, { readonly open: string[]; next: number }>();
  const draft = new Draft(history);
  items.forEach((item, place) => {
    const origin = originOf(history, place);
    if (item.type === "call") {
      const id = allocate(item.id);
      const given = known.get(item.id);
      if (given === undefined) known.set(item.id, { open: [id], next: 0 });
      else given.open.push(id);
      if (id === item.id) return draft.keep(place);
      notes.note(path(origin), "renamed", "call ids the upstream does not take are sent as others");
      return draft.add({ ...item, id }, origin);
    }
    const given = item.type === "result" ? known.get(item.call) : undefined;
    if (item.type !== "result" || given === undefined) return draft.keep(place);
    const call = given.open[given.next] ?? given.open.at(-1) ?? item.call;
    given.next = Math.min(given.next + 1, given.open.length);
    if (call === item.call) return draft.keep(place);
    draft.add({ ...item, call }, origin);
  });
  return draft.history();
}
