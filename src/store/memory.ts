import type { Clock } from "../turn/clock.ts";
import { groupOf } from "../turn/item-ids.ts";
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

/** What is kept of a turn beside its plan. */
type KeptTurn = {
  readonly id: string | undefined;
  readonly at: number;
  readonly items: readonly StoredItem[];
  readonly response: ResponseRecord | undefined;
  /** The JSON of its items, input and answer, in characters. */
  readonly length: number;
  /** The turn that it continues: a chain of any depth is followed without looking for each. */
  parent: KeptTurn | undefined;
  /** It was dropped, deleted or replaced. What refers to it must not keep what it refers to itself. */
  isGone: boolean;
};

/** Turns by the ids of their answers and items, and seals. */
type Answers = {
  readonly responses: Map<string, KeptTurn>;
  /** By the id of an item, or by its group, the turn that it is in. */
  readonly items: Map<string, KeptTurn>;
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
        for (const kept of responses.values()) forget(kept);
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

  /** Nothing is copied and nothing written out: most is never read again. */
  saveTurn(turn: StoredTurn): Promise<void> | undefined {
    const { tenant, at, answerId, plan } = turn;
    if (turn.usage !== undefined) this.#usage.add(tenant, at, turn.usage);
    if (answerId !== undefined && plan !== undefined)
      this.#plans.open(tenant, plan.bytes + ENTRY_BYTES)?.set(answerId, { at, value: plan });
    this.#saveAnswer(turn);
    const { conversation } = turn;
    if (conversation !== undefined)
      void this.conversations.addConversationItems(tenant, conversation.id, conversation.items);
    return undefined;
  }

  /** One segment takes it all, so that it is also dropped whole. */
  #saveAnswer(turn: StoredTurn): void {
    const { tenant, at, answerId: id, items, response, seals } = turn;
    if (items.length === 0 && seals.length === 0 && response === undefined) return;
    const input = response?.input ?? none;
    const length = lengthOf(input) + lengthOf(items);
    const entries = items.length + input.length + seals.length + Number(response !== undefined);
    // A character takes up to two bytes.
    const characters = length + idsLength(items) + idsLength(input) + (response?.json.length ?? 0);
    const bytes = 2 * characters + entries * ENTRY_BYTES;
    const content = this.#answers.open(tenant, bytes, response?.shared);
    if (content === undefined) return;
    const kept: KeptTurn = { id, at, items, response, length, parent: undefined, isGone: false };
    for (const item of items) content.items.set(item.id, kept);
    for (const { seal, upstream } of seals) content.seals.set(seal, upstream);
    if (id === undefined) return;
    if (response === undefined) return addTo(content.others, id, items);
    addInput(content.items, input, kept);
    const { previous } = response;
    if (previous !== undefined) kept.parent = this.#find(tenant, previous);
    const replaced = turn.isNewId === true ? undefined : this.#find(tenant, id);
    if (replaced !== undefined) forget(replaced);
    content.responses.set(id, kept);
  }

  findItems(tenant: Tenant, ids: readonly string[], maxBytes: number): Promise<FoundItems> {
    const items = new Map<string, FoundItem>();
    let bytes = 0;
    for (const id of new Set(ids)) {
      const group = groupOf(id) ?? id;
      const kept = this.#answers.find(
        tenant,
        ({ items: turns }) => turns.get(id) ?? turns.get(group),
      );
      const item = kept === undefined || !this.#isFresh(kept) ? undefined : itemIn(kept, id);
      if (item === undefined) continue;
      bytes += item.json.length;
      if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
      items.set(id, item);
    }
    return Promise.resolve({ type: "found", items });
  }

  findPlan(tenant: Tenant, answerId: string): Promise<Fields | undefined> {
    const entry = this.#plans.find(tenant, (plans) => plans.get(answerId));
    const isKnown = entry !== undefined && this.#isFresh(entry);
    return Promise.resolve(isKnown ? JSON.parse(entry.value.json()) : undefined);
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
    const earlier: KeptTurn[] = [];
    let bytes = asked.length;
    let last = asked;
    for (let next = asked.parent; next !== undefined && this.#isKept(next); next = next.parent) {
      bytes += next.length;
      if (bytes > maxBytes) break;
      earlier.push(next);
      last = next;
    }
    if (bytes > maxBytes) return Promise.resolve({ type: "too-large" });
    const previous = last.response?.previous;
    if (previous !== undefined) return Promise.resolve({ type: "missing", id: previous });
    return Promise.resolve({ type: "found", before: textOf(earlier), last: responseOf(asked) });
  }

  deleteResponse(tenant: Tenant, id: string): Promise<boolean> {
    const response = this.#responseOf(tenant, id);
    if (response === undefined) return Promise.resolve(false);
    for (const content of this.#answers.contents(tenant)) {
      const kept = content.responses.get(id);
      if (kept !== undefined) forget(kept);
      content.responses.delete(id);
      for (const other of content.others.get(id) ?? []) content.items.delete(other);
      content.others.delete(id);
      for (const item of response.items) content.items.delete(item.id);
      for (const { id: item, group = item } of response.input) content.items.delete(group);
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
    const found = this.#find(tenant, id);
    return found === undefined ? undefined : responseOf(found);
  }

  #find(tenant: Tenant, id: string): KeptTurn | undefined {
    const found = this.#answers.find(tenant, (content) => content.responses.get(id));
    return found !== undefined && this.#isFresh(found) ? found : undefined;
  }

  #isKept(turn: KeptTurn): boolean {
    return !turn.isGone && this.#isFresh(turn);
  }

  #isFresh({ at }: { readonly at: number }): boolean {
    return this.#clock.date() - at <= this.#maxAgeMs;
  }
}

const none: readonly StoredItem[] = [];

function lengthOf(items: readonly StoredItem[]): number {
  let length = 0;
  for (const { json } of items) length += json.length;
  return length;
}

/** One entry for all items of a group, which mostly are all of them. */
function addInput(
  turns: Map<string, KeptTurn>,
  input: readonly StoredItem[],
  kept: KeptTurn,
): void {
  let last: string | undefined;
  for (const { id, group = id } of input) {
    if (group !== last) turns.set(group, kept);
    last = group;
  }
}

function idsLength(items: readonly StoredItem[]): number {
  let length = 0;
  for (const { id } of items) length += id.length;
  return length;
}

function itemIn({ items, response, at }: KeptTurn, id: string): FoundItem | undefined {
  const isIt = (item: StoredItem): boolean => item.id === id;
  const item = items.findLast(isIt) ?? response?.input.findLast(isIt);
  const origin = response?.origin;
  return item && { ...item, at, ...(origin !== undefined && { origin }) };
}

const responseOf = ({ id = "", at, items, response }: KeptTurn): StoredResponse => ({
  input: none,
  json: "",
  ...response,
  id,
  at,
  items,
});

/** The items of turns that are given newest first. */
function textOf(turns: readonly KeptTurn[]): string {
  const texts: string[] = [];
  for (let at = turns.length - 1; at >= 0; at--) {
    for (const { json } of turns[at]?.response?.input ?? none) texts.push(json);
    for (const { json } of turns[at]?.items ?? none) texts.push(json);
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

function forget(kept: KeptTurn): void {
  kept.isGone = true;
  kept.parent = undefined;
}
