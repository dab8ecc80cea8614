import type { Clock } from "../turn/clock.ts";
import type { Tenant } from "../turn/tenant.ts";
import type {
  ConversationStore,
  FoundConversation,
  Lease,
  LeaseState,
  NewConversation,
  StoredConversation,
} from "./conversations.ts";
import { MOST_LISTED } from "./listed.ts";
import type { Retention, StoredItem } from "./store.ts";

type Kept = {
  readonly tenant: Tenant;
  readonly id: string;
  /** Its place among all, by when it was made. */
  readonly order: number;
  json: string;
  items: readonly StoredItem[];
  bytes: number;
  /** When it was last written to. */
  at: number;
  lease?: { readonly owner: string; readonly until: number } | undefined;
};

const ENTRY_BYTES = 256;

/** Conversations that live as long as the process. */
export class MemoryConversations implements ConversationStore {
  readonly #clock: Pick<Clock, "date">;
  readonly #retention: Retention;
  /** Those last written to are at the end. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #made = 0;

  constructor(clock: Pick<Clock, "date">, retention: Retention) {
    this.#clock = clock;
    this.#retention = retention;
  }

  async createConversation({ tenant, id, json, items }: NewConversation): Promise<void> {
    this.#put({ tenant, id, json, items, bytes: 0, at: 0, order: this.#made++ });
  }

  async findConversation(tenant: Tenant, id: string): Promise<StoredConversation | undefined> {
    const kept = this.#find(tenant, id);
    return kept === undefined ? undefined : { id, json: kept.json };
  }

  async updateConversation(tenant: Tenant, id: string, json: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    if (kept !== undefined) this.#put({ ...kept, json });
    return kept !== undefined;
  }

  async deleteConversation(tenant: Tenant, id: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    if (kept !== undefined) this.#drop(kept);
    return kept !== undefined;
  }

  async listConversations(tenant: Tenant, prefix: string): Promise<readonly StoredConversation[]> {
    return [...this.#kept.values()]
      .filter((one) => one.tenant === tenant && one.id.startsWith(prefix))
      .filter(({ id }) => this.#find(tenant, id) !== undefined)
      .toSorted((a, b) => a.order - b.order)
      .slice(-MOST_LISTED)
      .map(({ id, json }) => ({ id, json }));
  }

  async addConversationItems(
    tenant: Tenant,
    id: string,
    items: readonly StoredItem[],
  ): Promise<boolean> {
    const kept = this.#find(tenant, id);
    if (kept !== undefined) this.#put({ ...kept, items: [...kept.items, ...items] });
    return kept !== undefined;
  }

  async loadConversation(tenant: Tenant, id: string, maxBytes: number): Promise<FoundConversation> {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return { type: "missing" };
    const size = kept.items.reduce((sum, { json }) => sum + json.length, 0);
    if (size > maxBytes) return { type: "too-large" };
    return { type: "found", id, json: kept.json, items: kept.items };
  }

  async deleteConversationItem(tenant: Tenant, id: string, item: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    const items = kept?.items.filter((one) => one.id !== item) ?? [];
    if (kept === undefined || items.length === kept.items.length) return false;
    this.#put({ ...kept, items });
    return true;
  }

  async leaseConversation(tenant: Tenant, id: string, { owner, ms }: Lease): Promise<LeaseState> {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return "missing";
    const now = this.#clock.date();
    if (kept.lease !== undefined && kept.lease.owner !== owner && kept.lease.until > now)
      return "locked";
    kept.lease = { owner, until: now + ms };
    return "held";
  }

  async releaseConversation(tenant: Tenant, id: string, owner: string): Promise<void> {
    const kept = this.#find(tenant, id);
    if (kept?.lease?.owner === owner) kept.lease = undefined;
  }

  #find(tenant: Tenant, id: string): Kept | undefined {
    const kept = this.#kept.get(keyOf(tenant, id));
    if (kept === undefined || this.#clock.date() - kept.at <= this.#retention.maxAgeMs) return kept;
    this.#drop(kept);
    return undefined;
  }

  #drop({ tenant, id, bytes }: Kept): void {
    if (this.#kept.delete(keyOf(tenant, id))) this.#bytes -= bytes;
  }

  #put(kept: Kept): void {
    this.#drop(this.#kept.get(keyOf(kept.tenant, kept.id)) ?? kept);
    const bytes = kept.items.reduce(
      (sum, { id, json }) => sum + 2 * (id.length + json.length) + ENTRY_BYTES,
      2 * kept.json.length + ENTRY_BYTES,
    );
    this.#kept.set(keyOf(kept.tenant, kept.id), { ...kept, bytes, at: this.#clock.date() });
    this.#bytes += bytes;
    while (this.#bytes > this.#retention.maxBytes) this.#drop(this.#mostDispensable());
  }

  /** The one of the tenant that holds most that was not written to for longest. */
  #mostDispensable(): Kept {
    const sums = new Map<Tenant, number>();
    let heaviest: Tenant | undefined;
    for (const { tenant, bytes } of this.#kept.values()) {
      sums.set(tenant, (sums.get(tenant) ?? 0) + bytes);
      if ((sums.get(tenant) ?? 0) > (sums.get(heaviest ?? "") ?? 0)) heaviest = tenant;
    }
    for (const kept of this.#kept.values()) if (kept.tenant === heaviest) return kept;
    throw new Error("what is too much is somebody's");
  }
}

const keyOf = (tenant: Tenant, id: string): string => JSON.stringify([tenant, id]);
