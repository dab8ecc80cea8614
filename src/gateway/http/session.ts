import { itemsTexts } from "../../history/chain-rows.ts";
import { noStore } from "../../history/none.ts";
import type {
  FoundChain,
  FoundItems,
  ResponseRecord,
  Store,
  StoredItem,
  StoredResponse,
  StoredTurn,
} from "../../history/store.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { ByteBudget } from "./budget.ts";

type KeptAnswer = StoredResponse & Pick<ResponseRecord, "input">;

/** An answer and the one that it continues, by itself: some upstreams give every answer the same id. */
type Kept = { readonly answer: KeptAnswer; readonly before: Kept | undefined };

/** What all sessions of a tenant are remembered within. */
type SessionShare = { readonly budget: ByteBudget; readonly tenant: Tenant };

type SessionState = {
  readonly store: Store;
  readonly config: { readonly server: { readonly body_limit: number } };
};

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
      findItems: (...asked) => this.#findItems(store, ...asked),
      findPlan: (...asked) => store.findPlan(...asked),
      findSealOwners: (tenant, seals) => store.findSealOwners(tenant, seals),
      findResponse: (...asked) => store.findResponse(...asked),
      findHead: (...asked) => store.findHead(...asked),
      findInput: (...asked) => store.findInput(...asked),
      loadChain: (...asked) => {
        [, this.#continued] = asked;
        return this.#loadChain(store, ...asked);
      },
      listInput: (...asked) => store.listInput(...asked),
      deleteResponse: (tenant, id) => store.deleteResponse(tenant, id),
      sumUsage: (tenant, start, end) => store.sumUsage(tenant, start, end),
      conversations: store.conversations,
      leases: store.leases,
      secret: (name, made) => store.secret(name, made),
      close: () => store.close(),
    };
  }

  /** The state of a gateway as the next turn on this connection sees it. */
  stateOver<State extends SessionState>(state: State): State {
    this.#continued = undefined;
    return { ...state, store: this.over(state.store, state.config.server.body_limit) };
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

  #keep(answer: KeptAnswer, maxBytes: number): void {
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
    ...[tenant, ids, maxBytes, weigh]: Parameters<Store["findItems"]>
  ): Promise<FoundItems> {
    const own = new Map<string, StoredItem>();
    for (const id of ids) {
      const item = this.#items.get(id);
      if (item !== undefined) own.set(id, item);
    }
    const others = ids.filter((id) => !own.has(id));
    const found =
      others.length === 0 ? undefined : await store.findItems(tenant, others, maxBytes, weigh);
    if (found?.type === "too-large") return found;
    return { type: "found", items: new Map([...own, ...(found?.items ?? [])]) };
  }

  async #loadChain(
    store: Store,
    ...[tenant, id, maxBytes, weigh]: Parameters<Store["loadChain"]>
  ): Promise<FoundChain> {
    const kept = this.#answers.get(id);
    if (kept === undefined) return store.loadChain(tenant, id, maxBytes, weigh);
    const own: KeptAnswer[] = [];
    for (let next: Kept | undefined = kept; next !== undefined; next = next.before)
      own.unshift(next.answer);
    const bytes = own.reduce((sum, answer) => sum + itemsSize(answer), 0);
    weigh(bytes);
    const texts = itemsTexts(own.flatMap(({ input, items }) => [...input, ...items]));
    const previous = own[0]?.previous;
    const last = kept.answer;
    if (previous === undefined) return { type: "found", texts, bytes, last };
    const stored = await store.loadChain(tenant, previous, maxBytes, weigh);
    if (stored.type !== "found") return stored;
    const all = [...stored.texts, ...texts];
    return { type: "found", texts: all, bytes: bytes + stored.bytes, last };
  }
}

const sizeOf = (answer: KeptAnswer): number => answer.json.length + itemsSize(answer);
const itemsSize = ({ input, items }: KeptAnswer): number =>
  [...input, ...items].reduce((sum, item) => sum + item.json.length, 0);
