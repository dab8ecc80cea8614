import { isStorableId } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import type {
  ConversationStore,
  FoundConversation,
  FoundList,
  ListQuery,
  NewConversation,
  StoredConversation,
} from "./conversations.ts";
import type { DatabaseReading } from "./database-reading.ts";
import type { Database } from "./database.ts";
import type { FoundPage, PageQuery, StoredItem, Weigh } from "./store.ts";

/** What a query for one row goes by. */
export type RowKey = { readonly tenant: Tenant; readonly id: string };

export type ReadOne = <Found>(
  tenant: Tenant,
  id: string,
  none: Found,
  ask: (key: RowKey) => Promise<Found>,
) => Promise<Found>;

export type ConversationsOptions = {
  readonly database: Database;
  readonly reading: DatabaseReading;
  /** Loads what has one id, in several steps. */
  readonly load: ReadOne;
  /** Asks for what has one id, such as can be stored; any other is as unknown as one that never was. */
  readonly readOne: ReadOne;
  /** Asks when all that the tenant has queued is written, and not for too long. */
  readonly read: <Found>(tenant: Tenant, ask: () => Promise<Found>) => Promise<Found>;
};

/** Conversations in a database. */
export class DatabaseConversations implements ConversationStore {
  readonly #options: ConversationsOptions;

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  createConversation(conversation: NewConversation): Promise<void> {
    const { database, read } = this.#options;
    return read(conversation.tenant, () => database.createConversation(conversation));
  }

  findConversation(
    tenant: Tenant,
    id: string,
    weigh: Weigh,
  ): Promise<StoredConversation | undefined> {
    const { reading, load } = this.#options;
    return load(tenant, id, undefined, (key) => reading.findConversation(key, weigh));
  }

  updateConversation(tenant: Tenant, id: string, json: string): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) =>
      database.updateConversation({ ...key, json }),
    );
  }

  deleteConversation(tenant: Tenant, id: string): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) => database.deleteConversation(key));
  }

  listConversations(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { reading, load } = this.#options;
    const missing: FoundList = { type: "missing" };
    return load(tenant, query.after ?? query.prefix, missing, () =>
      reading.listConversations({ ...query, tenant }, weigh),
    );
  }

  addConversationItems(tenant: Tenant, id: string, items: readonly StoredItem[]): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) =>
      database.addConversationItems({ ...key, items }),
    );
  }

  loadConversation(
    tenant: Tenant,
    id: string,
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundConversation> {
    const { reading, load } = this.#options;
    const missing: FoundConversation = { type: "missing" };
    return load(tenant, id, missing, (key) => reading.loadConversation(key, maxBytes, weigh));
  }

  listItems(tenant: Tenant, id: string, page: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const { reading, load } = this.#options;
    const missing: FoundPage = { type: "missing" };
    return load(tenant, id, missing, (key) => reading.listItems(key, page, weigh));
  }

  findItem(tenant: Tenant, id: string, item: string, weigh: Weigh): Promise<string | undefined> {
    const { reading, load } = this.#options;
    if (!isStorableId(item)) return Promise.resolve(undefined);
    return load(tenant, id, undefined, (key) => reading.findItem(key, item, weigh));
  }

  async deleteConversationItem(tenant: Tenant, id: string, item: string): Promise<boolean> {
    if (!isStorableId(item)) return false;
    return this.#ask(tenant, id, false, (database, key) =>
      database.deleteConversationItem({ ...key, item }),
    );
  }

  #ask<Found>(
    tenant: Tenant,
    id: string,
    none: Found,
    ask: (database: Database, key: RowKey) => Promise<Found>,
  ): Promise<Found> {
    const { database, readOne } = this.#options;
    return readOne(tenant, id, none, (key) => ask(database, key));
  }
}
