import type { Tenant } from "../turn/tenant.ts";
import type { TurnRecord } from "./record.ts";
import type { ListQuery, NewConversation } from "./conversations.ts";
import type { LeaseTerm, Renewal } from "./leases.ts";
import type { Spent, StoredItem } from "./store.ts";
import type { UsageRow } from "./usage-sums.ts";

type Scope = { readonly tenant: Tenant };

export type ItemsQuery = Scope & { readonly ids: readonly string[] };
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
export type ConversationItemQuery = IdQuery & { readonly item: string };
export type FindItemQuery = ConversationItemQuery & { readonly order: "asc" | "desc" };
export type ListConversationsQuery = Scope & ListQuery;
export type LeaseQuery = IdQuery & LeaseTerm;
export type SecretQuery = { readonly name: string; readonly made: string };

/**
 * Texts of a database, which are found with their sizes first and read when
 * there is room for them. Of lists, the rows from one place to another.
 */
export type Span =
  /** The parts of a turn. */
  | { readonly of: "turn"; readonly turn: number; readonly from: number; readonly to: number }
  /** The first bytes of a segment of a chain. */
  | { readonly of: "segment"; readonly segment: number; readonly bytes: number }
  | { readonly of: "shared"; readonly tenant: Tenant; readonly digest: string }
  | { readonly of: "conversation"; readonly tenant: Tenant; readonly id: string }
  /** The items of a conversation. */
  | {
      readonly of: "items";
      readonly tenant: Tenant;
      readonly id: string;
      readonly from: number;
      readonly to: number;
    };

export type ListSpan = Extract<Span, { readonly of: "turn" | "items" }>;
/** A row that was read; its id is empty where it is no item. */
export type Row = { readonly id: string; readonly json: string };
/** The first rows of several lists, in either direction. */
export type SizesQuery = {
  /** In that direction too. */
  readonly lists: readonly ListSpan[];
  readonly order: "asc" | "desc";
  readonly limit: number;
};
export type RowSize = { readonly place: number; readonly bytes: number };
export type ListedRow = RowSize & { readonly list: number; readonly id: string };

/** A row with an item, perhaps among others. */
export type ItemPlace = {
  readonly id: string;
  readonly turn: number;
  readonly place: number;
  readonly bytes: number;
};

/** Where a response is. */
export type ResponsePlace = {
  readonly turn: number;
  readonly id: string;
  readonly previous: string | null;
  readonly origin: string | null;
  /** How many of its rows are input. */
  readonly inputRows: number;
  /** Bytes of all items, of those of the answer, of the rest and of what that shares with others. */
  readonly itemBytes: number;
  readonly answerBytes: number;
  readonly headBytes: number;
  readonly shared: string | null;
  readonly sharedBytes: number;
};

export type SegmentQuery = { readonly segment: number; readonly turn: number };

/** What goes before a response: a turn, or as much of a segment as has turns of its chain. */
export type BeforePlace = {
  readonly turn: number;
  readonly segment: number | null;
  readonly bytes: number;
  /** What goes before that. */
  readonly previous: string | null;
};

export type PlanPlace = {
  readonly turn: number;
  readonly bytes: number;
  readonly shared: string | null;
  readonly sharedBytes: number;
};

/** Looks for an item in the turns and segments of a chain. */
export type ChainItemQuery = {
  readonly tenant: Tenant;
  readonly ids: readonly string[];
  /** Turns by themselves, or the last of a segment's that is in the chain. */
  readonly chain: readonly (readonly [turn: number, segment: number | null])[];
  readonly order: "asc" | "desc";
};
export type ChainItemPlace = {
  /** Of the row, which may have other items too. */
  readonly id: string;
  readonly turn: number;
  readonly place: number;
  readonly segment: number | null;
};

/** Only who asks for the bytes of its items has them added up. */
export type FindConversationQuery = IdQuery & { readonly adds?: "items" };
export type ConversationPlace = { readonly bytes: number; readonly itemBytes: number };
export type FoundPlaces =
  | {
      readonly type: "found";
      readonly list: readonly { readonly id: string; readonly bytes: number }[];
      readonly isWhole: boolean;
    }
  | { readonly type: "missing" };

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
  findConversation(query: FindConversationQuery): ConversationPlace | undefined;
  updateConversation(query: UpdateConversationQuery): boolean;
  deleteConversation(query: IdQuery): boolean;
  listConversations(query: ListConversationsQuery): FoundPlaces;
  addConversationItems(query: AddItemsQuery): boolean;
  /** Where the first item with an id is in its conversation, in either direction. */
  findConversationItem(query: FindItemQuery): RowSize | undefined;
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
    findItems(query: ItemsQuery): readonly ItemPlace[];
    findPlan(query: IdQuery): PlanPlace | undefined;
    findSealOwners(query: SealsQuery): ReadonlyMap<string, string>;
    findResponse(query: IdQuery): ResponsePlace | undefined;
    /** What goes before a response, the newest first; none is left out unless they have more bytes than may be. */
    findBefore(query: ChainQuery): readonly BeforePlace[];
    /** The first rows that an item may be in: one of several items need not have it. */
    findChainItem(query: ChainItemQuery): readonly ChainItemPlace[];
    /** The turns of a segment up to one of them, oldest first. */
    segmentTurns(query: SegmentQuery): readonly number[];
    sizes(query: SizesQuery): readonly ListedRow[];
    /** The rows of each span, in their order. */
    read(spans: readonly Span[]): readonly (readonly Row[])[];
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
