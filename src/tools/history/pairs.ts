import { isOfModelTurn } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item, Result } from "../../turn/turn.ts";
import { Draft, type TracedItems, type RepairContext } from "./repair.ts";

type Items = readonly Item<UpstreamName>[];

const ANSWERED = "the call already has a result";

/** The text of the result that is added to an unanswered call. */
const UNANSWERED = "There is no result: the call was interrupted.";

/**
 * Puts every call's result right after the calls it was made with: each call answered once, in the
 * order of the calls, with nothing in between except, if the upstream takes it, the model's text
 * among its calls. The same conversation always gives the same result.
 */
export function pairCalls(history: TracedItems, context: RepairContext): TracedItems {
  const { items } = history;
  const { parallel } = context.profile.tools;
  const areMixed = parallel && context.rule.interleaved === true;
  const draft = new Draft(history, context.notes);
  const answers = answersIn(items, draft);
  const areCallsAhead = callsAhead(items);
  /** True if calls of the same answer are on both sides: text after a result begins a new answer. */
  const isAmongCalls = (place: number): boolean => {
    const before = items[place - 1];
    return areMixed && before !== undefined && isOfModelTurn(before) && areCallsAhead(place);
  };
  let group: Group | undefined;
  const flush = (): void => {
    if (group !== undefined) closeGroup(group, items, draft, parallel, areMixed);
    group = undefined;
  };
  for (const [place, item] of items.entries()) {
    if (item.type === "call") {
      const answer = answers.byCall.get(place);
      if (group !== undefined && place > group.last) flush();
      group ??= { ownItems: [], calls: [], after: [], strays: [], last: place };
      group.calls.push({ call: place, answer });
      if (areMixed) group.ownItems.push(place);
      // The group stays open up to the last of its results.
      group.last = Math.max(group.last, answer ?? place);
    } else if (item.type === "result") {
      if (answers.used.has(place)) continue;
      const isCalled = answers.isCalled(item.call);
      if (isCalled || context.rule.strayResults !== "text")
        draft.note(place, "dropped", isCalled ? ANSWERED : "no call has this id");
      else if (group === undefined) addStray(item, place, draft);
      else group.strays.push(place);
    } else if (group !== undefined && (place < group.last || isAmongCalls(place))) {
      (isOfModelTurn(item) ? group.ownItems : group.after).push(place);
      if (!areMixed || !isOfModelTurn(item))
        draft.note(place, "repaired", "it was between calls and their results, and is moved");
    } else {
      flush();
      draft.keep(place);
    }
  }
  flush();
  return draft;
}

/** Tells if another call of the same answer follows the item at a place; asked from the first place on. */
function callsAhead(items: Items): (place: number) => boolean {
  let seen = -1;
  let isCall = false;
  return (place) => {
    if (place < seen) return isCall;
    isCall = false;
    for (seen = place; !isCall && seen < items.length; seen++) {
      const item = items[seen];
      if (item === undefined || !isOfModelTurn(item)) break;
      isCall = item.type === "call";
    }
    return isCall;
  };
}

/** Calls that were made at once, by their places. */
type Group = {
  /** The model's items among its calls and, if the upstream takes them mixed, the calls. */
  readonly ownItems: number[];
  readonly calls: { readonly call: number; readonly answer: number | undefined }[];
  /** Items of others before the results were in. */
  readonly after: number[];
  /** Results of calls that are not known. */
  readonly strays: number[];
  last: number;
};

function closeGroup(
  { ownItems, calls, after, strays }: Group,
  items: Items,
  draft: Draft,
  parallel: boolean,
  areMixed: boolean,
): void {
  const answer = (one: Group["calls"][number]): void => {
    if (one.answer !== undefined) return draft.keep(one.answer);
    const item = items[one.call];
    if (item?.type !== "call") return;
    draft.note(
      one.call,
      "repaired",
      "the call has no result, so a result that states this is added",
    );
    const parts = [{ type: "text", text: UNANSWERED } as const];
    draft.add({ type: "result", call: item.id, kind: item.kind, parts }, one.call);
  };
  for (const place of ownItems) draft.keep(place);
  const [first, second] = calls;
  if (parallel) {
    if (!areMixed) for (const { call } of calls) draft.keep(call);
    for (const one of calls) answer(one);
  } else {
    if (first !== undefined && second !== undefined)
      draft.note(
        first.call,
        "reshaped",
        "the upstream accepts one call per answer, so parallel calls are sent one after another",
      );
    for (const one of calls) {
      draft.keep(one.call);
      answer(one);
    }
  }
  for (const place of strays) {
    const item = items[place];
    if (item?.type === "result") addStray(item, place, draft);
  }
  for (const place of after) draft.keep(place);
}

/** Sends the result of an unknown call as the user's words. */
function addStray({ parts }: Result, place: number, draft: Draft): void {
  draft.note(place, "changed", "no call has the id of this result, so it is sent as text");
  const heading = { type: "text", text: "The result of an earlier call:" } as const;
  draft.add({ type: "message", role: "user", parts: [heading, ...parts] }, place);
}

type Answers = {
  /** The place of a call's result, by the place of the call. */
  readonly byCall: ReadonlyMap<number, number>;
  readonly used: ReadonlySet<number>;
  /** True if there is a call with this id. */
  isCalled(id: string): boolean;
};

/** Pairs calls and results by id; results of an id that is used again, in order. */
function answersIn(items: Items, draft: Draft): Answers {
  const waiting = new Map<string, { readonly places: number[]; next: number }>();
  for (const [place, item] of items.entries()) {
    if (item.type !== "call") continue;
    const same = waiting.get(item.id);
    if (same === undefined) waiting.set(item.id, { places: [place], next: 0 });
    else same.places.push(place);
  }
  const byCall = new Map<number, number>();
  const used = new Set<number>();
  let latest = -1;
  for (const [place, item] of items.entries()) {
    const same = item.type === "result" ? waiting.get(item.call) : undefined;
    const call = same?.places[same.next++];
    if (call === undefined) continue;
    byCall.set(call, place);
    used.add(place);
    if (call < latest || place < call)
      draft.note(place, "repaired", "results are moved into the order of their calls");
    latest = Math.max(latest, call);
  }
  return { byCall, used, isCalled: (id) => waiting.has(id) };
}
