import type { Clock } from "../turn/clock.ts";
import type { Tenant } from "../turn/tenant.ts";
import { MemoryLeases } from "./leases.ts";
import { MemoryAnswers } from "./memory-answers.ts";
import { MemoryConversations } from "./memory-conversations.ts";
import { TenantSegments } from "./segments.ts";
import type {
  FoundChain,
  FoundItems,
  FoundPage,
  PageQuery,
  ResponseHead,
  Retention,
  Store,
  StoredItem,
  StoredPlan,
  StoredResponse,
  StoredTurn,
  Weigh,
} from "./store.ts";
import { usageSums, type UsageRow } from "./usage-sums.ts";

type Timed<Value> = { readonly at: number; readonly value: Value };

type Plans = Map<string, Timed<StoredPlan> & { readonly keptFor: string | undefined }>;

const DAY_MS = 86_400_000;
const memoryRetention: Retention = { maxBytes: 24 * 1024 * 1024, maxAgeMs: 30 * DAY_MS };

/** Of what may be kept, the part for plans: the plans of an agent with many tools must not push out its answers. */
export const PLANS_SHARE = 1 / 3;

/** The part for conversations. */
const CONVERSATIONS_SHARE = 1 / 6;

/** What an entry takes beside its text: objects, table slots, keys. */
const ENTRY_BYTES = 256;

const done = Promise.resolve();

/**
 * A store that lives as long as the process. A write is over when its call returns.
 * Ages go by the clock of the process, which is never set.
 */
export class MemoryStore implements Store {
  readonly conversations: MemoryConversations;
  readonly leases: MemoryLeases;
  readonly #secrets = new Map<string, string>();
  readonly #clock: Pick<Clock, "now">;
  readonly #maxAgeMs: number;
  readonly #answers: MemoryAnswers;
  readonly #plans: TenantSegments<Plans>;
  readonly #usage = usageSums();

  constructor(clock: Pick<Clock, "now">, { maxBytes, maxAgeMs } = memoryRetention) {
    const plansBytes = maxBytes * PLANS_SHARE;
    const conversationsBytes = maxBytes * CONVERSATIONS_SHARE;
    this.#clock = clock;
    this.leases = new MemoryLeases(clock);
    this.#maxAgeMs = maxAgeMs;
    const answersBytes = maxBytes - plansBytes - conversationsBytes;
    this.#answers = new MemoryAnswers(clock, { maxBytes: answersBytes, maxAgeMs });
    this.conversations = new MemoryConversations(
      clock,
      { maxBytes: conversationsBytes, maxAgeMs },
      (tenant, id) => this.#deleteWith(tenant, id),
    );
    this.#plans = new TenantSegments({ maxBytes: plansBytes, maxAgeMs }, clock, () => new Map());
  }

  start(): void {}

  trouble(): undefined {}

  saveTurn(turn: StoredTurn): Promise<void> | undefined {
    const { tenant, answerId, plan, conversation, lease } = turn;
    if (lease !== undefined) this.leases.check(tenant, lease);
    const isKept = conversation !== undefined && this.conversations.isKept(tenant, conversation.id);
    if (isKept) this.leases.check(tenant, conversation);
    const at = this.#clock.now();
    const keptFor = turn.response === undefined ? conversation?.id : undefined;
    if (turn.usage !== undefined) this.#usage.add(tenant, turn.at, turn.usage);
    if (keptFor !== undefined && !isKept) return undefined;
    if (answerId !== undefined && plan !== undefined)
      this.#plans
        .open(tenant, plan.bytes + ENTRY_BYTES)
        ?.set(answerId, { at, value: plan, keptFor });
    this.#answers.save(turn);
    if (turn.thoughts !== undefined)
      this.#answers.save({
        tenant,
        at: turn.at,
        answerId: keptFor ?? answerId,
        items: turn.thoughts,
        seals: [],
      });
    if (conversation !== undefined)
      void this.conversations.addConversationItems(tenant, conversation.id, conversation.items);
    return undefined;
  }

  async findItems(
    tenant: Tenant,
    ids: readonly string[],
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundItems> {
    return this.#answers.findItems(tenant, ids, maxBytes, weigh);
  }

  async findPlan(tenant: Tenant, answerId: string, weigh: Weigh): Promise<string | undefined> {
    const entry = this.#plans.find(tenant, (plans) => plans.get(answerId));
    if (entry === undefined || !this.#isFresh(entry)) return undefined;
    weigh(entry.value.bytes);
    return entry.value.json();
  }

  findSealOwners(tenant: Tenant, seals: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return Promise.resolve(this.#answers.findSealOwners(tenant, seals));
  }

  async findResponse(
    tenant: Tenant,
    id: string,
    weigh: Weigh,
  ): Promise<StoredResponse | undefined> {
    return this.#answers.findResponse(tenant, id, weigh);
  }

  async findHead(tenant: Tenant, id: string, weigh: Weigh): Promise<ResponseHead | undefined> {
    return this.#answers.findHead(tenant, id, weigh);
  }

  async findInput(tenant: Tenant, id: string, weigh: Weigh): Promise<readonly StoredItem[]> {
    return this.#answers.findInput(tenant, id, weigh);
  }

  async loadChain(tenant: Tenant, id: string, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    return this.#answers.loadChain(tenant, id, maxBytes, weigh);
  }

  async listInput(tenant: Tenant, id: string, query: PageQuery, weigh: Weigh): Promise<FoundPage> {
    return this.#answers.listInput(tenant, id, query, weigh);
  }

  deleteResponse(tenant: Tenant, id: string): Promise<boolean> {
    const isKnown = this.#answers.delete(tenant, id);
    if (isKnown) {
      this.leases.drop(tenant, id);
      for (const plans of this.#plans.contents(tenant)) plans.delete(id);
    }
    return Promise.resolve(isKnown);
  }

  /** Deletes all that is kept for a conversation or a completion. */
  #deleteWith(tenant: Tenant, id: string): void {
    this.leases.drop(tenant, id);
    this.#answers.deleteOthers(tenant, id);
    for (const plans of this.#plans.contents(tenant))
      for (const [answerId, { keptFor }] of plans)
        if (answerId === id || keptFor === id) plans.delete(answerId);
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

  #isFresh({ at }: { readonly at: number }): boolean {
    return this.#clock.now() - at <= this.#maxAgeMs;
  }
}
