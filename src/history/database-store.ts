import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import { isStorableId } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import type { ConversationStore } from "./conversations.ts";
import { DatabaseConversations, type RowKey } from "./database-conversations.ts";
import { DatabaseReading } from "./database-reading.ts";
import type { Batch, Database } from "./database.ts";
import type { LeaseStore, Renewal } from "./leases.ts";
import { PLANS_SHARE } from "./memory.ts";
import { recordOf, thoughtsRecord, type SharedRecord } from "./record.ts";
import type {
  FoundChain,
  FoundItems,
  FoundPage,
  PageQuery,
  ResponseHead,
  Retention,
  Store,
  StoredItem,
  StoredResponse,
  StoredTurn,
  SharedLimits,
  Weigh,
} from "./store.ts";
import { SWEEP_MS } from "./age-watch.ts";
import { HOUR_MS, HOURS_KEPT, type UsageRow } from "./usage-sums.ts";
import { WriteQueue } from "./write-queue.ts";

export type StoreOptions = {
  readonly clock: Clock;
  readonly retention: Retention;
  readonly gatherMs?: number | undefined;
  /** What is wrong with the database; undefined: it is well again. */
  readonly onState?: ((fault: Fault | undefined) => void) | undefined;
  /** Called when a sweep begins to keep expired rows because the clock may have been set. */
  readonly onWait?: (() => void) | undefined;
};

/** Stored answers end by so much later at most. */
const GATHER_MS = 20;
/** How long a request waits for the store. */
const READ_MS = 10_000;
/** Of what may be kept, how much is written before it is looked whether it is too much. */
const SWEEP_SHARE = 1 / 32;

/** A store whose rows are in a database. */
export class DatabaseStore implements Store {
  readonly conversations: ConversationStore;
  readonly #database: Database;
  readonly #reading: DatabaseReading;
  readonly limits: SharedLimits;
  readonly leases: LeaseStore;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #queue: WriteQueue;
  readonly #maxPlanBytes: number;
  readonly #onWait: () => void;
  #waits = false;
  #written = { bytes: 0, planBytes: 0 };
  /** What has been counted among what is written: it is stored once. */
  readonly #sharedBefore = new WeakSet<SharedRecord>();
  #isSweeping = false;
  #isClosed = false;
  #cancelSweep: (() => void) | undefined;

  constructor(database: Database, options: StoreOptions) {
    const { clock, retention, gatherMs = GATHER_MS, onState = () => {} } = options;
    this.limits = { spend: (spent) => database.spend(spent) };
    this.#database = database;
    this.#onWait = options.onWait ?? (() => {});
    this.#clock = clock;
    this.#retention = retention;
    this.#maxPlanBytes = retention.maxBytes * PLANS_SHARE;
    const write = (batch: Batch): Promise<void> => this.#write(batch);
    this.#queue = new WriteQueue({ clock, write, gatherMs, onState });
    const within =
      <Query, Found>(ask: (query: Query) => Promise<Found>) =>
      (query: Query): Promise<Found> =>
        this.#bounded(() => ask(query));
    this.#reading = new DatabaseReading({
      findItems: within(database.findItems),
      findPlan: within(database.findPlan),
      findResponse: within(database.findResponse),
      findBefore: within(database.findBefore),
      findChainItem: within(database.findChainItem),
      findConversation: within(database.findConversation),
      findConversationItem: within(database.findConversationItem),
      listConversations: within(database.listConversations),
      segmentTurns: within(database.segmentTurns),
      sizes: within(database.sizes),
      read: within(database.read),
    });
    this.leases = this.#leasesIn(database);
    this.conversations = new DatabaseConversations({
      database,
      reading: this.#reading,
      load: (tenant, id, none, load) => this.#load(tenant, id, none, load),
      readOne: (tenant, id, none, ask) => this.#readOne(tenant, id, none, ask),
      read: (tenant, ask) => this.#read(tenant, ask),
    });
  }

  start(): void {
    void this.#sweep().catch((error: unknown) => {
      if (error instanceof Fault) this.#queue.suspend(error);
    });
  }

  trouble(): Fault | undefined {
    return this.#queue.fault;
  }

  /** Not async: a write may wait for long, and would keep all of the turn meanwhile. */
  saveTurn(turn: StoredTurn): Promise<void> {
    return this.#queue.add(recordOf(turn, this.#maxPlanBytes), thoughtsRecord(turn));
  }

  async findItems(
    tenant: Tenant,
    asked: readonly string[],
    maxBytes: number,
    weigh: Weigh,
  ): Promise<FoundItems> {
    const ids = asked.filter(isStorableId);
    await this.#settled(tenant);
    return this.#reading.findItems({ tenant, ids, maxBytes }, weigh);
  }

  findPlan(tenant: Tenant, id: string, weigh: Weigh): Promise<string | undefined> {
    return this.#load(tenant, id, undefined, (key) => this.#reading.findPlan(key, weigh));
  }

  findSealOwners(tenant: Tenant, seals: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const known = seals.filter(isStorableId);
    return this.#read(tenant, () => this.#database.findSealOwners({ tenant, seals: known }));
  }

  findResponse(tenant: Tenant, id: string, weigh: Weigh): Promise<StoredResponse | undefined> {
    return this.#load(tenant, id, undefined, (key) => this.#reading.findResponse(key, weigh));
  }

  findHead(tenant: Tenant, id: string, weigh: Weigh): Promise<ResponseHead | undefined> {
    return this.#load(tenant, id, undefined, (key) => this.#reading.findHead(key, weigh));
  }

  findInput(tenant: Tenant, id: string, weigh: Weigh): Promise<readonly StoredItem[]> {
    return this.#load(tenant, id, [], (key) => this.#reading.findInput(key, weigh));
  }

  loadChain(tenant: Tenant, id: string, maxBytes: number, weigh: Weigh): Promise<FoundChain> {
    const missing: FoundChain = { type: "missing", id };
    return this.#load(tenant, id, missing, (key) => this.#reading.loadChain(key, maxBytes, weigh));
  }

  listInput(tenant: Tenant, id: string, page: PageQuery, weigh: Weigh): Promise<FoundPage> {
    const missing: FoundPage = { type: "missing" };
    return this.#load(tenant, id, missing, (key) => this.#reading.listInput(key, page, weigh));
  }

  deleteResponse(tenant: Tenant, id: string): Promise<boolean> {
    return this.#readOne(tenant, id, false, (query) => this.#database.deleteResponse(query));
  }

  sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]> {
    return this.#read(tenant, () => this.#database.sumUsage({ tenant, start, end }));
  }

  secret(name: string, made: string): Promise<string> {
    return this.#bounded(() => this.#database.secret({ name, made }));
  }

  /** Leases do not wait for queued writes: a write may take longer than a lease lasts. */
  #leasesIn(database: Database): LeaseStore {
    const ask = <Found>(id: string, none: Found, run: () => Promise<Found>): Promise<Found> =>
      isStorableId(id) ? this.#bounded(run) : Promise.resolve(none);
    return {
      take: (tenant, id, term) => ask(id, true, () => database.takeLease({ tenant, id, ...term })),
      renew: (tenant, id, term) =>
        ask<Renewal>(id, "lost", () => database.renewLease({ tenant, id, ...term })),
      isHeld: (tenant, id) => ask(id, false, () => database.isLeaseHeld({ tenant, id })),
      askToStop: (tenant, id) => ask(id, undefined, () => database.askToStop({ tenant, id })),
      release: (tenant, id, owner) =>
        ask(id, undefined, () => database.releaseLease({ tenant, id, owner })),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    await this.#queue.close();
    await this.#database.close();
  }

  /** An id that no row can have is as unknown as any other, and no database is asked. */
  #readOne<Found>(
    tenant: Tenant,
    id: string,
    none: Found,
    ask: (key: RowKey) => Promise<Found>,
  ): Promise<Found> {
    if (!isStorableId(id)) return Promise.resolve(none);
    return this.#read(tenant, () => ask({ tenant, id }));
  }

  #read<Found>(tenant: Tenant, ask: () => Promise<Found>): Promise<Found> {
    return this.#bounded(async () => {
      await this.#queue.settled(tenant);
      return ask();
    });
  }

  /** The same where it is read in several steps, each of which may take its time. */
  async #load<Found>(
    tenant: Tenant,
    id: string,
    none: Found,
    load: (key: RowKey) => Promise<Found>,
  ): Promise<Found> {
    if (!isStorableId(id)) return none;
    await this.#settled(tenant);
    return load({ tenant, id });
  }

  async #settled(tenant: Tenant): Promise<void> {
    await this.#bounded(async () => this.#queue.settled(tenant));
  }

  async #bounded<Found>(ask: () => Promise<Found>): Promise<Found> {
    let cancel: (() => void) | undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#clock.at(this.#clock.now() + READ_MS, () => reject(timedOut()));
    });
    try {
      return await Promise.race([ask(), late]);
    } finally {
      cancel?.();
    }
  }

  async #write(batch: Batch): Promise<void> {
    await this.#database.write(batch);
    for (const { bytes, planBytes, shared, planShared } of batch.turns) {
      this.#written.bytes += bytes + this.#newBytes(shared) + this.#newBytes(planShared);
      this.#written.planBytes += planBytes;
    }
    const { maxBytes } = this.#bounds();
    const isMuch =
      this.#written.bytes > maxBytes * SWEEP_SHARE ||
      this.#written.planBytes > this.#maxPlanBytes * SWEEP_SHARE;
    if (isMuch) this.#sweepQuietly();
    else this.#sweepLater();
  }

  #newBytes(shared: SharedRecord | null): number {
    if (shared === null || this.#sharedBefore.has(shared)) return 0;
    this.#sharedBefore.add(shared);
    return shared.text.length;
  }

  #bounds(): { readonly maxBytes: number; readonly maxPlanBytes: number } {
    const maxPlanBytes = this.#maxPlanBytes;
    return { maxBytes: this.#retention.maxBytes - maxPlanBytes, maxPlanBytes };
  }

  #sweepLater(): void {
    if (this.#isClosed) return;
    const sweep = (): void => {
      this.#cancelSweep = undefined;
      this.#sweepQuietly();
    };
    this.#cancelSweep ??= this.#clock.at(this.#clock.now() + SWEEP_MS, sweep, "background");
  }

  /** What fails is done by the next one: the database is away or full, and whoever writes or reads says so. */
  #sweepQuietly(): void {
    this.#sweep().catch(() => {});
  }

  /** In steps, between which others are served. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping || this.#isClosed) return;
    this.#isSweeping = true;
    this.#written = { bytes: 0, planBytes: 0 };
    const maxUsageAgeMs = HOURS_KEPT * HOUR_MS;
    const { maxAgeMs } = this.#retention;
    const bounds = { maxAgeMs, maxUsageAgeMs, ...this.#bounds() };
    try {
      for (let more = true; more && !this.#isClosed;) {
        const swept = await this.#database.sweep(bounds);
        if (swept.waits && !this.#waits) this.#onWait();
        this.#waits = swept.waits;
        ({ more } = swept);
      }
    } finally {
      this.#isSweeping = false;
      this.#sweepLater();
    }
  }
}

const timedOut = (): Fault =>
  new Fault("store.timeout", "The store did not answer in time; send the request again.");
