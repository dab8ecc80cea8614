import type { Usage } from "../turn/event.ts";
import type { Fault } from "../turn/fault.ts";
import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { ConversationStore } from "./conversations.ts";
import type { Lease, LeaseStore } from "./leases.ts";
import type { UsageRow } from "./usage-sums.ts";

/**
 * What the gateway keeps between requests. Every row belongs to a tenant, and
 * an id of another tenant is unknown, like one that was never given out, has
 * expired or was deleted. How long and how much is kept is set where a store is
 * opened; each kind drops by itself what is beyond that.
 */
export type Store = {
  /** Connects, so that what is wrong with the database shows before it is needed. */
  start(): void;
  /** What is wrong with the database, while it is known that it cannot be written. */
  trouble(): Fault | undefined;
  /**
   * Writes all that a turn leaves behind, whole or not at all. Where an id is
   * taken the later turn replaces the earlier: some upstreams give every answer
   * the same one. Undefined: it is written when the call returns.
   */
  saveTurn(turn: StoredTurn): Promise<void> | undefined;
  /** The items of past answers by their ids; `maxBytes` bounds their JSON in sum. */
  findItems(
    tenant: Tenant,
    ids: readonly string[],
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundItems>;
  /** The plan of an answer, as JSON. */
  findPlan(tenant: Tenant, answerId: string, weigh: Weigh): Promise<string | undefined>;
  /** The names of the upstreams that made these seals, by seal. Unknown seals are not in it. */
  findSealOwners(tenant: Tenant, seals: readonly string[]): Promise<ReadonlyMap<string, string>>;
  findResponse(tenant: Tenant, id: string, weigh: Weigh): Promise<StoredResponse | undefined>;
  /** A response without its items. */
  findHead(tenant: Tenant, id: string, weigh: Weigh): Promise<ResponseHead | undefined>;
  /** What a response itself was asked with. */
  findInput(tenant: Tenant, id: string, weigh: Weigh): Promise<readonly StoredItem[]>;
  /** A response and all that it continues. */
  loadChain(tenant: Tenant, id: string, maxBytes: number, weigh: Weigh): Promise<FoundChain>;
  /** Some of what a response was asked with, the responses before it included. */
  listInput(tenant: Tenant, id: string, query: PageQuery, weigh: Weigh): Promise<FoundPage>;
  /** Deletes a response with its items and its plan; false if there is none. */
  deleteResponse(tenant: Tenant, id: string): Promise<boolean>;
  /** The sums of the hours from `start` until before `end`, oldest first. */
  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]>;
  readonly conversations: ConversationStore;
  readonly leases: LeaseStore;
  /** What is kept under a name for all replicas and tenants; the first that is given for it stays. */
  secret(name: string, made: string): Promise<string>;
  /** Where the processes that share the store count together what tenants take; not given where it is one's own. */
  readonly limits?: SharedLimits | undefined;
  close(): Promise<void>;
};

/** Is told how many bytes are about to be loaded; throws where there is no room for them. */
export type Weigh = (bytes: number) => void;

/** Which items of a list. Work for no more of the list than these. */
export type PageQuery = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** The id of the last item of the page before. */
  readonly after?: string | undefined;
};

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

/** What one turn leaves behind. */
export type StoredTurn = {
  readonly tenant: Tenant;
  /** End of the turn in milliseconds since the epoch, for the usage sums of its hour. The age of what is stored goes by the store's clock. */
  readonly at: number;
  /** The answer's id as the client saw it; none if there was no answer. */
  readonly answerId?: string | undefined;
  /** No earlier turn has this id. */
  readonly isNewId?: boolean | undefined;
  /** The items of the answer, in their order. None where the client wants nothing stored. */
  readonly items: readonly StoredItem[];
  /** Items that are kept with the answer and deleted with it, but are none of its items. */
  readonly thoughts?: readonly StoredItem[] | undefined;
  /** What makes the answer one that can be retrieved and continued. */
  readonly response?: ResponseRecord | undefined;
  readonly plan?: StoredPlan | undefined;
  readonly seals: readonly SealOwner[];
  /** What its conversation takes in, in the same write. */
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
  /** Where the answer came from, in the words of whoever saves it; none where that does not matter. */
  readonly origin?: string | undefined;
};

export type ResponseHead = Omit<ResponseRecord, "input" | "shared"> & { readonly id: string };

/** What its client is shown of it. */
export type StoredResponse = ResponseHead &
  Pick<ResponseRecord, "shared"> & { readonly items: readonly StoredItem[] };

/** A plan is written out only where it is stored as text or asked for: few are. */
export type StoredPlan = {
  json(): string;
  /** Where it ends in what many plans have word for word. The whole is `head`, that text and a closing brace. */
  parts?(): { readonly head: string; readonly shared: SharedText } | undefined;
  /** About how much memory it holds on to. */
  readonly bytes: number;
};

/** Which upstream made a seal on reasoning. */
export type SealOwner = { readonly seal: string; readonly upstream: string };

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
      /** The items of all turns, input and answer, oldest first: their JSON, separated by commas, in texts that are quick to parse. */
      readonly texts: readonly string[];
      /** Of all texts. */
      readonly bytes: number;
      /** The response that was asked for. */
      readonly last: ResponseHead;
    }
  | { readonly type: "missing"; readonly id: string }
  | TooLarge;
