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
import type { Database } from "./database.ts";
import type { StoredItem } from "./store.ts";

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

  findConversation(tenant: Tenant, id: string): Promise<StoredConversation | undefined> {
    return this.#ask(tenant, id, undefined, (database, key) => database.findConversation(key));
  }

  updateConversation(tenant: Tenant, id: string, json: string): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) =>
      database.updateConversation({ ...key, json }),
    );
  }

  deleteConversation(tenant: Tenant, id: string): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) => database.deleteConversation(key));
  }

  listConversations(tenant: Tenant, query: ListQuery): Promise<FoundList> {
    const missing: FoundList = { type: "missing" };
    return this.#ask(tenant, query.after ?? query.prefix, missing, (database) =>
      database.listConversations({ ...query, tenant }),
    );
  }

  addConversationItems(tenant: Tenant, id: string, items: readonly StoredItem[]): Promise<boolean> {
    return this.#ask(tenant, id, false, (database, key) =>
      database.addConversationItems({ ...key, items }),
    );
  }

  loadConversation(tenant: Tenant, id: string, maxBytes: number): Promise<FoundConversation> {
    const missing: FoundConversation = { type: "missing" };
    return this.#ask(tenant, id, missing, (database, key) =>
      database.loadConversation({ ...key, maxBytes }),
    );
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
