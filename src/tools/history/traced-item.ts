import type { UpstreamName } from "../../turn/names.ts";
import type { HistoryRule, Profile } from "../../turn/profile.ts";
import type { Item } from "../../turn/turn.ts";
import type { Notes } from "../plan/notes.ts";

/** An item under the upstream's names, and where it came from. */
export type TracedItem = { readonly item: Item<UpstreamName>; readonly at: number };

/** What it takes to mend a conversation for an upstream. */
export type Mending = {
  readonly rule: HistoryRule;
  readonly profile: Profile;
  readonly notes: Notes;
  /** Where the client finds the item that came from there. */
  readonly path: (at: number) => string;
};
