import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import type { TurnRecord } from "./record.ts";
import type {
  FoundConversation,
  FoundList,
  ListQuery,
  NewConversation,
  StoredConversation,
} from "./conversations.ts";
import type { LeaseTerm, Renewal } from "./leases.ts";
import type { StoredItem } from "./store.ts";
import type { FoundChain, FoundItems, Spent, StoredResponse } from "./store.ts";
import type { UsageRow } from "./usage-sums.ts";

type Scope = { readonly tenant: Tenant };

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
export type AddItemsQuery = IdQuery & { readonly items: readonly StoredItem[] };
export type LoadConversationQuery = IdQuery & { readonly maxBytes: number };
export type ConversationItemQuery = IdQuery & { readonly item: string };
export type ListConversationsQuery = Scope & ListQuery;
export type LeaseQuery = IdQuery & LeaseTerm;
export type SecretQuery = { readonly name: string; readonly made: string };

/** What may be kept, for a sweep. Ages are by the database's clock. */
export type SweepBounds = {
  readonly maxAgeMs: number;
  readonly maxUsageAgeMs: number;
  readonly maxBytes: number;
  readonly maxPlanBytes: number;
};

export type Swept = {
  /** True if there is more to drop. */
  readonly more: boolean;
  /** True if expired rows are kept because the clock may have been set. */
  readonly waits: boolean;
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
  secret(query: SecretQuery): string;
};

export type LeaseOperations = {
  takeLease(query: LeaseQuery): boolean;
  renewLease(query: LeaseQuery): Renewal;
  isLeaseHeld(query: IdQuery): boolean;
  askToStop(query: IdQuery): void;
  releaseLease(query: IdQuery & { readonly owner: string }): void;
};

/** Each takes one value, so that a call is a message. None retries; each error is a Fault. */
export type Operations = ConversationOperations &
  LeaseOperations & {
    /** All of the batch or nothing of it. Throws a Fault if the owner of a lease has lost it; false where a shared text of which only the digest is given is not there. */
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
    /** Drops some of what is too old or too much. */
    sweep(bounds: SweepBounds): Swept;
  };

/** A database that rows are written to and read from. It connects with the first call, and again after it was lost. */
export type Database = {
  readonly [Name in keyof Operations]: (
    argument: Parameters<Operations[Name]>[0],
  ) => Promise<ReturnType<Operations[Name]>>;
} & { close(): Promise<void> };
