import type { Clock } from "../turn/clock.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { Fields } from "../turn/turn.ts";
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

/** A response that knows the one that it continues: a chain of any depth is followed without looking for each. */
type ChainedResponse = {
  readonly response: StoredResponse;
  /** The JSON of its items, input and answer, in characters. */
  readonly length: number;
  parent: ChainedResponse | undefined;
  /** It was dropped, deleted or replaced. What refers to it must not keep what it refers to itself. */
  isGone: boolean;
};

/** Answers with their items, and seals, by id. */
type Answers = {
  readonly responses: Map<string, ChainedResponse>;
  readonly items: Map<string, FoundItem>;
  /** The items of turns without a response, by the id of the answer that they are about. */
  readonly others: Map<string, string[]>;
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
        others: new Map(),
        seals: new Map(),
      }),
      ({ responses }) => {
        for (const chained of responses.values()) forget(chained);
      },
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
      const value = origin === undefined ? { ...item, at } : { ...item, at, origin };
      content.items.set(item.id, value);
    };
    for (const item of items) keep(item);
    for (const { seal, upstream } of seals) content.seals.set(seal, upstream);
    if (answerId === undefined) return;
    if (response === undefined) return addTo(content.others, answerId, items);
    for (const item of response.input) keep(item);
    const { previous } = response;
    const parent = previous === undefined ? undefined : this.#find(tenant, previous);
    const replaced = this.#find(tenant, answerId);
    if (replaced !== undefined) forget(replaced);
    content.responses.set(answerId, {
      response: { ...response, id: answerId, at, items },
      length: lengthOf(response.input) + lengthOf(items),
      parent,
      isGone: false,
    });
  }

  findItems(tenant: Tenant, ids: readonly string[], maxBytes: number): Promise<FoundItems> {
    const items = new Map<string, FoundItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const entry = this.#answers.find(tenant, (content) => content.items.get(id));
      if (entry === undefined || !this.#isFresh(entry)) continue;
      bytes += entry.json.length;
      if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
      items.set(id, entry);
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
    const asked = this.#find(tenant, id);
    if (asked === undefined) return Promise.resolve({ type: "missing", id });
    const earlier: StoredResponse[] = [];
    let bytes = asked.length;
    let last = asked;
    for (let next = asked.parent; next !== undefined && this.#isKept(next); next = next.parent) {
      bytes += next.length;
      if (bytes > maxBytes) break;
      earlier.push(next.response);
      last = next;
    }
    if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
    const { previous } = last.response;
    if (previous !== undefined) return Promise.resolve({ type: "missing", id: previous });
    const { response } = asked;
    return Promise.resolve({ type: "found", before: textOf(earlier), last: response });
  }

  deleteResponse(tenant: Tenant, id: string): Promise<boolean> {
    const response = this.#responseOf(tenant, id);
    if (response === undefined) return Promise.resolve(false);
    for (const content of this.#answers.contents(tenant)) {
      const chained = content.responses.get(id);
      if (chained !== undefined) forget(chained);
      content.responses.delete(id);
      for (const other of content.others.get(id) ?? []) content.items.delete(other);
      content.others.delete(id);
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
    return this.#find(tenant, id)?.response;
  }

  #find(tenant: Tenant, id: string): ChainedResponse | undefined {
    const found = this.#answers.find(tenant, (content) => content.responses.get(id));
    return found !== undefined && this.#isFresh(found.response) ? found : undefined;
  }

  #isKept({ response, isGone }: ChainedResponse): boolean {
    return !isGone && this.#isFresh(response);
  }

  #isFresh({ at }: { readonly at: number }): boolean {
    return this.#clock.date() - at <= this.#maxAgeMs;
  }
}

const lengthOf = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { json }) => sum + json.length, 0);

/** The items of responses that are given newest first. */
function textOf(responses: readonly StoredResponse[]): string {
  const texts: string[] = [];
  for (let at = responses.length - 1; at >= 0; at--) {
    for (const { json } of responses[at]?.input ?? []) texts.push(json);
    for (const { json } of responses[at]?.items ?? []) texts.push(json);
  }
  return texts.join(",");
}

function addTo(
  others: Map<string, string[]>,
  answerId: string,
  items: readonly StoredItem[],
): void {
  const known = others.get(answerId) ?? [];
  others.set(answerId, known);
  for (const { id } of items) known.push(id);
}

function forget(chained: ChainedResponse): void {
  chained.isGone = true;
  chained.parent = undefined;
}

/** A character takes up to two bytes. */
const itemsBytes = (items: readonly StoredItem[]): number =>
  items.reduce((sum, { id, json }) => sum + 2 * (id.length + json.length) + ENTRY_BYTES, 0);

const responseBytes = ({ json, input }: ResponseRecord): number =>
  2 * json.length + ENTRY_BYTES + itemsBytes(input);
