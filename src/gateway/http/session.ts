import type { Tenant } from "../../turn/tenant.ts";
import {
  itemsTexts,
  type EntryHead,
  type FoundChain,
  type FoundItems,
  type ItemsQuery,
  type Key,
  type Log,
  type StoredItem,
  type StoredTurn,
  type Weigh,
} from "../../history/log.ts";
import { noStore } from "../../history/none.ts";
import type { ByteBudget } from "./budget.ts";

/** An answer, linked to the one that it continues: some upstreams give every answer the same id. */
type Kept = {
  readonly head: EntryHead;
  /** The items of its request, then its own. */
  readonly items: readonly StoredItem[];
  readonly before: Kept | undefined;
};

type SessionState = {
  readonly store: Log;
  readonly config: { readonly server: { readonly body_limit: number } };
};

type Share = { readonly budget: ByteBudget; readonly tenant: Tenant };

/**
 * The memory of a WebSocket, in front of the log of the gateway: answers that its client does not
 * want stored can be continued on the same connection, and nowhere else.
 */
export class ConnectionLog {
  readonly #share: Share;
  #isOver = false;
  readonly #answers = new Map<string, Kept>();
  readonly #items = new Map<string, StoredItem>();
  #bytes = 0;
  /** The answer that the turn under way continues. */
  #continued: string | undefined;

  constructor(share: Share) {
    this.#share = share;
  }

  /** The state of a gateway for the next turn on this connection, whose log is seen through the session. */
  stateOver<State extends SessionState>(state: State): State {
    this.#continued = undefined;
    const { store: log, config } = state;
    const own: Pick<Log, "append" | "find" | "load"> = {
      append: (turn) => this.#append(log, turn, config.server.body_limit),
      find: (query, weigh) => this.#find(log, query, weigh),
      load: (key, bytes, weigh) => {
        this.#continued = key.id;
        return this.#load(log, key, bytes, weigh);
      },
    };
    const store = new Proxy(log, {
      get(target, name) {
        if (name in own) return own[name as keyof typeof own];
        const value: unknown = target[name as keyof Log];
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    return { ...state, store };
  }

  /**
   * The turn under way failed: the answer that it continued is forgotten, as Open Responses
   * demands, so that its client sends the whole conversation.
   */
  fail(): void {
    if (this.#continued !== undefined) this.#answers.delete(this.#continued);
  }

  /** Forgets everything for good: a turn may end later than its connection. */
  close(): void {
    this.#isOver = true;
    this.#clear();
  }

  /** Keeps what may not be stored, and stores the rest. */
  #append(log: Log, turn: StoredTurn, maxBytes: number): Promise<void> | undefined {
    const { answerId: id, response, items, isPrivate } = turn;
    if (isPrivate !== true && log !== noStore) return log.append(turn);
    if (id !== undefined && response !== undefined) {
      const { previous, json, input } = response;
      this.#keep({ id, previous, json }, [...input, ...items], maxBytes);
    }
    return log.append({ ...turn, items: [], response: undefined });
  }

  #keep(head: EntryHead, items: readonly StoredItem[], maxBytes: number): void {
    if (this.#isOver) return;
    const bytes = head.json.length + sizeOf(items);
    // A client that continues a forgotten answer is refused, and sends the whole conversation.
    if (this.#bytes + bytes > maxBytes) this.#clear();
    const { budget, tenant } = this.#share;
    if (!budget.take(tenant, bytes)) {
      this.#clear();
      if (!budget.take(tenant, bytes)) return;
    }
    this.#bytes += bytes;
    const before = head.previous === undefined ? undefined : this.#answers.get(head.previous);
    this.#answers.set(head.id, { head, items, before });
    for (const item of items) this.#items.set(item.id, item);
  }

  #clear(): void {
    this.#answers.clear();
    this.#items.clear();
    this.#share.budget.give(this.#share.tenant, this.#bytes);
    this.#bytes = 0;
  }

  async #find(log: Log, query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    if (query.of !== "items") return log.find(query, weigh);
    const own = new Map<string, StoredItem>();
    for (const id of query.ids) {
      const item = this.#items.get(id);
      if (item !== undefined) own.set(id, item);
    }
    const ids = query.ids.filter((id) => !own.has(id));
    if (ids.length === 0) return { type: "found", items: own };
    const found = await log.find({ ...query, ids }, weigh);
    if (found.type === "too-large") return found;
    return { type: "found", items: new Map([...own, ...found.items]) };
  }

  async #load(log: Log, key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const kept = this.#answers.get(key.id);
    if (kept === undefined) return log.load(key, maxBytes, weigh);
    const chain: Kept[] = [];
    for (let next: Kept | undefined = kept; next !== undefined; next = next.before)
      chain.unshift(next);
    const items = chain.flatMap((one) => one.items);
    const bytes = sizeOf(items);
    weigh(bytes);
    const texts = itemsTexts(items);
    const last = kept.head;
    const previous = chain[0]?.head.previous;
    if (previous === undefined) return { type: "found", texts, bytes, last };
    const stored = await log.load({ ...key, id: previous }, maxBytes, weigh);
    if (stored.type !== "found") return stored;
    return { type: "found", texts: [...stored.texts, ...texts], bytes: bytes + stored.bytes, last };
  }
}

const sizeOf = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + json.length, 0);
