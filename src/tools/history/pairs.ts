import { isOfModelTurn } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Item } from "../../turn/turn.ts";
import { Draft, originOf, type History, type RepairContext } from "./repair.ts";

/** The result of a call that nobody answered. */
const UNANSWERED = "There is no result: the call was broken off.";

/**
 * Puts every call's result right behind the calls it was made with: each call
 * answered once, in the order of the calls, and nothing in between but, where
 * the upstream takes that, what the model said among its calls. The same
 * conversation always gives the same.
 */
export function pairCalls(history: History, context: RepairContext): History {
  const { items } = history;
  const { parallel } = context.profile.tools;
  const areMixed = parallel && context.rule.interleaved === true;
  const start = pairedPrefix(items, parallel, areMixed);
  if (start === items.length) return history;
  const draft = new Draft(history);
  for (let place = 0; place < start; place++) draft.keep(place);
  const answers = answersFrom(start, history, context);
  const isAmong = callsAhead(items);
  let group: Group | undefined;
  const flush = (): void => {
    if (group !== undefined) closeGroup(group, { draft, history, context });
    group = undefined;
  };
  const note = (place: number, action: "dropped" | "repaired", reason: string): void =>
    context.notes.note(context.path(originOf(history, place)), action, reason);
  for (let place = start; place < items.length; place++) {
    const item = items[place];
    if (item === undefined) continue;
    if (item.type === "call") {
      const answer = answers.byCall.get(place);
      if (group !== undefined && place > group.last) flush();
      group ??= { said: [], calls: [], after: [], last: place };
      group.calls.push({ call: place, answer });
      if (areMixed) group.said.push(place);
      // The group stays open up to the last of its results.
      group.last = Math.max(group.last, answer ?? place);
    } else if (item.type === "result") {
      if (!answers.used.has(place)) note(place, "dropped", answers.why(place));
    } else if (group !== undefined && (place < group.last || (areMixed && isAmong(place)))) {
      (isOfModelTurn(item) ? group.said : group.after).push(place);
      if (!areMixed || !isOfModelTurn(item))
        note(place, "repaired", "stood between calls and their results");
    } else {
      flush();
      draft.keep(place);
    }
  }
  flush();
  return draft.history();
}

/** Whether another call of the same answer follows what the model says at a place; asked from the first place on. */
function callsAhead(items: readonly Item<UpstreamName>[]): (place: number) => boolean {
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

/**
 * How many items from the beginning are paired already: calls made at once, right
 * behind them their results in the same order, and anything else before or after.
 * None of them is the answer to a later call, nor is a later result theirs.
 */
function pairedPrefix(
  items: readonly Item<UpstreamName>[],
  parallel: boolean,
  areMixed: boolean,
): number {
  const isAmong = callsAhead(items);
  let sound = 0;
  let calls: string[] = [];
  let answered = 0;
  for (let place = 0; place < items.length; place++) {
    const item = items[place];
    if (item?.type === "call") {
      if (answered > 0 || (!parallel && calls.length > 0)) return sound;
      calls.push(item.id);
    } else if (item?.type === "result") {
      if (calls.length === 0 || calls[answered] !== item.call) return sound;
      if (++answered < calls.length) continue;
      calls = [];
      answered = 0;
      sound = place + 1;
    } else if (calls.length > 0) {
      if (!areMixed || answered > 0 || !isAmong(place)) return sound;
    } else sound = place + 1;
  }
  return sound;
}

/** Calls that were made at once, by their places. */
type Group = {
  /** What the model said among its calls, and where the upstream takes it so, the calls in their places. */
  readonly said: number[];
  readonly calls: { readonly call: number; readonly answer: number | undefined }[];
  /** What others said before the results were in. */
  readonly after: number[];
  last: number;
};

type Rewriting = {
  readonly draft: Draft;
  readonly history: History;
  readonly context: RepairContext;
};

function closeGroup(group: Group, { draft, history, context }: Rewriting): void {
  const { notes, path, profile } = context;
  const answer = (one: Group["calls"][number]): void => {
    if (one.answer !== undefined) return draft.keep(one.answer);
    const item = history.items[one.call];
    if (item?.type !== "call") return;
    const origin = originOf(history, one.call);
    notes.note(path(origin), "repaired", "the call has no result; the model is told so");
    const parts = [{ type: "text", text: UNANSWERED } as const];
    draft.add({ type: "result", call: item.id, kind: item.kind, parts }, origin);
  };
  for (const place of group.said) draft.keep(place);
  if (profile.tools.parallel) {
    if (context.rule.interleaved !== true) for (const { call } of group.calls) draft.keep(call);
    for (const one of group.calls) answer(one);
  } else {
    const [first, second] = group.calls;
    if (first !== undefined && second !== undefined) {
      const reason = "calls made at once are told one by one";
      notes.note(path(originOf(history, first.call)), "reshaped", reason);
    }
    for (const one of group.calls) {
      draft.keep(one.call);
      answer(one);
    }
  }
  for (const place of group.after) draft.keep(place);
}

type Answers = {
  /** The place of a call's result, by that of the call. */
  readonly byCall: ReadonlyMap<number, number>;
  readonly used: ReadonlySet<number>;
  why(place: number): string;
};

/** Pairs calls and results by id; where an id is used again, in order. */
function answersFrom(start: number, history: History, { notes, path }: RepairContext): Answers {
  const { items } = history;
  const waiting = new Map<string, { readonly places: number[]; next: number }>();
  for (let place = start; place < items.length; place++) {
    const item = items[place];
    if (item?.type !== "call") continue;
    const same = waiting.get(item.id);
    if (same === undefined) waiting.set(item.id, { places: [place], next: 0 });
    else same.places.push(place);
  }
  const byCall = new Map<number, number>();
  const used = new Set<number>();
  let latest = -1;
  for (let place = start; place < items.length; place++) {
    const item = items[place];
    if (item?.type !== "result") continue;
    const same = waiting.get(item.call);
    const call = same?.places[same.next++];
    if (call === undefined) continue;
    byCall.set(call, place);
    used.add(place);
    if (call < latest || place < call) {
      const reason = "results were not in the order of their calls";
      notes.note(path(originOf(history, place)), "repaired", reason);
    }
    latest = Math.max(latest, call);
  }
  let known: Set<string> | undefined;
  const why = (place: number): string => {
    known ??= new Set(items.flatMap((item) => (item.type === "call" ? item.id : [])));
    const item = items[place];
    return item?.type === "result" && known.has(item.call)
      ? "the call has been answered before"
      : "no call has this id";
  };
  return { byCall, used, why };
}
