import type { Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Lease, LeaseStore } from "./leases.ts";
import type { UsageRow } from "./usage-sums.ts";

/**
 * What the gateway keeps between requests, as entries of tenants. An entry of
 * another tenant is as unknown as one that was never made, has expired or was
 * deleted. How long and how much is kept is set where a log is opened.
 */
export type Log = {
  /** Connects, so that a fault of the database shows before it is needed. */
  start(): void;
  /** The fault of the database, while it is known that it cannot be written. */
  trouble(): Fault | undefined;
  /**
   * Writes all that a turn leaves behind, whole or not at all. Where an id is
   * taken the later entry replaces the earlier: some upstreams give every answer
   * the same one. Undefined: it is written when the call returns.
   */
  append(turn: StoredTurn): Promise<void> | undefined;
  /** Makes a list. Resolves when it is committed. */
  create(list: NewList): Promise<void>;
  /** An entry without its items. */
  head(key: Key, weigh: Weigh): Promise<EntryHead | undefined>;
  /** An entry with the items of its answer. */
  entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined>;
  /** The items that came with the request of a response. */
  input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]>;
  /** The items of an entry and of all that it continues; `maxBytes` bounds their JSON in sum. */
  load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain>;
  /** Some of the items of a list, or of what a response was asked with, the responses before it included. */
  page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage>;
  /** The JSON of one item of a list. */
  item(key: Key, item: string, weigh: Weigh): Promise<string | undefined>;
  /** The items of responses by their ids; `maxBytes` bounds their JSON in sum. */
  findItems(query: ItemsQuery, weigh: Weigh): Promise<FoundItems>;
  /** The same for notes. */
  findNotes(query: ItemsQuery, weigh: Weigh): Promise<FoundItems>;
  /** Some of the lists whose ids begin so, in the order in which they were made. */
  lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList>;
  /** Replaces the head of a list; false if there is no such list. */
  setHead(key: Key, json: string): Promise<boolean>;
  /** Adds items to the end of a list; false if there is no such list. */
  extend(key: Key, items: readonly StoredItem[]): Promise<boolean>;
  /** Deletes an entry with all that is kept for it; false if there is no such entry. */
  drop(key: Key): Promise<boolean>;
  /** Deletes an item of a list; false if there is no such item. */
  dropItem(key: Key, item: string): Promise<boolean>;
  /** The sums of the hours from `start` until before `end`, oldest first. */
  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]>;
  readonly leases: LeaseStore;
  /** The text that is kept under a name for all replicas and tenants; the first that is given for it stays. */
  secret(name: string, made: string): Promise<string>;
  /** The quotas that the processes of one database count together; not given where each counts for itself. */
  readonly limits?: SharedLimits | undefined;
  close(): Promise<void>;
};

/** What can be asked for by its id: answers, lists (conversations and completions) and the plans of answers. */
export type Kind = "response" | "list" | "plan";
export type Key = { readonly tenant: Tenant; readonly kind: Kind; readonly id: string };

export const responseKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "response", id });
export const listKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "list", id });
export const planKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "plan", id });

/** Is told how many bytes are about to be loaded; throws where there is no room for them. */
export type Weigh = (bytes: number) => void;

export type ItemsQuery = {
  readonly tenant: Tenant;
  readonly ids: readonly string[];
  readonly maxBytes: number;
};

/** Which items of a list. A log reads no more of the list than these. */
export type PageQuery = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the last item of the page before. */
  readonly after?: string | undefined;
};

export type ListQuery = PageQuery & {
  /** How the ids begin: at least 4 characters. */
  readonly prefix: string;
  /** The list ends with the one that reaches this. */
  readonly maxBytes: number;
};

/** Quotas by the minute, counted for all processes together. */
export type SharedLimits = {
  /** Takes what was spent off the levels; gives these, in the same order. */
  spend(spent: readonly Spent[]): Promise<readonly number[]>;
};

export type Spent = {
  readonly tenant: Tenant;
  /** What is limited: `requests` or `tokens`. */
  readonly kind: string;
  readonly perMinute: number;
  readonly amount: number;
};

/** How much is kept, and how long. */
export type Retention = {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
};

/** Shares of what may be kept: the plans of an agent with many tools must not push out its answers. */
export const PLANS_SHARE = 1 / 3;

/** What one turn leaves behind. */
export type StoredTurn = {
  readonly tenant: Tenant;
  /** End of the turn in milliseconds since the epoch, for the usage sums of its hour. The age of entries goes by the log's clock. */
  readonly at: number;
  /** The answer's id as the client saw it; none if there was no answer. */
  readonly answerId?: string | undefined;
  /** The items of the answer, in their order. None where the client wants nothing stored. */
  readonly items: readonly StoredItem[];
  /** What is found by its id, and deleted with the answer: seals, thoughts, events. They are none of its items. */
  readonly notes?: readonly StoredItem[] | undefined;
  /** What makes the answer one that can be retrieved and continued. */
  readonly response?: ResponseRecord | undefined;
  /** The answer as a list of its own, under its id. */
  readonly list?: Omit<NewList, "tenant" | "id"> | undefined;
  readonly plan?: StoredPlan | undefined;
  /** The items that its conversation takes in, in the same write. */
  readonly conversation?: ConversationEntry | undefined;
  /** The lease that the write depends on: if its owner has lost it, the write fails with `store.superseded`. */
  readonly lease?: Lease | undefined;
  /** Whether answer and items may not leave the connection that they were asked for on. */
  readonly isPrivate?: boolean | undefined;
  /** None where another write of the same turn counts it. */
  readonly usage?: UsageEntry | undefined;
};

/**
 * The items that a turn adds to a conversation. Nothing is added if that was
 * deleted; if `owner` has lost its lease, the write fails with `store.superseded`.
 */
export type ConversationEntry = Lease & { readonly items: readonly StoredItem[] };

/** A list of items that grows: a conversation, or a completion with the messages that it answers. */
export type NewList = {
  readonly tenant: Tenant;
  readonly id: string;
  /** Its head, which clients may change. */
  readonly json: string;
  readonly items: readonly StoredItem[];
};

/** An item as its dialect wrote it. As text: it has a weight then, and most are never read again. */
export type StoredItem = {
  readonly id: string;
  readonly json: string;
  /** Where its id was made for it: the group of `itemIds`. Its JSON begins with the id and has no line break. */
  readonly group?: string | undefined;
};

export type ResponseRecord = {
  /** The id of the response that it continues. */
  readonly previous?: string | undefined;
  /** What the turn added to the conversation before the answer. */
  readonly input: readonly StoredItem[];
  /** The rest of the response, its status among it, as JSON. */
  readonly json: string;
  /** What other responses have word for word. Of a chain it is not loaded. */
  readonly shared?: SharedText | undefined;
  /** Where the answer came from, in words of the gateway; none where that does not matter. */
  readonly origin?: string | undefined;
};

export type EntryHead = {
  readonly id: string;
  readonly previous?: string | undefined;
  readonly json: string;
  readonly origin?: string | undefined;
};

export type StoredEntry = EntryHead & {
  readonly shared?: SharedText | undefined;
  readonly items: readonly StoredItem[];
};

/** A plan is written out only where it is stored as text or asked for: few are. */
export type StoredPlan = {
  json(): string;
  /** Where it ends in what many plans have word for word. The whole is `head`, that text and a closing brace. */
  parts?(): { readonly head: string; readonly shared: SharedText } | undefined;
  /** About how much memory it holds on to. */
  readonly bytes: number;
};

/** The JSON of a plan that was found. */
export const planText = ({ json, shared }: StoredEntry): string =>
  shared === undefined ? json : `${json}${shared.text}}`;

/** What a turn adds to the sums of its tenant. */
export type UsageEntry = {
  readonly model: string;
  readonly failed: boolean;
  readonly usage: Usage | undefined;
  /** In the currency of the configured prices; none where there is no price. */
  readonly cost?: number | undefined;
  readonly calls: number;
  readonly truncated: boolean;
};

type TooLarge = { readonly type: "too-large" };

/** Ids that are unknown are not in the map. */
export type FoundItems =
  | { readonly type: "found"; readonly items: ReadonlyMap<string, StoredItem> }
  | TooLarge;

/** A chain with a gap is never given in part: the model would answer to another conversation. */
export type FoundChain =
  | {
      readonly type: "found";
      /** The items of all entries, oldest first: their JSON, separated by commas, in texts that are quick to parse. */
      readonly texts: readonly string[];
      /** Of all texts. */
      readonly bytes: number;
      /** The entry that was asked for. */
      readonly last: EntryHead;
    }
  | { readonly type: "missing"; readonly id: string }
  | TooLarge;

export type FoundPage =
  | {
      readonly type: "found";
      readonly items: readonly StoredItem[];
      /** Whether none is behind the last. */
      readonly isWhole: boolean;
    }
  /** There is no such list. */
  | { readonly type: "missing" }
  /** There is nothing with the id `after` in it. */
  | { readonly type: "unknown-after" };

export type FoundList =
  | {
      readonly type: "found";
      readonly list: readonly EntryHead[];
      /** Whether none is behind the last. */
      readonly isWhole: boolean;
    }
  /** There is nothing with the id `after`. */
  | { readonly type: "missing" };

/** Characters of a text that is parsed in a moment. */
const TEXT = 256 * 1024;

/** The JSON of items, separated by commas, in texts of about that length where no item is longer. */
export function itemsTexts(items: Iterable<Pick<StoredItem, "json">>): readonly string[] {
  const texts: string[] = [];
  let text = "";
  for (const { json } of items) {
    if (text !== "" && text.length + json.length > TEXT) {
      texts.push(text);
      text = "";
    }
    text = text === "" ? json : `${text},${json}`;
  }
  return text === "" ? texts : [...texts, text];
}
