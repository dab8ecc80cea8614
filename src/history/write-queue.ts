import { randomUUID } from "node:crypto";
import { type Clock, within } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import { kindNumbers, sumOf, type WriteBatch, type TurnRows } from "./records.ts";

type Queued = {
  readonly record: TurnRows;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (fault: unknown) => void;
};

type QueuedBatch = { readonly id: string; readonly entries: readonly Queued[] };

export type QueueOptions = {
  readonly clock: Clock;
  readonly write: (batch: WriteBatch) => Promise<void>;
  /**
   * Writes begin at least this far apart, unless enough turns wait that share one
   * transaction; those that only count usage and keep plans are further apart.
   */
  readonly gatherMs: number;
  /** Receives the fault when writes begin to fail, and undefined when they succeed again. */
  readonly onState: (fault: Fault | undefined) => void;
};

/** This number of pressing turns is written at once: to wait for more would save little. */
const ENOUGH_TURNS = 8;
const BATCH_TURNS = 256;
const BATCH_BYTES = 4 * 1024 * 1024;
/** The most bytes that wait while the database is unavailable. */
const QUEUE_BYTES = 32 * 1024 * 1024;
/** Bytes of a queued turn beside its texts: its record and its promises. */
const ENTRY_BYTES = 8 * 1024;
/** The factor for the interval between writes that no client waits for. */
const SLOWER = 5;

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;
/** The longest wait of `close` for the last write. */
const CLOSE_MS = 5000;

/**
 * Writes turns to a database in their order, many at once. A write that fails because of the
 * database is repeated until it succeeds. The queue is bounded.
 */
export class WriteQueue {
  readonly #options: QueueOptions;
  #queued: Queued[] = [];
  /** The failed batch. It is repeated unchanged, because it may have been committed. */
  #failed: QueuedBatch | undefined;
  #bytes = 0;
  /** The last unfinished write of each tenant. */
  readonly #last = new Map<Tenant, Promise<unknown>>();
  #fault: Fault | undefined;
  #retryMs = FIRST_RETRY_MS;
  #lastBegan = -Infinity;
  #isWriting = false;
  #isClosed = false;
  /** A reader waits for the queue. */
  #isUrgent = false;
  /** The number of queued turns that clients wait for or may soon refer to. */
  #pressing = 0;
  #cancelWait: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** The fault of the database while it cannot be written. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Resolves when the turn is committed. */
  add(record: TurnRows): Promise<void> {
    const { entries, conversation, tenant } = record;
    const added = (conversation?.items ?? []).reduce((sum, { json }) => sum + json.length, 0);
    const shared = entries.reduce((sum, one) => sum + (one.shared?.text.length ?? 0), 0);
    const bytes = sumOf(entries) + shared + added + ENTRY_BYTES;
    if (this.#isClosed) return Promise.reject(closed());
    if (this.#bytes + bytes > QUEUE_BYTES && this.#bytes > 0)
      return Promise.reject(this.#fault ?? overfull());
    this.#bytes += bytes;
    if (isPressing(record)) this.#pressing++;
    const saving = new Promise<void>((resolve, reject) => {
      this.#queued.push({ record, bytes, resolve, reject });
    });
    const over = saving.then(ignore, ignore).then(() => {
      if (this.#last.get(tenant) === over) this.#last.delete(tenant);
    });
    this.#last.set(tenant, over);
    this.#schedule();
    return saving;
  }

  /**
   * Waits until all queued turns of a tenant are written or rejected: a client must find the
   * answer that it has just received. Throws at once while the database is unavailable.
   */
  settled(tenant: Tenant): Promise<unknown> | undefined {
    const last = this.#last.get(tenant);
    if (last === undefined) return undefined;
    if (this.#fault !== undefined) throw this.#fault;
    this.#isUrgent = true;
    this.#schedule();
    return last;
  }

  /** Records a fault of the database: the next write waits as after a failed one. */
  suspend(fault: Fault): void {
    if (this.#isWriting) return;
    this.#lastBegan = this.#options.clock.now();
    this.#setState(fault);
  }

  /** Writes the queued turns, and rejects those that the database does not take in time. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isClosed = true;
    this.#fault = undefined;
    this.#schedule();
    if (this.#last.size > 0)
      await within(clock, CLOSE_MS, Promise.all(this.#last.values()), closed).catch(ignore);
    this.#rejectAll(closed());
  }

  #schedule(): void {
    if (this.#isWriting || (this.#failed === undefined && this.#queued.length === 0)) return;
    this.#cancelWait?.();
    const { clock } = this.#options;
    const now = clock.now();
    // A clock that was set back must not delay writes.
    const wait = this.#distanceMs() - Math.abs(now - this.#lastBegan);
    if (wait > 0) {
      this.#cancelWait = clock.at(now + wait, () => this.#wake());
      return;
    }
    // After the other ready callbacks: turns that end together are written together.
    const soon = setImmediate(() => this.#wake());
    this.#cancelWait = () => clearImmediate(soon);
  }

  /** The least time between the beginnings of two writes. */
  #distanceMs(): number {
    const { gatherMs } = this.#options;
    if (this.#isClosed) return 0;
    if (this.#fault !== undefined) return this.#retryMs;
    if (this.#isUrgent || this.#pressing >= ENOUGH_TURNS) return 0;
    return this.#pressing > 0 ? gatherMs : SLOWER * gatherMs;
  }

  #wake(): void {
    this.#cancelWait = undefined;
    this.#isUrgent = false;
    this.#isWriting = true;
    this.#lastBegan = this.#options.clock.now();
    const batch = this.#failed ?? batchOf(this.#queued.splice(0, this.#batchLength()));
    this.#failed = undefined;
    this.#pressing = this.#queued.filter(({ record }) => isPressing(record)).length;
    void this.#write(batch).then(() => {
      this.#isWriting = false;
      if (this.#isClosed && this.#fault !== undefined) this.#rejectAll(this.#fault);
      else this.#schedule();
    });
  }

  #batchLength(): number {
    let bytes = 0;
    const over = this.#queued.findIndex((one, at) => {
      bytes += one.bytes;
      return at === BATCH_TURNS || (bytes > BATCH_BYTES && at > 0);
    });
    return over === -1 ? this.#queued.length : over;
  }

  async #write(batch: QueuedBatch): Promise<void> {
    try {
      await this.#options.write({
        id: batch.id,
        turns: batch.entries.map(({ record }) => record),
      });
    } catch (error) {
      return this.#fail(batch, error);
    }
    this.#setState(undefined);
    for (const one of batch.entries) {
      this.#bytes -= one.bytes;
      one.resolve();
    }
  }

  async #fail(batch: QueuedBatch, error: unknown): Promise<void> {
    if (isOfDatabase(error)) {
      this.#failed = batch;
      return this.#setState(error);
    }
    const [first, ...others] = batch.entries;
    // One turn that cannot be written must not fail the others.
    if (others.length > 0) {
      for (const [at, one] of batch.entries.entries()) {
        await this.#write(batchOf([one]));
        if (this.#failed === undefined) continue;
        this.#queued = [...batch.entries.slice(at + 1), ...this.#queued];
        return;
      }
      return;
    }
    if (first === undefined) return;
    this.#bytes -= first.bytes;
    first.reject(error);
  }

  #setState(fault: Fault | undefined): void {
    const before = this.#fault;
    this.#fault = fault;
    this.#retryMs =
      before === undefined ? FIRST_RETRY_MS : Math.min(2 * this.#retryMs, LAST_RETRY_MS);
    if (before?.code !== fault?.code) this.#options.onState(fault);
  }

  #rejectAll(fault: Fault): void {
    const left = [...(this.#failed?.entries ?? []), ...this.#queued.splice(0)];
    this.#failed = undefined;
    for (const one of left) {
      this.#bytes -= one.bytes;
      one.reject(fault);
    }
  }
}

/** True if a client waits for the write, or its next request may refer to the items or seals. */
const isPressing = ({ entries, conversation }: TurnRows): boolean =>
  conversation !== null || entries.some(({ kind }) => kind !== kindNumbers.plan);

const batchOf = (entries: readonly Queued[]): QueuedBatch => ({ id: randomUUID(), entries });

const ignore = (): void => {};

/** True for a fault of the database, not of the turn: the same write may succeed later. */
const isOfDatabase = (error: unknown): error is Fault =>
  error instanceof Fault &&
  (["store.unavailable", "store.timeout", "store.full", "store.unusable"] as const).some(
    (code) => code === error.code,
  );

/** The fault of a store that is used after its end. */
export const closed = (): Fault => new Fault("store.unavailable", "The store is closed.");
const overfull = (): Fault =>
  new Fault(
    "store.unavailable",
    "The queue of writes to the store is full, because its database is slow or unavailable; send the request again later.",
  );
