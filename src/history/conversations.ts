import type { Tenant } from "../turn/tenant.ts";
import type { FoundPage, PageQuery, StoredItem, Weigh } from "./store.ts";

/** Conversations: lists of items that grow with turns, and that clients may change. */
export type ConversationStore = {
  /** Resolves when it is committed. */
  createConversation(conversation: NewConversation): Promise<void>;
  findConversation(
    tenant: Tenant,
    id: string,
    weigh: Weigh,
  ): Promise<StoredConversation | undefined>;
  /** False if there is none. */
  updateConversation(tenant: Tenant, id: string, json: string): Promise<boolean>;
  deleteConversation(tenant: Tenant, id: string): Promise<boolean>;
  /** Some of those whose ids begin so, in the order in which they were made; work for that of these alone. */
  listConversations(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList>;
  /** Behind all others; false if there is no such conversation. */
  addConversationItems(tenant: Tenant, id: string, items: readonly StoredItem[]): Promise<boolean>;
  /** All of its items; `maxBytes` bounds their JSON in sum. */
  loadConversation(
    tenant: Tenant,
    id: string,
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundConversation>;
  listItems(tenant: Tenant, id: string, query: PageQuery, weigh: Weigh): Promise<FoundPage>;
  /** The JSON of one item. */
  findItem(tenant: Tenant, id: string, item: string, weigh: Weigh): Promise<string | undefined>;
  /** False if there is no such item. */
  deleteConversationItem(tenant: Tenant, id: string, item: string): Promise<boolean>;
};

export type NewConversation = {
  readonly tenant: Tenant;
  readonly id: string;
  /** What is said of it beside its items. */
  readonly json: string;
  readonly items: readonly StoredItem[];
};

export type StoredConversation = { readonly id: string; readonly json: string };

export type FoundConversation =
  | {
      readonly type: "found";
      /** The JSON of the items, separated by commas, in texts that are quick to parse. */
      readonly texts: readonly string[];
      /** Of all texts. */
      readonly bytes: number;
    }
  | { readonly type: "missing" }
  | { readonly type: "too-large" };

export type ListQuery = {
  /** How their ids begin: at least as many characters as `KIND_LENGTH`. */
  readonly prefix: string;
  readonly order: "asc" | "desc";
  /** The id of the last one of the list before. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** The list ends with the one that reaches this. */
  readonly maxBytes: number;
};

/** What is kept under different ids differs in so many first characters: they are in an index with the order. */
export const KIND_LENGTH = 4;

export type FoundList =
  | {
      readonly type: "found";
      readonly list: readonly StoredConversation[];
      /** Whether none is behind the last. */
      readonly isWhole: boolean;
    }
  /** There is nothing with the id `after`. */
  | { readonly type: "missing" };
