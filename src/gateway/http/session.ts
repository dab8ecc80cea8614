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

/** An answer and the one that it continues, by itself: some upstreams give every answer the same id. */
type Kept = {
  readonly head: EntryHead;
  /** What came with its request, and then the answer's own. */
  readonly items: readonly StoredItem[];
  readonly before: Kept | undefined;
};

/** What all sessions of a tenant are remembered within. */
type SessionShare = { readonly budget: ByteBudget; readonly tenant: Tenant };

type SessionState = {
  readonly store: Log;
  readonly config: { readonly server: { readonly body_limit: number } };
};

/**
 * What a WebSocket remembers of its turns, in front of the log of the gateway: the
 * answers that its client does not want stored can be continued on the same
 * connection, and nowhere else.
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

  /** The state of a gateway as the next turn on this connection sees it. */
  stateOver<State extends SessionState>(state: State): State {
    this.#continued = undefined;
    return { ...state, store: this.over(state.store, state.config.server.body_limit) };
  }

  /** The log as a turn on this connection sees it; `maxBytes` of answers are remembered. */
  over(log: Log, maxBytes: number): Log {
    const own: Pick<Log, "append" | "findItems" | "load"> = {
      append: (turn) => this.#append(log, turn, maxBytes),
      findItems: (query, weigh) => this.#findItems(log, query, weigh),
      load: (key, bytes, weigh) => {
        this.#continued = key.id;
        return this.#load(log, key, bytes, weigh);
      },
    };
    return new Proxy(log, {
      get(target, name) {
        if (name in own) return own[name as keyof typeof own];
        const value: unknown = target[name as keyof Log];
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /**
   * The turn under way failed: the answer that it continued is forgotten, as
   * Open Responses has it, so that its client sends the conversation anew.
   */
  fail(): void {
    if (this.#continued !== undefined) this.#answers.delete(this.#continued);
  }

  /** Forgets all, for good: a turn may be over later than its connection. */
  close(): void {
    this.#isOver = true;
    this.#clear();
  }

  /** What a turn leaves behind that may not be stored stays here; the rest is stored as ever. */
  #append(log: Log, turn: StoredTurn, maxBytes: number): Promise<void> | undefined {
    const { answerId: id, response, items, isPrivate } = turn;
    if (isPrivate !== true && log !== noStore) return log.append(turn);
    if (id !== undefined && response !== undefined) {
      const { previous, json, input } = response;
      // Nobody else keeps it either, so that its origin is of no use.
      this.#keep({ id, previous, json }, [...input, ...items], maxBytes);
    }
    return log.append({ ...turn, items: [], response: undefined });
  }

  #keep(head: EntryHead, items: readonly StoredItem[], maxBytes: number): void {
    if (this.#isOver) return;
    const bytes = head.json.length + sizeOf(items);
    // A client that goes on then is told so, and sends the conversation anew.
    if (this.#bytes + bytes > maxBytes) this.#clear();
    if (!this.#take(bytes)) {
      this.#clear();
      if (!this.#take(bytes)) return;
    }
    const before = head.previous === undefined ? undefined : this.#answers.get(head.previous);
    this.#answers.set(head.id, { head, items, before });
    for (const item of items) this.#items.set(item.id, item);
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

  async #findItems(log: Log, query: ItemsQuery, weigh: Weigh): Promise<FoundItems> {
    const own = new Map<string, StoredItem>();
    for (const id of query.ids) {
      const item = this.#items.get(id);
      if (item !== undefined) own.set(id, item);
    }
    const ids = query.ids.filter((id) => !own.has(id));
    if (ids.length === 0) return { type: "found", items: own };
    const found = await log.findItems({ ...query, ids }, weigh);
    if (found.type === "too-large") return found;
    return { type: "found", items: new Map([...own, ...found.items]) };
  }

  async #load(log: Log, key: Key, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const kept = this.#answers.get(key.id);
    if (kept === undefined) return log.load(key, maxBytes, weigh);
    const own: StoredItem[][] = [];
    let previous: string | undefined;
    for (let next: Kept | undefined = kept; next !== undefined; next = next.before) {
      own.unshift([...next.items]);
      ({ previous } = next.head);
    }
    const items = own.flat();
    const bytes = sizeOf(items);
    weigh(bytes);
    const texts = itemsTexts(items);
    const last = kept.head;
    if (previous === undefined) return { type: "found", texts, bytes, last };
    const stored = await log.load({ ...key, id: previous }, maxBytes, weigh);
    if (stored.type !== "found") return stored;
    return { type: "found", texts: [...stored.texts, ...texts], bytes: bytes + stored.bytes, last };
  }
}

const sizeOf = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + json.length, 0);
