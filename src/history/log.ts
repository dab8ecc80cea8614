import type { Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Lease, LeaseStore } from "./leases.ts";
import type { UsageRow } from "./usage-sums.ts";

/**
 * The stored entries of all tenants. Entries of other tenants, expired entries and deleted
 * entries are reported like entries that never existed.
 */
export type Log = {
  /** Connects, so that a fault of the database is reported before the first request. */
  start(): void;
  /** The fault of the database, while writes to it fail. */
  trouble(): Fault | undefined;
  /**
   * Writes the entries of a turn, all or none. A later entry replaces an earlier one with its
   * id: some upstreams give every answer the same id. Returns undefined if the write is complete.
   */
  append(turn: StoredTurn): Promise<void> | undefined;
  /** Makes a list; resolves when it is committed. */
  create(list: NewList): Promise<void>;
  /** An entry without its items. */
  head(key: Key, weigh: Weigh): Promise<EntryHead | undefined>;
  /** An entry with the items of its answer. */
  entry(key: Key, weigh: Weigh): Promise<StoredEntry | undefined>;
  /** The items of the request of a response. */
  input(key: Key, weigh: Weigh): Promise<readonly StoredItem[]>;
  /** The items of an entry and of all that it continues; `maxBytes` bounds their JSON in sum. */
  load(key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain>;
  /** A page of the items of a list, or of all items before the answer of a response. */
  page(key: Key, query: PageQuery, weigh: Weigh): Promise<FoundPage>;
  /** The JSON of one item of a list. */
  item(key: Key, item: string, weigh: Weigh): Promise<string | undefined>;
  /** Items or notes of answers by their ids; `maxBytes` bounds their JSON in sum. */
  find(query: ItemsQuery, weigh: Weigh): Promise<FoundItems>;
  /** A page of the lists whose ids begin with a prefix, in the order of their creation. */
  lists(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList>;
  /** Replaces the head of a list; false if there is no such list. */
  setHead(key: Key, json: string): Promise<boolean>;
  /** Adds items to the end of a list; false if there is no such list. */
  extend(key: Key, items: readonly StoredItem[]): Promise<boolean>;
  /** Deletes an entry and the entries that belong to it; false if there is no such entry. */
  drop(key: Key): Promise<boolean>;
  /** Deletes an item of a list; false if there is no such item. */
  dropItem(key: Key, item: string): Promise<boolean>;
  /** The sums of the hours from `start` until before `end`, oldest first. */
  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]>;
  readonly leases: LeaseStore;
  /** The secret with a name, for all replicas and tenants. The first caller's `made` is stored. */
  secret(name: string, made: string): Promise<string>;
  /** Quotas that all processes of one database count together; undefined if each counts for itself. */
  readonly limits?: SharedLimits | undefined;
  close(): Promise<void>;
};

/** Kinds of entries with an id: answers, lists (conversations and completions) and the plans of answers. */
export type EntryKind = "response" | "list" | "plan";
export type Key = { readonly tenant: Tenant; readonly kind: EntryKind; readonly id: string };

export const responseKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "response", id });
export const listKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "list", id });
export const planKey = (tenant: Tenant, id: string): Key => ({ tenant, kind: "plan", id });

/** Receives the number of bytes that are about to be loaded; throws if there is no room for them. */
export type Weigh = (bytes: number) => void;

export type ItemsQuery = {
  readonly tenant: Tenant;
  readonly of: "items" | "notes";
  readonly ids: readonly string[];
  readonly maxBytes: number;
};

/** One page of a list. A log reads no other items. */
export type PageQuery = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the last item of the page before. */
  readonly after?: string | undefined;
};

export type ListQuery = PageQuery & {
  /** The first characters of the ids, at least 4. */
  readonly prefix: string;
  /** The page ends with the entry that reaches this sum. */
  readonly maxBytes: number;
};

/** Quotas by the minute, counted for all processes together. */
export type SharedLimits = {
  /** Subtracts amounts from the levels. Returns the new levels in the same order. */
  spend(spent: readonly Spent[]): Promise<readonly number[]>;
};

export type Spent = {
  readonly tenant: Tenant;
  /** `requests` or `tokens`. */
  readonly kind: string;
  readonly perMinute: number;
  readonly amount: number;
};

export type Retention = {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
};

/** The share of plans in the retention: plans of many tools must not displace answers. */
export const PLANS_SHARE = 1 / 3;

/** The entries of one turn. */
export type StoredTurn = {
  readonly tenant: Tenant;
  /** End of the turn in milliseconds since the epoch, for the usage sums of its hour. The age of entries goes by the log's clock. */
  readonly at: number;
  /** The answer's id as the client saw it; none if there was no answer. */
  readonly answerId?: string | undefined;
  /** The items of the answer, in their order. Empty if the client wants nothing stored. */
  readonly items: readonly StoredItem[];
  /** Notes are found by their ids and deleted with the answer: seals, thoughts, events. */
  readonly notes?: readonly StoredItem[] | undefined;
  /** Set if the answer can be retrieved and continued. */
  readonly response?: ResponseRecord | undefined;
  /** The answer as a list with its id. */
  readonly list?: Omit<NewList, "tenant" | "id"> | undefined;
  readonly plan?: StoredPlan | undefined;
  /** The items that are added to its conversation in the same write. */
  readonly conversation?: ConversationEntry | undefined;
  /** The lease that the write requires: without it the write fails with `store.superseded`. */
  readonly lease?: Lease | undefined;
  /** True if answer and items may not leave the connection of their request. */
  readonly isPrivate?: boolean | undefined;
  /** Undefined if another write of the same turn counts it. */
  readonly usage?: UsageEntry | undefined;
};

/**
 * The items that a turn adds to a conversation. A deleted conversation receives nothing; if
 * `owner` has lost its lease, the write fails with `store.superseded`.
 */
export type ConversationEntry = Lease & { readonly items: readonly StoredItem[] };

/** A list of items that may grow: a conversation, or a completion with the messages that it answers. */
export type NewList = {
  readonly tenant: Tenant;
  readonly id: string;
  /** Its head, which clients may change. */
  readonly json: string;
  readonly items: readonly StoredItem[];
};

/** An item in the JSON of its dialect. Most are never read again. */
export type StoredItem = {
  readonly id: string;
  readonly json: string;
  /** The group of `itemIds` that made its id. Its JSON begins with the id and has no line break. */
  readonly group?: string | undefined;
};

export type ResponseRecord = {
  /** The id of the response that it continues. */
  readonly previous?: string | undefined;
  /** The items of the request. */
  readonly input: readonly StoredItem[];
  /** The rest of the response as JSON, with its status. */
  readonly json: string;
  /** Text that other responses share. Chains are loaded without it. */
  readonly shared?: SharedText | undefined;
  /** The upstream that also stored the answer, in the gateway's form. */
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

/** A plan, which is serialized only when it is stored as text or read. */
export type StoredPlan = {
  json(): string;
  /** For a plan whose end many plans share: the plan is `head`, the shared text and a closing brace. */
  parts?(): { readonly head: string; readonly shared: SharedText } | undefined;
  /** Memory that it holds, approximately. */
  readonly bytes: number;
};

/** The JSON of a plan that was found. */
export const planText = ({ json, shared }: StoredEntry): string =>
  shared === undefined ? json : `${json}${shared.text}}`;

/** The counts that a turn adds to the sums of its tenant. */
export type UsageEntry = {
  readonly model: string;
  readonly failed: boolean;
  readonly usage: Usage | undefined;
  /** In the currency of the configured prices; undefined without a price. */
  readonly cost?: number | undefined;
  readonly calls: number;
  readonly truncated: boolean;
};

type TooLarge = { readonly type: "too-large" };

/** Unknown ids are not in the map. */
export type FoundItems =
  | { readonly type: "found"; readonly items: ReadonlyMap<string, StoredItem> }
  | TooLarge;

/** A chain with a gap is reported as missing, because the model would answer an incomplete conversation. */
export type FoundChain =
  | {
      readonly type: "found";
      /** The JSON of the items of all entries, oldest first, separated by commas (`itemsTexts`). */
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
      /** True if the last item ends the list. */
      readonly isWhole: boolean;
    }
  /** There is no such list. */
  | { readonly type: "missing" }
  /** No item has the id `after`. */
  | { readonly type: "unknown-after" };

export type FoundList =
  | {
      readonly type: "found";
      readonly list: readonly EntryHead[];
      /** True if the last item ends the list. */
      readonly isWhole: boolean;
    }
  /** No list has the id `after`. */
  | { readonly type: "missing" };

/** The most characters of a text that is parsed without a noticeable pause. */
const MAX_TEXT = 256 * 1024;

/** The JSON of items, separated by commas, in texts up to that length or of one longer item. */
export function itemsTexts(items: Iterable<Pick<StoredItem, "json">>): readonly string[] {
  const texts: string[] = [];
  let text = "";
  for (const { json } of items) {
    if (text !== "" && text.length + json.length > MAX_TEXT) {
      texts.push(text);
      text = "";
    }
    text = text === "" ? json : `${text},${json}`;
  }
  return text === "" ? texts : [...texts, text];
}
