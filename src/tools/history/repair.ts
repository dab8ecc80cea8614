import type { UpstreamName } from "../../turn/names.ts";
import type { HistoryRule, Profile } from "../../turn/profile.ts";
import type { Item } from "../../turn/turn.ts";
import type { Action, Decision } from "../../turn/decision.ts";

/** A conversation under the upstream's names. */
export type History = {
  readonly items: readonly Item<UpstreamName>[];
  /** For each item, which of the client's it comes from; none: the one in its own place. */
  readonly origins: readonly number[] | undefined;
};

/** What a rule needs to repair a conversation for an upstream. */
export type RepairContext = {
  readonly rule: HistoryRule;
  readonly profile: Profile;
  readonly notes: Notes;
  /** Where the client finds one of its items. */
  readonly path: (origin: number) => string;
};

/** Which of the client's items one of the conversation comes from. */
export const originOf = ({ origins }: History, place: number): number => origins?.[place] ?? place;

/**
 * A conversation as a rule rewrites it, item by item and in order. It is copied
 * when the first item changes: most conversations fit as they are, and then
 * `history()` is the very object that was given.
 */
export class Draft {
  readonly #before: History;
  /** How many items are kept so far; counts only up to the first change. */
  #kept = 0;
  #items: Item<UpstreamName>[] | undefined;
  #origins: number[] = [];

  constructor(history: History) {
    this.#before = history;
  }

  /** Leaves the item at `place` as it is. */
  keep(place: number): void {
    const item = this.#before.items[place];
    if (item === undefined) return;
    if (this.#items === undefined && place === this.#kept) this.#kept++;
    else this.add(item, originOf(this.#before, place));
  }

  /** Puts an item at the end that was not there, or not so. */
  add(item: Item<UpstreamName>, origin: number): void {
    const items = this.#copied();
    items.push(item);
    this.#origins.push(origin);
  }

  /** The last item so far. */
  last(): Item<UpstreamName> | undefined {
    return this.#items === undefined ? this.#before.items[this.#kept - 1] : this.#items.at(-1);
  }

  /** Puts another item in place of the last. */
  replaceLast(item: Item<UpstreamName>): void {
    const items = this.#copied();
    items[items.length - 1] = item;
  }

  /** What is neither kept nor added is left out. */
  history(): History {
    const isSame = this.#items === undefined && this.#kept === this.#before.items.length;
    return isSame ? this.#before : { items: this.#copied(), origins: this.#origins };
  }

  #copied(): Item<UpstreamName>[] {
    if (this.#items === undefined) {
      this.#items = this.#before.items.slice(0, this.#kept);
      this.#origins = this.#items.map((_, place) => originOf(this.#before, place));
    }
    return this.#items;
  }
}

/** Collects decisions; what is done many times for one reason is listed once, with the first path. */
export type Notes = {
  note(path: string, action: Action, reason: string): void;
  decisions(): readonly Decision[];
};

export function takeNotes(): Notes {
  let found: Map<string, { decision: Decision; count: number }> | undefined;
  return {
    note(path, action, reason) {
      found ??= new Map();
      const key = `${action} ${reason}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { decision: { path, action, reason }, count: 1 });
      else known.count++;
    },
    decisions: () =>
      found === undefined
        ? none
        : [...found.values()].map(({ decision: { path, action, reason }, count }) => ({
            path,
            action,
            reason: count === 1 ? reason : `${reason} (${count} times)`,
          })),
  };
}

const none: readonly Decision[] = [];
