import type { Clock } from "../turn/clock.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
import { itemsText, joinedTexts } from "./chain-rows.ts";
import type { ConversationStore } from "./conversations.ts";
import { MemoryConversations } from "./memory-conversations.ts";
import { TenantSegments } from "./segments.ts";
import type {
  FoundChain,
  FoundItem,
  FoundItems,
  ResponseRecord,
  Retention,
  Store,
  StoredItem,
  StoredPlan,
  StoredResponse,
  StoredTurn,
} from "./store.ts";
import { usageSums, type UsageRow } from "./usage-sums.ts";

type Timed<Value> = { readonly at: number; readonly value: Value };

/** Answers with their items, and seals, by id. */
type Answers = {
  readonly responses: Map<string, StoredResponse>;
  readonly items: Map<string, Timed<FoundItem>>;
  readonly seals: Map<string, string>;
};
type Plans = Map<string, Timed<StoredPlan>>;

const DAY_MS = 86_400_000;
const memoryRetention: Retention = { maxBytes: 24 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };

/** Of what may be kept, the part for plans: the plans of an agent with many tools must not push out its answers. */
export const PLANS_SHARE = 1 / 3;

/** The part for conversations. */
const CONVERSATIONS_SHARE = 1 / 6;

/** What an entry takes beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;

const done = Promise.resolve();

/** A store that lives as long as the process. A write is over when its call returns. */
export class MemoryStore implements Store {
  readonly conversations: ConversationStore;
  readonly #secrets = new Map<string, string>();
  readonly #clock: Pick<Clock, "date">;
  readonly #maxAgeMs: number;
  readonly #answers: TenantSegments<Answers>;
  readonly #plans: TenantSegments<Plans>;
  readonly #usage = usageSums();

  constructor(clock: Pick<Clock, "date">, { maxBytes, maxAgeMs } = memoryRetention) {
    const plansBytes = maxBytes * PLANS_SHARE;
    const conversationsBytes = maxBytes * CONVERSATIONS_SHARE;
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#answers = new TenantSegments(
      { maxBytes: maxBytes - plansBytes - conversationsBytes, maxAgeMs },
      clock,
      () => ({
        responses: new Map(),
        items: new Map(),
        seals: new Map(),
      }),
    );
    this.conversations = new MemoryConversations(clock, {
      maxBytes: conversationsBytes,
      maxAgeMs,
    });
    this.#plans = new TenantSegments({ maxBytes: plansBytes, maxAgeMs }, clock, () => new Map());
  }

  start(): void {}

  trouble(): undefined {}

  saveTurn(turn: StoredTurn): Promise<void> {
    const { tenant, at, answerId, plan } = turn;
    if (turn.usage !== undefined) this.#usage.add(tenant, at, turn.usage);
    if (answerId !== undefined && plan !== undefined)
      this.#plans.open(tenant, plan.bytes + ENTRY_BYTES)?.set(answerId, { at, value: plan });
    this.#saveAnswer(turn);
    return done;
  }

  /** One segment takes it all, so that it is also dropped whole. */
  #saveAnswer({ tenant, at, answerId, items, response, seals }: StoredTurn): void {
    if (items.length === 0 && seals.length === 0 && response === undefined) return;
    const own = response === undefined ? 0 : responseBytes(response);
    const bytes = own + itemsBytes(items) + seals.length * ENTRY_BYTES;
    const content = this.#answers.open(tenant, bytes);
    if (content === undefined) return;
    const origin = response?.origin;
    const keep = (item: StoredItem): void => {
      const value = origin === undefined ? item : { ...item, origin };
      content.items.set(item.id, { at, value });
    };
    for (const item of items) keep(item);
    for (const { seal, upstream } of seals) content.seals.set(seal, upstream);
    if (answerId === undefined || response === undefined) return;
    content.responses.set(answerId, { ...response, id: answerId, at, items });
    for (const item of response.input) keep(item);
  }

  findItems(tenant: Tenant, ids: readonly string[], maxBytes: number): Promise<FoundItems> {
    const items = new Map<string, FoundItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const entry = this.#answers.find(tenant, (content) => content.items.get(id));
      if (entry === undefined || !this.#isFresh(entry)) continue;
      bytes += entry.value.json.length;
      if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
      items.set(id, entry.value);
    }
    return Promise.resolve({ type: "found", items });
  }

  findPlan(tenant: Tenant, answerId: string): Promise<Fields | undefined> {
    const entry = this.#plans.find(tenant, (plans) => plans.get(answerId));
    const isKnown = entry !== undefined && this.#isFresh(entry);
    return Promise.resolve(isKnown ? entry.value.report() : undefined);
  }

  findSealOwners(tenant: Tenant, seals: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const owners = new Map<string, string>();
    for (const seal of seals) {
      const owner = this.#answers.find(tenant, (content) => content.seals.get(seal));
      if (owner !== undefined) owners.set(seal, owner);
    }
    return Promise.resolve(owners);
  }

  findResponse(tenant: Tenant, id: string): Promise<StoredResponse | undefined> {
    return Promise.resolve(this.#responseOf(tenant, id));
  }

  loadChain(tenant: Tenant, id: string, maxBytes: number): Promise<FoundChain> {
    const before: string[] = [];
    let last: StoredResponse | undefined;
    // An id that comes again was given to a later answer too, and the one that was meant is gone.
    const ids = new Set<string>();
    let bytes = 0;
    for (let next: string | undefined = id; next !== undefined;) {
      const response: StoredResponse | undefined = ids.has(next)
        ? undefined
        : this.#responseOf(tenant, next);
      if (response === undefined) return Promise.resolve({ type: "missing", id: next });
      bytes += lengthOf(response.input) + lengthOf(response.items);
      if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
      if (last === undefined) last = response;
      else before.push(itemsText([...response.input, ...response.items]));
      ids.add(next);
      next = response.previous;
    }
    if (last === undefined) return Promise.resolve({ type: "missing", id });
    return Promise.resolve({ type: "found", before: joinedTexts(before.toReversed()), last });
  }

  deleteResponse(tenant: Tenant, id: string): Promise<boolean> {
    const response = this.#responseOf(tenant, id);
    if (response === undefined) return Promise.resolve(false);
    for (const content of this.#answers.contents(tenant)) {
      content.responses.delete(id);
      for (const item of response.items) content.items.delete(item.id);
      for (const item of response.input) content.items.delete(item.id);
    }
    for (const plans of this.#plans.contents(tenant)) plans.delete(id);
    return Promise.resolve(true);
  }

  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]> {
    return Promise.resolve(this.#usage.read(tenant, start, end));
  }

  async secret(name: string, made: string): Promise<string> {
    const known = this.#secrets.get(name);
    if (known === undefined) this.#secrets.set(name, made);
    return known ?? made;
  }

  close(): Promise<void> {
    return done;
  }

  #responseOf(tenant: Tenant, id: string): StoredResponse | undefined {
    const response = this.#answers.find(tenant, (content) => content.responses.get(id));
    return response !== undefined && this.#isFresh(response) ? response : undefined;
  }

  #isFresh({ at }: { readonly at: number }): boolean {
    return this.#clock.date() - at <= this.#maxAgeMs;
  }
}

const lengthOf = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + json.length, 0);

/** A character takes up to two bytes. */
const itemsBytes = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { id, json }) => sum + 2 * (id.length + json.length) + ENTRY_BYTES, 0);

const responseBytes = ({ json, input }: ResponseRecord): number =>
  2 * json.length + ENTRY_BYTES + itemsBytes(input);
