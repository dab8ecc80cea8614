import { isByModel } from "../../turn/item.ts";
import type { UpstreamName } from "../../turn/names.ts";
import type { Call, Item, Result } from "../../turn/turn.ts";
import type { Mending, TracedItem } from "./traced-item.ts";

type ToldCall = { readonly item: Call<UpstreamName>; readonly at: number };
type ToldResult = { readonly item: Result; readonly at: number };

/** What the model is told of a call that nobody answered. */
const UNANSWERED = "There is no result: the call was broken off.";

/**
 * Puts every call's result right behind the calls it was made with: each call
 * answered once, in the order of the calls, and nothing in between. The same
 * conversation always gives the same.
 */
export function pairCalls(told: readonly TracedItem[], mending: Mending): readonly TracedItem[] {
  const answers = answersOf(told, mending);
  const paired: TracedItem[] = [];
  let group: Group | undefined;
  const flush = (): void => {
    if (group !== undefined) paired.push(...closeGroup(group, mending));
    group = undefined;
  };
  for (const [place, { item, at }] of told.entries()) {
    if (item.type === "call") {
      const call = { item, at };
      const answer = answers.byCall.get(place);
      if (group !== undefined && place > group.last) flush();
      group ??= { before: [], calls: [], after: [], last: place };
      group.calls.push({ call, answer: answer?.told });
      // The group stays open up to the last of its results.
      group.last = Math.max(group.last, answer?.place ?? place);
    } else if (item.type === "result") {
      if (!answers.used.has(place))
        mending.notes.note(mending.path(at), "dropped", answers.why(place));
    } else if (group !== undefined && place < group.last) {
      (isByModel(item) ? group.before : group.after).push({ item, at });
      mending.notes.note(mending.path(at), "repaired", "stood between calls and their results");
    } else {
      flush();
      paired.push({ item, at });
    }
  }
  flush();
  return paired;
}

type Group = {
  /** What the model said among its calls. */
  readonly before: TracedItem[];
  readonly calls: { readonly call: ToldCall; readonly answer: ToldResult | undefined }[];
  /** What others said before the results were in. */
  readonly after: TracedItem[];
  last: number;
};

function closeGroup(group: Group, { notes, path, profile }: Mending): TracedItem[] {
  const { parallel } = profile.tools;
  const answered = group.calls.map(({ call, answer }): [TracedItem, TracedItem] => {
    if (answer !== undefined) return [call, answer];
    const { item, at } = call;
    notes.note(path(at), "repaired", "the call has no result; the model is told so");
    const parts = [{ type: "text", text: UNANSWERED } as const];
    return [call, { item: { type: "result", call: item.id, kind: item.kind, parts }, at }];
  });
  const inTurn = parallel
    ? [...answered.map(([call]) => call), ...answered.map(([, result]) => result)]
    : answered.flat();
  if (!parallel && answered.length > 1)
    notes.note(
      path(group.calls[0]?.call.at ?? 0),
      "reshaped",
      "calls made at once are told one by one",
    );
  return [...group.before, ...inTurn, ...group.after];
}

type Answers = {
  /** By the call's place. */
  readonly byCall: ReadonlyMap<number, { readonly told: ToldResult; readonly place: number }>;
  readonly used: ReadonlySet<number>;
  why(place: number): string;
};

/** Pairs calls and results by id; where an id is used again, in order. */
function answersOf(told: readonly TracedItem[], { notes, path }: Mending): Answers {
  const waiting = new Map<string, number[]>();
  const known = new Set<string>();
  for (const [place, { item }] of told.entries()) {
    if (item.type !== "call") continue;
    known.add(item.id);
    const places = waiting.get(item.id);
    if (places === undefined) waiting.set(item.id, [place]);
    else places.push(place);
  }
  const byCall = new Map<number, { told: ToldResult; place: number }>();
  const used = new Set<number>();
  let latest = -1;
  for (const [place, { item, at }] of told.entries()) {
    if (item.type !== "result") continue;
    const call = waiting.get(item.call)?.shift();
    if (call === undefined) continue;
    byCall.set(call, { told: { item, at }, place });
    used.add(place);
    if (call < latest || place < call)
      notes.note(path(at), "repaired", "results were not in the order of their calls");
    latest = Math.max(latest, call);
  }
  const why = (place: number): string => {
    const item = told[place]?.item;
    return item?.type === "result" && known.has(item.call)
      ? "the call has been answered before"
      : "no call has this id";
  };
  return { byCall, used, why };
}

/** Whether nothing needs to be done, which is the rule. */
export function isPaired(items: readonly Item<UpstreamName>[], parallel: boolean): boolean {
  const ids: string[] = [];
  /** The first call that waits for its result. */
  let waiting = 0;
  let answering = false;
  for (const item of items) {
    if (item.type === "call") {
      if (answering || (!parallel && ids.length > waiting)) return false;
      ids.push(item.id);
    } else if (item.type === "result") {
      if (ids[waiting] !== item.call || item.call === "") return false;
      waiting++;
      answering = waiting < ids.length;
    } else if (waiting < ids.length) return false;
  }
  return waiting === ids.length && new Set(ids).size === ids.length;
}
