import type { BackgroundForm } from "../../../dialects/dialect.ts";
import type { Lease } from "../../../history/leases.ts";
import type { Log, StoredItem } from "../../../history/log.ts";
import type { Clock, NewId } from "../../../turn/clock.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Tenant } from "../../../turn/tenant.ts";
import type { ByteBudget } from "../../http/budget.ts";
import { BackgroundRun } from "./run.ts";

/** Interval between renewals of a lease, and between writes of events. */
const TICK_MS = 1000;
/** A lease ends this long after its last renewal. */
const LEASE_MS = 20_000;
/** Before an answer whose lease has ended is given up, its process has this long to renew the lease: the machine may have been suspended. */
const LAST_CHANCE_MS = 5000;
/** Length of the pieces in which events are stored, in characters; a longer event is one piece. */
const PIECE_LENGTH = 1_000_000;

type NewRun = {
  readonly tenant: Tenant;
  readonly form: BackgroundForm;
  readonly endMarker: string;
  /** The lease of the answer's id, which all writes of the answer depend on. */
  readonly lease: Lease;
};

type Entry = {
  readonly run: BackgroundRun;
  readonly lease: Lease;
  pieces: number;
  saving: Promise<void> | undefined;
};

type Parts = {
  readonly store: Log;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly memory: Pick<ByteBudget, "enter">;
};

const keyOf = (tenant: Tenant, id: string): string => `${tenant}\n${id}`;
/** Id of the note with a piece of an answer's events. */
export const pieceId = (id: string, piece: number): string => `stream:${id}:${piece}`;

/**
 * The answers that this process makes in the background. All writes of an answer
 * depend on its lease. Any process may give up an answer whose lease has ended;
 * after that, or after a deletion, the process that makes it can store nothing more.
 */
export class BackgroundRuns {
  readonly #parts: Parts;
  readonly #entries = new Map<string, Entry>();
  #isTicking = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Number of answers that are being made or have events to store. */
  get size(): number {
    return this.#entries.size;
  }

  find(tenant: Tenant, id: string): BackgroundRun | undefined {
    return this.#entries.get(keyOf(tenant, id))?.run;
  }

  /** Takes the lease of an answer; undefined if another process has it. */
  async lease(tenant: Tenant, id: string): Promise<Lease | undefined> {
    const { store, newId } = this.#parts;
    const lease = { id, owner: newId("lease") };
    return (await store.leases.take({ tenant, ...lease, ms: LEASE_MS })) ? lease : undefined;
  }

  release(tenant: Tenant, lease: Lease): Promise<void> {
    return this.#parts.store.leases.release({ tenant, ...lease });
  }

  add({ lease, ...options }: NewRun): BackgroundRun {
    const { tenant } = options;
    const take = (bytes: number): (() => void) => this.#parts.memory.enter(tenant, bytes);
    const onEnd = (): void => void this.#finish(entry);
    const run = new BackgroundRun({ ...options, id: lease.id, take, onEnd });
    const entry: Entry = { run, lease, pieces: 0, saving: undefined };
    this.#entries.set(keyOf(tenant, lease.id), entry);
    this.#schedule();
    return run;
  }

  /** True while a process makes the answer or stores its last events. */
  async isMade(tenant: Tenant, id: string): Promise<boolean> {
    return this.#entries.has(keyOf(tenant, id)) || this.#parts.store.leases.isHeld({ tenant, id });
  }

  /**
   * Takes the lease of an answer whose process seems to be gone; undefined if that
   * process renews the lease after all, as after a suspension or a clock that was set.
   */
  async takeOver(tenant: Tenant, id: string): Promise<Lease | undefined> {
    const { clock } = this.#parts;
    await new Promise<void>((resolve) => void clock.at(clock.now() + LAST_CHANCE_MS, resolve));
    return this.lease(tenant, id);
  }

  /** Asks the process that makes an answer to cancel it. */
  askToCancel(tenant: Tenant, id: string): Promise<void> {
    return this.#parts.store.leases.askToStop({ tenant, id });
  }

  #schedule(): void {
    if (this.#isTicking || this.#entries.size === 0) return;
    this.#isTicking = true;
    const { clock } = this.#parts;
    const tick = (): void => {
      this.#isTicking = false;
      for (const entry of this.#entries.values()) void this.#tick(entry);
      this.#schedule();
    };
    clock.at(clock.now() + TICK_MS, tick, "background");
  }

  async #tick(entry: Entry): Promise<void> {
    const { run, lease } = entry;
    if (run.isOver) return;
    try {
      const { leases } = this.#parts.store;
      const state = await leases.renew({ tenant: run.tenant, ...lease, ms: LEASE_MS });
      if (state !== "held") run.cancel(state === "asked" ? cancelled() : taken());
      await this.#saveEvents(entry);
    } catch {
      // The store reports by itself that its database is away; the next tick tries again.
    }
  }

  async #finish(entry: Entry): Promise<void> {
    const { run, lease } = entry;
    try {
      await entry.saving?.catch(() => {});
      await this.#saveEvents(entry);
      await this.release(run.tenant, lease);
    } catch {
      // Clients that follow it through another gateway receive the end of the answer without these events.
    } finally {
      this.#entries.delete(keyOf(run.tenant, run.id));
      run.release();
    }
  }

  /** Stores the events that are not stored yet, one piece after another. */
  #saveEvents(entry: Entry): Promise<void> {
    entry.saving ??= this.#savePieces(entry).finally(() => {
      entry.saving = undefined;
    });
    return entry.saving;
  }

  async #savePieces(entry: Entry): Promise<void> {
    const { run, lease } = entry;
    const { store, clock } = this.#parts;
    for (;;) {
      const { text, end } = run.unsaved(PIECE_LENGTH);
      if (text === "") return;
      const item: StoredItem = { id: pieceId(run.id, entry.pieces), json: JSON.stringify(text) };
      const { tenant, id: answerId } = run;
      await store.append({ tenant, at: clock.date(), answerId, items: [], notes: [item], lease });
      entry.pieces++;
      run.saved(end);
    }
  }
}

export const cancelled = (): Fault => new Fault("response.cancelled", "It was cancelled.");

const taken = (): Fault =>
  new Fault(
    "response.lost",
    "This response was deleted, or another gateway on the same store gave it up as lost.",
  );
