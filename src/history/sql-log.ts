/** A log in a database. */

import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import { isStorableId } from "../turn/item-ids.ts";
import type { Tenant } from "../turn/tenant.ts";
import { SWEEP_MS } from "./age-watch.ts";
import type { LeaseStore, Renewal } from "./leases.ts";
import {
  PLANS_SHARE,
  type Key,
  type Log,
  type NewList,
  type Retention,
  type SharedLimits,
  type StoredItem,
  type StoredTurn,
} from "./log.ts";
import { checkIds, kinds, listRecord, recordOf, type Batch, type SharedRecord } from "./records.ts";
import type { Database } from "./sql/operations.ts";
import { SqlReader, type Asked } from "./sql/reader.ts";
import { HOUR_MS, HOURS_KEPT, type UsageRow } from "./usage-sums.ts";
import { WriteQueue } from "./write-queue.ts";

export type LogOptions = {
  readonly clock: Clock;
  readonly retention: Retention;
  readonly gatherMs?: number | undefined;
  /** The fault of the database; undefined: it is well again. */
  readonly onState?: ((fault: Fault | undefined) => void) | undefined;
  /** Called when a sweep begins to keep expired rows because the clock may have been set. */
  readonly onWait?: (() => void) | undefined;
};

/** Stored answers end by so much later at most. */
const GATHER_MS = 20;
/** How long a request waits for the database. */
const READ_MS = 10_000;
/** Of what may be kept, how much is written before the next sweep. */
const SWEEP_SHARE = 1 / 32;

export class SqlLog extends SqlReader implements Log {
  readonly leases: LeaseStore;
  readonly limits: SharedLimits;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #retention: Retention;
  readonly #queue: WriteQueue;
  readonly #onWait: () => void;
  #waits = false;
  #written = { bytes: 0, planBytes: 0 };
  /** What has been counted among what is written: it is stored once. */
  readonly #sharedBefore = new WeakSet<SharedRecord>();
  #isSweeping = false;
  #isClosed = false;
  #cancelSweep: (() => void) | undefined;

  constructor(database: Database, options: LogOptions) {
    super();
    const { clock, retention, gatherMs = GATHER_MS, onState = () => {} } = options;
    this.limits = { spend: (spent) => database.spend(spent) };
    this.#database = database;
    this.#onWait = options.onWait ?? (() => {});
    this.#clock = clock;
    this.#retention = retention;
    const write = (batch: Batch): Promise<void> => this.#write(batch);
    this.#queue = new WriteQueue({ clock, write, gatherMs, onState });
    this.leases = this.#leases();
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
  append(turn: StoredTurn): Promise<void> {
    return this.#queue.add(recordOf(turn, this.#retention.maxBytes * PLANS_SHARE));
  }

  async create(list: NewList): Promise<void> {
    const { tenant } = list;
    const entries = [listRecord(list)];
    const none = { conversation: null, lease: null, usage: undefined };
    const turn = { tenant, at: this.#clock.date(), entries, ...none };
    await this.settled(tenant);
    await this.#bounded(() => this.#database.write({ id: crypto.randomUUID(), turns: [turn] }));
  }

  setHead({ tenant, id }: Key, json: string): Promise<boolean> {
    return this.#change(tenant, id, () => this.ask("setHead", { tenant, id, json }));
  }

  extend({ tenant, id }: Key, items: readonly StoredItem[]): Promise<boolean> {
    checkIds(items.map((item) => item.id));
    return this.#change(tenant, id, () => this.ask("extend", { tenant, id, items }));
  }

  drop(key: Key): Promise<boolean> {
    return this.#change(key.tenant, key.id, () => this.ask("drop", key));
  }

  async dropItem({ tenant, id }: Key, item: string): Promise<boolean> {
    if (!isStorableId(item)) return false;
    return this.#change(tenant, id, () => this.ask("dropItem", { tenant, id, item }));
  }

  async sumUsage(tenant: Tenant, start: number, end: number): Promise<readonly UsageRow[]> {
    await this.settled(tenant);
    return this.ask("sumUsage", { tenant, start, end });
  }

  secret(name: string, made: string): Promise<string> {
    return this.ask("secret", { name, made });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    await this.#queue.close();
    await this.#database.close();
  }

  /** Leases do not wait for queued writes: a write may take longer than a lease lasts. */
  #leases(): LeaseStore {
    const on = <Found>(id: string, none: Found, ask: () => Promise<Found>): Promise<Found> =>
      isStorableId(id) ? ask() : Promise.resolve(none);
    return {
      take: (tenant, id, term) =>
        on(id, true, () => this.ask("takeLease", { tenant, id, ...term })),
      renew: (tenant, id, term) =>
        on<Renewal>(id, "lost", () => this.ask("renewLease", { tenant, id, ...term })),
      isHeld: (tenant, id) => on(id, false, () => this.ask("isLeaseHeld", { tenant, id })),
      askToStop: (tenant, id) => on(id, undefined, () => this.ask("askToStop", { tenant, id })),
      release: (tenant, id, owner) =>
        on(id, undefined, () => this.ask("releaseLease", { tenant, id, owner })),
    };
  }

  protected override ask<Name extends Asked>(
    name: Name,
    query: Parameters<Database[Name]>[0],
  ): ReturnType<Database[Name]> {
    const ask = this.#database[name] as (asked: typeof query) => Promise<unknown>;
    return this.#bounded(() => ask(query)) as ReturnType<Database[Name]>;
  }

  /** An id that no row can have is as unknown as any other, and no database is asked. */
  async #change(tenant: Tenant, id: string, ask: () => Promise<boolean>): Promise<boolean> {
    if (!isStorableId(id)) return false;
    await this.settled(tenant);
    return ask();
  }

  protected override async settled(tenant: Tenant): Promise<void> {
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
    for (const { entries } of batch.turns)
      for (const { kind, bytes, shared } of entries) {
        if (kind === kinds.plan) this.#written.planBytes += bytes;
        else this.#written.bytes += bytes;
        this.#written.bytes += this.#newBytes(shared);
      }
    const { maxBytes, maxPlanBytes } = this.#bounds();
    const isMuch =
      this.#written.bytes > maxBytes * SWEEP_SHARE ||
      this.#written.planBytes > maxPlanBytes * SWEEP_SHARE;
    if (isMuch) this.#sweepQuietly();
    else this.#sweepLater();
  }

  #newBytes(shared: SharedRecord | null): number {
    if (shared === null || this.#sharedBefore.has(shared)) return 0;
    this.#sharedBefore.add(shared);
    return shared.text.length;
  }

  #bounds(): { readonly maxBytes: number; readonly maxPlanBytes: number } {
    const maxPlanBytes = this.#retention.maxBytes * PLANS_SHARE;
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

  /** The next sweep does what fails: the database is away or full, and the next write or read says so. */
  #sweepQuietly(): void {
    this.#sweep().catch(() => {});
  }

  /** In steps, between which others are served. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping || this.#isClosed) return;
    this.#isSweeping = true;
    this.#written = { bytes: 0, planBytes: 0 };
    const { maxAgeMs } = this.#retention;
    const bounds = { maxAgeMs, maxUsageAgeMs: HOURS_KEPT * HOUR_MS, ...this.#bounds() };
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
