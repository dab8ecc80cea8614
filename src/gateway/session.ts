import { itemsText, joinedTexts } from "../store/chain-rows.ts";
import { noStore } from "../store/none.ts";
import type {
  FoundChain,
  FoundItem,
  FoundItems,
  Store,
  StoredItem,
  StoredResponse,
  StoredTurn,
} from "../store/store.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { BodyBudget } from "./body-budget.ts";

/** An answer and the one that it continues, by itself: some upstreams give every answer the same id. */
type Kept = { readonly answer: StoredResponse; readonly before: Kept | undefined };

/** What all sessions of a tenant are remembered within. */
type SessionShare = { readonly budget: BodyBudget; readonly tenant: Tenant };

/**
 * What a WebSocket remembers of its turns: the answers that its client does not
 * want stored can be continued on the same connection, and nowhere else.
 */
export class Session {
  readonly #share: SessionShare | undefined;
  #isOver = false;
  readonly #answers = new Map<string, Kept>();
  readonly #items = new Map<string, StoredItem>();
  #bytes = 0;
  /** The answer that the turn under way continues. */
  #continued: string | undefined;

  constructor(share?: SessionShare) {
    this.#share = share;
  }

  /** The store as a turn on this connection sees it; `maxBytes` of answers are remembered. */
  over(store: Store, maxBytes: number): Store {
    return {
      start: () => store.start(),
      trouble: () => store.trouble(),
      saveTurn: (turn) => this.#save(store, turn, maxBytes),
      findItems: (tenant, ids, most) => this.#findItems(store, tenant, ids, most),
      findPlan: (tenant, id) => store.findPlan(tenant, id),
      findSealOwners: (tenant, seals) => store.findSealOwners(tenant, seals),
      findResponse: (tenant, id) => store.findResponse(tenant, id),
      loadChain: (tenant, id, most) => {
        this.#continued = id;
        return this.#loadChain(store, tenant, id, most);
      },
      deleteResponse: (tenant, id) => store.deleteResponse(tenant, id),
      sumUsage: (tenant, start, end) => store.sumUsage(tenant, start, end),
      conversations: store.conversations,
      leases: store.leases,
      secret: (name, made) => store.secret(name, made),
      close: () => store.close(),
    };
  }

  /** A turn begins. */
  begin(): void {
    this.#continued = undefined;
  }

  /**
   * The turn under way failed: the answer that it continued is forgotten, as
   * Open Responses has it, so that its client sends the conversation anew.
   */
  fail(): void {
    if (this.#continued !== undefined) this.#answers.delete(this.#continued);
  }

  /** What a turn leaves behind that may not be stored stays here; the rest is stored as ever. */
  #save(store: Store, turn: StoredTurn, maxBytes: number): Promise<void> | undefined {
    const { answerId: id, response, items, isPrivate } = turn;
    if (isPrivate !== true && store !== noStore) return store.saveTurn(turn);
    // Nobody else keeps it either, so that its origin is of no use.
    if (id !== undefined && response !== undefined)
      this.#keep({ ...response, id, items, origin: undefined }, maxBytes);
    return store.saveTurn({ ...turn, items: [], response: undefined });
  }

  #keep(answer: StoredResponse, maxBytes: number): void {
    if (this.#isOver) return;
    const bytes = sizeOf(answer);
    // Whoever goes on then is told so, and sends the conversation anew.
    if (this.#bytes + bytes > maxBytes) this.#clear();
    if (!this.#take(bytes)) {
      this.#clear();
      if (!this.#take(bytes)) return;
    }
    const before = answer.previous === undefined ? undefined : this.#answers.get(answer.previous);
    this.#answers.set(answer.id, { answer, before });
    for (const item of [...answer.input, ...answer.items]) this.#items.set(item.id, item);
  }

  #take(bytes: number): boolean {
    if (this.#share?.budget.take(this.#share.tenant, bytes) === false) return false;
    this.#bytes += bytes;
    return true;
  }

  #clear(): void {
    this.#answers.clear();
    this.#items.clear();
    this.#share?.budget.give(this.#share.tenant, this.#bytes);
    this.#bytes = 0;
  }

  /** Forgets all, for good: a turn may be over later than its connection. */
  close(): void {
    this.#isOver = true;
    this.#clear();
  }

  async #findItems(
    store: Store,
    tenant: Tenant,
    ids: readonly string[],
    maxBytes: number,
  ): Promise<FoundItems> {
    const own = new Map<string, FoundItem>();
    for (const id of ids) {
      const item = this.#items.get(id);
      if (item !== undefined) own.set(id, item);
    }
    const others = ids.filter((id) => !own.has(id));
    const found = others.length === 0 ? undefined : await store.findItems(tenant, others, maxBytes);
    if (found?.type === "too-large") return found;
    return { type: "found", items: new Map([...own, ...(found?.items ?? [])]) };
  }

  async #loadChain(
    store: Store,
    tenant: Tenant,
    id: string,
    maxBytes: number,
  ): Promise<FoundChain> {
    const kept = this.#answers.get(id);
    if (kept === undefined) return store.loadChain(tenant, id, maxBytes);
    const before: string[] = [];
    let first = kept;
    for (; first.before !== undefined; first = first.before) {
      const { input, items } = first.before.answer;
      before.unshift(itemsText(input), itemsText(items));
    }
    const { previous } = first.answer;
    if (previous !== undefined) {
      const stored = await store.loadChain(tenant, previous, maxBytes);
      if (stored.type !== "found") return stored;
      const { input, items } = stored.last;
      before.unshift(stored.before, itemsText(input), itemsText(items));
    }
    return { type: "found", before: joinedTexts(before), last: kept.answer };
  }
}

const sizeOf = ({ json, input, items }: StoredResponse): number =>
  [...input, ...items].reduce((sum, item) => sum + item.json.length, json.length);
