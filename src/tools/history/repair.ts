import type { Action, Decision } from "../../turn/decision.ts";
import type { UpstreamName } from "../../turn/names.ts";
import { itemPath } from "../../turn/path.ts";
import type { HistoryRule, Profile } from "../../turn/profile.ts";
import type { Item, Turn } from "../../turn/turn.ts";

/** A conversation under the upstream's names. */
export type TracedItems = {
  readonly items: readonly Item<UpstreamName>[];
  /** The place of the client's item that each comes from. */
  readonly origins: readonly number[];
};

/** The rules of an upstream, and the notes on what they change. */
export type RepairContext = {
  readonly rule: HistoryRule;
  readonly profile: Profile;
  readonly notes: Notes;
};

/** A conversation as a rule rewrites it, item by item and in order. Items that are neither kept nor added are left out. */
export class Draft implements TracedItems {
  readonly items: Item<UpstreamName>[] = [];
  readonly origins: number[] = [];
  readonly #before: TracedItems;
  readonly #notes: Notes;

  constructor(before: TracedItems, notes: Notes) {
    this.#before = before;
    this.#notes = notes;
  }

  keep(place: number): void {
    const item = this.#before.items[place];
    if (item !== undefined) this.add(item, place);
  }

  /** Adds an item at the end; `place` is the place of the item that it replaces. */
  add(item: Item<UpstreamName>, place: number): void {
    this.items.push(item);
    this.origins.push(this.#before.origins[place] ?? place);
  }

  /** Notes a change under the client's path of the item at `place`. */
  note(place: number, action: Action, reason: string): void {
    this.#notes.note(this.#before.origins[place] ?? place, action, reason);
  }
}

/** Rewrites a conversation by one function, which keeps or adds items to the draft. */
export function rewritten(
  history: TracedItems,
  { notes }: Pick<RepairContext, "notes">,
  each: (item: Item<UpstreamName>, place: number, draft: Draft) => void,
): TracedItems {
  const draft = new Draft(history, notes);
  for (const [place, item] of history.items.entries()) each(item, place, draft);
  return draft;
}

/** Collects decisions. Changes for the same reason are listed once, with the first path. */
export class Notes {
  readonly #turn: Turn;
  #found: Map<string, { decision: Decision; count: number }> | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Notes a change of the client's item at `origin`. */
  note(origin: number, action: Action, reason: string): void {
    const found = (this.#found ??= new Map());
    const known = found.get(`${action} ${reason}`);
    if (known !== undefined) known.count++;
    else {
      const decision = { path: itemPath(this.#turn, origin), action, reason };
      found.set(`${action} ${reason}`, { decision, count: 1 });
    }
  }

  decisions(): readonly Decision[] {
    return Array.from(this.#found?.values() ?? [], ({ decision, count }) =>
      count === 1 ? decision : { ...decision, reason: `${decision.reason} (${count} times)` },
    );
  }
}
