import { isByModel, isBySystem, isOfModelTurn, textMessage } from "../../turn/item.ts";
import type { Decision } from "../../turn/decision.ts";
import { itemPlace } from "../../turn/path.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { type Profile, takesFrom } from "../../turn/profile.ts";
import type { Item, Result, Turn } from "../../turn/turn.ts";
import { idAllocator } from "../names/allocate.ts";
import type { ReasoningTarget } from "../plan/reasoning.ts";
import type { Toolset } from "../plan/toolset.ts";
import { type TracedItems, Notes, type RepairContext, rewritten } from "./repair.ts";
import { fitParts, fitRoles } from "./media.ts";
import { pairCalls } from "./pairs.ts";
import { translate } from "./translate.ts";

export type HistoryPlan = {
  /** The client's own list if nothing changes. */
  readonly items: readonly Item<UpstreamName>[];
  /** The client's places of the items; undefined: their own. */
  readonly places: readonly number[] | undefined;
  readonly decisions: readonly Decision[];
};

/** The conversation in a form that the upstream takes: names, forms, pairs, parts, roles and ids. */
export function planHistory(
  turn: Turn,
  set: Toolset,
  profile: Profile,
  destination: ReasoningTarget = {},
): HistoryPlan {
  const notes = new Notes(turn);
  const translated = translate(turn, set, { profile, destination, notes });
  const { history: rule } = profile;
  const apart = rule?.paired === true ? firstApart(turn, profile) : -1;
  if (apart >= 0) notes.note(apart, "repaired", TOGETHER);
  if (losesPrefill(turn, profile)) notes.note(turn.items.length - 1, "changed", ANEW);
  const { items, origins } =
    rule === undefined ? translated : applyRules(translated, { rule, profile, notes });
  return {
    // A copy: items of several messages that are sent in one must not be sent as they came.
    items: apart >= 0 ? [...items] : items,
    places: origins === undefined ? turn.places : origins.map((at) => itemPlace(turn, at)),
    decisions: notes.decisions(),
  };
}

const TOGETHER = "the text and the calls of one answer are sent in one message";

const ANEW = "the upstream may write a new answer instead of continuing this text";

/** True if an answer is to continue the last message, and the upstream's dialect cannot ask for that. */
function losesPrefill({ dialect, traits, items }: Turn, profile: Profile): boolean {
  if (traits.prefills !== true || takesFrom(dialect, profile)) return false;
  const last = items.at(-1);
  return last?.type === "message" && last.role === "assistant" && last.parts.length > 0;
}

/**
 * The first call in another message than the text or call of the model right before it, or -1.
 * Results must follow all calls of an answer.
 */
const firstApart = ({ dialect, items, places }: Turn, profile: Profile): number =>
  dialect !== profile.dialect || places === undefined
    ? -1
    : items.findIndex((item, at) => {
        const before = items[at - 1];
        const continuesAnswer = item.type === "call" && before !== undefined && isByModel(before);
        return continuesAnswer && places[at] !== places[at - 1];
      });

/** Applies every rule in turn. Each returns the same object if nothing changes. */
function applyRules(history: TracedItems, context: RepairContext): TracedItems {
  const { rule } = context;
  const { reasoningWithCalls: blank, behindResults: words, beforeCalls: asked } = rule;
  let made = rule.paired === true ? pairCalls(history, context) : history;
  made = fitRoles(fitParts(made, context), context);
  if (rule.empty === false) made = dropLoneReasoning(made, context);
  if (words !== undefined) made = answerResults(made, words, context);
  if (asked !== undefined) made = introduceCalls(made, asked, context);
  if (blank !== undefined) made = addMissingReasoning(made, blank, context);
  if (rule.paired === true || rule.ids !== undefined) made = fitIds(made, context);
  return fitNames(made, context);
}

/** Gives call ids the upstream's form, each used once. Pairs stay pairs, because results follow their calls. */
function fitIds(history: TracedItems, context: RepairContext): TracedItems {
  const allocate = idAllocator(context.rule.ids);
  /** The ids given to the calls of one client id: those without a result yet, and the last with one. */
  const known = new Map<string, { readonly open: string[]; next: number }>();
  return rewritten(history, context, (item, place, draft) => {
    if (item.type === "call") {
      const id = allocate(item.id);
      const given = known.get(item.id);
      if (given === undefined) known.set(item.id, { open: [id], next: 0 });
      else given.open.push(id);
      if (id === item.id) return draft.keep(place);
      draft.note(
        place,
        "renamed",
        "the upstream does not accept these call ids, so they are replaced",
      );
      return draft.add({ ...item, id }, place);
    }
    const given = item.type === "result" ? known.get(item.call) : undefined;
    if (item.type !== "result" || given === undefined) return draft.keep(place);
    const call = given.open[given.next] ?? given.open.at(-1) ?? item.call;
    given.next = Math.min(given.next + 1, given.open.length);
    if (call === item.call) draft.keep(place);
    else draft.add({ ...item, call }, place);
  });
}

/** Gives results the upstream's names of their tools, and drops names of speakers that it does not take. */
function fitNames(history: TracedItems, context: RepairContext): TracedItems {
  const { names, resultNames } = context.rule;
  const isWanted = ({ name }: Result): boolean => resultNames === true || name !== undefined;
  const calls = new Map<string, string>();
  return rewritten(history, context, (item, place, draft) => {
    if (item.type === "call") calls.set(item.id, item.name);
    if (item.type === "result" && isWanted(item)) {
      const name = calls.get(item.call) ?? item.name;
      if (name !== item.name) return draft.add({ ...item, name }, place);
    } else if (item.type === "message" && item.name !== undefined && names === false) {
      draft.note(place, "dropped", "the upstream does not support `name` on messages");
      return draft.add({ ...item, name: undefined }, place);
    }
    draft.keep(place);
  });
}

/** Adds the model's `words` where another speaker follows results. */
function answerResults(history: TracedItems, words: string, context: RepairContext): TracedItems {
  /** True if only reasoning has followed the last result: reasoning alone does not answer it. */
  let followsResults = false;
  return rewritten(history, context, (item, place, draft) => {
    if (followsResults && item.type !== "result" && !isByModel(item)) {
      const reason =
        "only the model may follow tool results, so a short message of the model is added";
      draft.note(place, "repaired", reason);
      draft.add(textMessage("assistant", words), place);
    }
    draft.keep(place);
    if (item.type !== "reasoning") followsResults = item.type === "result";
  });
}

/** Adds the user's `words` where the conversation begins with calls. */
function introduceCalls(history: TracedItems, words: string, context: RepairContext): TracedItems {
  const { items } = history;
  const call = items.findIndex(
    (item) => item.type === "call" || (!isByModel(item) && !isBySystem(item)),
  );
  if (items[call]?.type !== "call") return history;
  const first = items.findIndex(isByModel);
  return rewritten(history, context, (_, place, draft) => {
    if (place === first) {
      const reason = "a call must follow a message of the user, so a short one is added";
      draft.note(call, "repaired", reason);
      draft.add(textMessage("user", words), call);
    }
    draft.keep(place);
  });
}

/** Puts `blank` in front of a turn of the model's that makes calls and whose reasoning is not known. */
function addMissingReasoning(
  history: TracedItems,
  blank: string,
  context: RepairContext,
): TracedItems {
  const { items } = history;
  let end = 0;
  return rewritten(history, context, (item, place, draft) => {
    if (place >= end) {
      end = turnEnd(items, place);
      const hasCall = items.slice(place, end).some(({ type }) => type === "call");
      if (!isKnown(item) && hasCall) {
        const reason =
          "the upstream requires reasoning before the call, so empty reasoning is added";
        draft.note(place, "repaired", reason);
        draft.add({ type: "reasoning", summary: [], content: [blank] }, place);
      }
    }
    draft.keep(place);
  });
}

/** Leaves out reasoning that led to nothing: by itself it makes a message without content. */
function dropLoneReasoning(history: TracedItems, context: RepairContext): TracedItems {
  const { items } = history;
  let end = 0;
  let isLone = false;
  return rewritten(history, context, (item, place, draft) => {
    if (place >= end) {
      end = turnEnd(items, place);
      isLone =
        isOfModelTurn(item) && items.slice(place, end).every(({ type }) => type === "reasoning");
    }
    if (!isLone) return draft.keep(place);
    const reason = "the upstream does not accept reasoning without text or calls after it";
    draft.note(place, "dropped", reason);
  });
}

/** The end of the model's turn that begins at `start`; any other item is a turn by itself. */
function turnEnd(items: readonly Item<UpstreamName>[], start: number): number {
  let end = start;
  for (let item = items[end]; item !== undefined && isOfModelTurn(item); item = items[end]) end++;
  return Math.max(end, start + 1);
}

const isKnown = (item: Item<UpstreamName>): boolean =>
  item.type === "reasoning" &&
  (item.content.length + item.summary.length > 0 || item.details !== undefined);
