import type { Clock } from "../turn/clock.ts";
import type { Tenant } from "../turn/tenant.ts";
import { utf8Length } from "../turn/utf8-length.ts";
import { itemsTexts } from "./chain-rows.ts";
import {
  KIND_LENGTH,
  type ConversationStore,
  type FoundConversation,
  type FoundList,
  type ListQuery,
  type NewConversation,
  type StoredConversation,
} from "./conversations.ts";
import { CreationOrder } from "./creation-order.ts";
import type { FoundPage, PageQuery, Retention, StoredItem, Weigh } from "./store.ts";

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
};

/** What one tenant has. Those last written to are at the end. */
type Holding = { bytes: number; readonly byId: Map<string, Kept> };

const ENTRY_BYTES = 256;

/**
 * Of what may be kept, how much is left where something has to go: the front of a
 * map from which one was deleted with every write would be passed over with each.
 */
const LEFT = 63 / 64;

/** Conversations that live as long as the process. */
export class MemoryConversations implements ConversationStore {
  readonly #clock: Pick<Clock, "now">;
  readonly #retention: Retention;
  readonly #onDelete: (tenant: Tenant, id: string) => void;
  readonly #tenants = new Map<Tenant, Holding>();
  /** The ids of each tenant and kind. */
  readonly #inOrder = new Map<string, CreationOrder>();
  #bytes = 0;
  #made = 0;

  constructor(
    clock: Pick<Clock, "now">,
    retention: Retention,
    onDelete: (tenant: Tenant, id: string) => void = () => {},
  ) {
    this.#clock = clock;
    this.#retention = retention;
    this.#onDelete = onDelete;
  }

  async createConversation({ tenant, id, json, items }: NewConversation): Promise<void> {
    const order = this.#made++;
    this.#drop(this.#look(tenant, id));
    this.#put({ tenant, id, json, items, bytes: 0, at: 0, order });
    if (this.#look(tenant, id) === undefined) return;
    const kind = kindOf(tenant, id);
    const inOrder = this.#inOrder.get(kind) ?? new CreationOrder();
    this.#inOrder.set(kind, inOrder);
    inOrder.add(order, id);
  }

  async findConversation(
    tenant: Tenant,
    id: string,
    weigh: Weigh,
  ): Promise<StoredConversation | undefined> {
    const kept = this.#find(tenant, id);
    weigh(kept?.json.length ?? 0);
    return kept === undefined ? undefined : { id, json: kept.json };
  }

  async updateConversation(tenant: Tenant, id: string, json: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    if (kept !== undefined) this.#put({ ...kept, json });
    return kept !== undefined;
  }

  async deleteConversation(tenant: Tenant, id: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    if (kept !== undefined) {
      this.#drop(kept);
      this.#onDelete(tenant, id);
    }
    return kept !== undefined;
  }

  async listConversations(tenant: Tenant, query: ListQuery, weigh: Weigh): Promise<FoundList> {
    const { prefix, order, after, limit, maxBytes } = query;
    const last = after === undefined ? undefined : this.#find(tenant, after);
    if (after !== undefined && last === undefined) return { type: "missing" };
    const list: StoredConversation[] = [];
    let bytes = 0;
    let isWhole = true;
    for (const id of this.#inOrder.get(kindOf(tenant, prefix))?.walk(order, last?.order) ?? []) {
      const kept = id.startsWith(prefix) ? this.#find(tenant, id) : undefined;
      if (kept === undefined) continue;
      if (list.length === limit || bytes >= maxBytes) {
        isWhole = false;
        break;
      }
      bytes += kept.json.length;
      list.push({ id, json: kept.json });
    }
    weigh(bytes);
    return { type: "found", list, isWhole };
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

  async loadConversation(
    tenant: Tenant,
    id: string,
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundConversation> {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return { type: "missing" };
    const bytes = kept.items.reduce((sum, { json }) => sum + utf8Length(json), 0);
    if (bytes > maxBytes) return { type: "too-large" };
    weigh(bytes);
    return { type: "found", texts: itemsTexts(kept.items), bytes };
  }

  async listItems(tenant: Tenant, id: string, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const kept = this.#find(tenant, id);
    if (kept === undefined) return { type: "missing" };
    const list = kept.items.map(({ id: item, json }) => {
      return { id: item, bytes: json.length, json: () => json };
    });
    return pageOf(list, query, weigh);
  }

  async findItem(
    tenant: Tenant,
    id: string,
    item: string,
    weigh: Weigh,
  ): Promise<string | undefined> {
    const found = this.#find(tenant, id)?.items.find((one) => one.id === item);
    weigh(found?.json.length ?? 0);
    return found?.json;
  }

  async deleteConversationItem(tenant: Tenant, id: string, item: string): Promise<boolean> {
    const kept = this.#find(tenant, id);
    const items = kept?.items.filter((one) => one.id !== item) ?? [];
    if (kept === undefined || items.length === kept.items.length) return false;
    this.#put({ ...kept, items });
    return true;
  }

  isKept(tenant: Tenant, id: string): boolean {
    return this.#find(tenant, id) !== undefined;
  }

  #look(tenant: Tenant, id: string): Kept | undefined {
    return this.#tenants.get(tenant)?.byId.get(id);
  }

  #find(tenant: Tenant, id: string): Kept | undefined {
    const kept = this.#look(tenant, id);
    if (kept === undefined || this.#clock.now() - kept.at <= this.#retention.maxAgeMs) return kept;
    this.#drop(kept);
    return undefined;
  }

  #drop(kept: Kept | undefined): void {
    if (kept === undefined) return;
    this.#remove(kept);
    const kind = kindOf(kept.tenant, kept.id);
    const inOrder = this.#inOrder.get(kind);
    inOrder?.delete(kept.order);
    if (inOrder?.size === 0) this.#inOrder.delete(kind);
  }

  #remove({ tenant, id, bytes }: Kept): void {
    const holding = this.#tenants.get(tenant);
    if (holding?.byId.delete(id) !== true) return;
    holding.bytes -= bytes;
    this.#bytes -= bytes;
    if (holding.byId.size === 0) this.#tenants.delete(tenant);
  }

  #put(kept: Kept): void {
    const { tenant, id } = kept;
    this.#remove(this.#look(tenant, id) ?? kept);
    const bytes = kept.items.reduce(
      (sum, { id: item, json }) => sum + 2 * (item.length + json.length) + ENTRY_BYTES,
      2 * kept.json.length + ENTRY_BYTES,
    );
    const holding = this.#tenants.get(tenant) ?? { bytes: 0, byId: new Map<string, Kept>() };
    this.#tenants.set(tenant, holding);
    holding.byId.set(id, { ...kept, bytes, at: this.#clock.now() });
    holding.bytes += bytes;
    this.#bytes += bytes;
    const { maxBytes } = this.#retention;
    if (this.#bytes > maxBytes) while (this.#bytes > maxBytes * LEFT) this.#dropFromHeaviest();
  }

  /** What the tenant that holds most has not written to for longest, until another holds more. */
  #dropFromHeaviest(): void {
    const [heaviest, next] = [...this.#tenants.values()].toSorted((a, b) => b.bytes - a.bytes);
    if (heaviest === undefined) throw new Error("what is too much is somebody's");
    for (const kept of heaviest.byId.values()) {
      this.#drop(kept);
      const isEnough = this.#bytes <= this.#retention.maxBytes * LEFT;
      if (isEnough || heaviest.bytes < (next?.bytes ?? 0)) return;
    }
  }
}

type Listed = { readonly id: string; readonly bytes: number; readonly json: () => string };

/** One page of a list that is in memory, oldest first. */
export function pageOf(
  list: readonly Listed[],
  { limit, order, after }: PageQuery,
  weigh: Weigh,
): FoundPage {
  const all = order === "asc" ? list : list.toReversed();
  const from = after === undefined ? 0 : 1 + all.findIndex(({ id }) => id === after);
  if (from === 0 && after !== undefined) return { type: "unknown-after" };
  const some = all.slice(from, from + limit);
  weigh(some.reduce((sum, { bytes }) => sum + bytes, 0));
  const items = some.map(({ id, json }) => ({ id, json: json() }));
  return { type: "found", items, isWhole: from + limit >= all.length };
}

const keyOf = (tenant: Tenant, id: string): string => JSON.stringify([tenant, id]);
const kindOf = (tenant: Tenant, id: string): string => keyOf(tenant, id.slice(0, KIND_LENGTH));
