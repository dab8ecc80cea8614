import type { Decision } from "../../turn/decision.ts";
import { isByModel, isBySystem, isOfModelTurn } from "../../turn/item.ts";
import { itemPath, itemPlace } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { type Profile, takesFrom } from "../../turn/profile.ts";
import type { Item, Reasoning, Result, Turn } from "../../turn/turn.ts";
import { idAllocator } from "../names/allocate.ts";
import type { Destination } from "../plan/reasoning.ts";
import type { Toolset } from "../plan/toolset.ts";
import { Draft, type History, originOf, type RepairContext, takeNotes } from "./repair.ts";
import { fitParts, fitRoles } from "./media.ts";
import { pairCalls } from "./pairs.ts";
import { translate } from "./translate.ts";

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

/** Results under the names that the upstream knows their tools by, and no names where it takes none. */
function fitNames(history: History, { rule, notes, path }: RepairContext): History {
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

/** Adds the model's `words` where somebody else speaks right behind results. */
function answerResults(history: History, words: string, { notes, path }: RepairContext): History {
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
function introduceCalls(history: History, words: string, { notes, path }: RepairContext): History {
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

/** Puts `blank` where a turn of the model's makes calls and what it thought before is not known. */
function addMissingReasoning(
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
function dropLoneReasoning(history: History, { notes, path }: RepairContext): History {
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
