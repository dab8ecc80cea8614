import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import type { TurnRecord } from "./record.ts";
import type {
  FoundConversation,
  FoundList,
  LeaseState,
  ListQuery,
  NewConversation,
  StoredConversation,
} from "./conversations.ts";
import type { StoredItem } from "./store.ts";
import type { FoundChain, FoundItems, Spent, StoredResponse } from "./store.ts";
import type { UsageRow } from "./usage-sums.ts";

/** What every query says: whose rows, and how old they may be. */
type Scope = {
  readonly tenant: Tenant;
  /** Rows from before this moment have expired. */
  readonly since: number;
};

export type ItemsQuery = Scope & { readonly ids: readonly string[]; readonly maxBytes: number };
export type IdQuery = Scope & { readonly id: string };
export type ChainQuery = IdQuery & { readonly maxBytes: number };
export type SealsQuery = Scope & { readonly seals: readonly string[] };
export type UsageQuery = {
  readonly tenant: Tenant;
  readonly start: number;
  readonly end: number;
};

export type UpdateConversationQuery = IdQuery & { readonly json: string };
export type AddItemsQuery = IdQuery & {
  readonly items: readonly StoredItem[];
  readonly at: number;
};
export type LoadConversationQuery = IdQuery & { readonly maxBytes: number };
export type ConversationItemQuery = IdQuery & { readonly item: string };
export type ListConversationsQuery = Scope & ListQuery;
export type LeaseQuery = IdQuery & {
  readonly owner: string;
  readonly now: number;
  readonly until: number;
};
export type ReleaseQuery = Pick<LeaseQuery, "tenant" | "id" | "owner">;
export type SecretQuery = { readonly name: string; readonly made: string };

/** What may be kept, for a sweep. */
export type SweepBounds = {
  readonly since: number;
  readonly usageSince: number;
  readonly maxBytes: number;
  readonly maxPlanBytes: number;
};

/** Turns that are written together. A batch that is written a second time, since nobody knows what became of the first, changes nothing. */
export type Batch = { readonly id: string; readonly turns: readonly TurnRecord[] };

export type ConversationOperations = {
  createConversation(conversation: NewConversation): void;
  findConversation(query: IdQuery): StoredConversation | undefined;
  updateConversation(query: UpdateConversationQuery): boolean;
  deleteConversation(query: IdQuery): boolean;
  listConversations(query: ListConversationsQuery): FoundList;
  addConversationItems(query: AddItemsQuery): boolean;
  loadConversation(query: LoadConversationQuery): FoundConversation;
  deleteConversationItem(query: ConversationItemQuery): boolean;
  leaseConversation(query: LeaseQuery): LeaseState;
  releaseConversation(query: ReleaseQuery): void;
  secret(query: SecretQuery): string;
};

/** Each takes one value, so that a call is a message. None retries; each error is a Fault. */
export type Operations = ConversationOperations & {
  /** All of the batch or nothing of it: false where a shared text of which only the digest is given is not there. */
  write(batch: Batch): boolean;
  findItems(query: ItemsQuery): FoundItems;
  findPlan(query: IdQuery): Fields | undefined;
  findSealOwners(query: SealsQuery): ReadonlyMap<string, string>;
  findResponse(query: IdQuery): StoredResponse | undefined;
  loadChain(query: ChainQuery): FoundChain;
  deleteResponse(query: IdQuery): boolean;
  sumUsage(query: UsageQuery): readonly UsageRow[];
  /** Takes what was spent off the quotas of tenants; their levels, in the same order. */
  spend(spent: readonly Spent[]): readonly number[];
  /** Drops some of what is too old or too much; whether there is more to drop. */
  sweep(bounds: SweepBounds): boolean;
};

/** A database that rows are written to and read from. It connects with the first call, and again after it was lost. */
export type Database = {
  readonly [Name in keyof Operations]: (
    argument: Parameters<Operations[Name]>[0],
  ) => Promise<ReturnType<Operations[Name]>>;
} & { close(): Promise<void> };
