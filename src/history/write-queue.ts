import { randomUUID } from "node:crypto";
import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
import { kinds, sumOf, type Batch, type TurnRecord } from "./records.ts";

type Queued = {
  readonly record: TurnRecord;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (fault: unknown) => void;
};

type QueuedBatch = { readonly id: string; readonly entries: readonly Queued[] };

export type QueueOptions = {
  readonly clock: Clock;
  readonly write: (batch: Batch) => Promise<void>;
  /**
   * Writes begin at least this far apart, unless enough turns wait that share one
   * transaction; those that only count usage and keep plans are further apart.
   */
  readonly gatherMs: number;
  /** The database cannot be written, or can again (undefined). */
  readonly onState: (fault: Fault | undefined) => void;
};

/** So many that are waited for are written at once: more would save little, and clients wait. */
const ENOUGH_TURNS = 8;
const BATCH_TURNS = 256;
const BATCH_BYTES = 4 * 1024 * 1024;
/** What may wait while the database is away. */
const QUEUE_BYTES = 32 * 1024 * 1024;
/** What a queued turn takes beside its texts: its record, its promises and who waits for them. */
const ENTRY_BYTES = 8 * 1024;

/** How many times as far apart writes are that nobody waits for. */
const LEISURELY = 5;

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;
/** How long a stop waits for the last write. */
const CLOSE_MS = 5000;

/**
 * Turns on their way to a database, in their order, many in one write. What
 * fails because of the database is tried until it is back; what waits meanwhile
 * is bounded.
 */
export class WriteQueue {
  readonly #options: QueueOptions;
  #queued: Queued[] = [];
  /** The batch that failed: written again as it was, for it may have been committed all the same. */
  #failed: QueuedBatch | undefined;
  #bytes = 0;
  /** The last write of each tenant that is not over. */
  readonly #last = new Map<Tenant, Promise<unknown>>();
  #fault: Fault | undefined;
  #retryMs = FIRST_RETRY_MS;
  #lastBegan = -Infinity;
  #isWriting = false;
  #isClosed = false;
  /** Somebody waits for what is queued. */
  #isUrgent = false;
  /** How many of those queued may be waited for or asked for soon. */
  #pressing = 0;
  #cancelWait: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Why the database cannot be written just now. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Resolves when the turn is committed. */
  add(record: TurnRecord): Promise<void> {
    const { entries, conversation } = record;
    const added = (conversation?.items ?? []).reduce((sum, { json }) => sum + json.length, 0);
    const shared = entries.reduce((sum, one) => sum + (one.shared?.text.length ?? 0), 0);
    const bytes = sumOf(entries) + shared + added + ENTRY_BYTES;
    if (this.#isClosed) return Promise.reject(closed());
    if (this.#bytes + bytes > QUEUE_BYTES && this.#bytes > 0)
      return Promise.reject(this.#fault ?? overfull());
    this.#bytes += bytes;
    const saving = new Promise<void>((resolve, reject) => {
      this.#queued.push({ record, bytes, resolve, reject });
    });
    this.#remember(record.tenant, saving);
    if (isPressing(record)) this.#press();
    this.#schedule();
    return saving;
  }

  /**
   * Waits until all that a tenant has queued is written or given up: whoever
   * asks for what it was just given must find it. Throws at once where the
   * database is known to be away.
   */
  settled(tenant: Tenant): Promise<unknown> | undefined {
    const last = this.#last.get(tenant);
    if (last === undefined) return undefined;
    if (this.#fault !== undefined) throw this.#fault;
    this.#wakeNow();
    return last;
  }

  /** Somebody found the database away; what is queued from now on waits as after a failed write. */
  suspend(fault: Fault): void {
    if (!this.#isWriting) this.#setState(fault);
  }

  /** Writes what is queued, or gives it up when the database is away or slow. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    this.#isClosed = true;
    this.#fault = undefined;
    this.#wakeNow();
    const all = Promise.all(this.#last.values());
    let cancel: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      cancel = clock.at(clock.now() + CLOSE_MS, resolve);
    });
    if (this.#last.size > 0) await Promise.race([all, late]);
    cancel?.();
    this.#giveUp(closed());
  }

  #remember(tenant: Tenant, saving: Promise<void>): void {
    const over = saving.then(ignore, ignore).then(() => {
      if (this.#last.get(tenant) === over) this.#last.delete(tenant);
    });
    this.#last.set(tenant, over);
  }

  /** Something is queued that must not wait for long. */
  #press(): void {
    this.#pressing++;
    // What was to wait for longer, or for more.
    if (this.#pressing !== 1 && this.#pressing !== ENOUGH_TURNS) return;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }

  #schedule(): void {
    if (this.#isWriting || this.#cancelWait !== undefined || this.#isEmpty()) return;
    const { clock } = this.#options;
    const now = clock.now();
    // A clock that was set back must not hold writes up.
    const sinceLast = Math.abs(now - this.#lastBegan);
    const gather = this.#gatherMs();
    const wait = this.#fault === undefined ? gather - sinceLast : this.#retryMs;
    if (wait > 0) this.#cancelWait = clock.at(now + wait, () => this.#wake());
    else this.#wakeSoon();
  }

  #gatherMs(): number {
    const { gatherMs } = this.#options;
    if (this.#pressing >= ENOUGH_TURNS) return 0;
    return this.#pressing > 0 ? gatherMs : LEISURELY * gatherMs;
  }

  /** After all that is ready to run has run: turns that end together are written together. */
  #wakeSoon(): void {
    const soon = setImmediate(() => this.#wake());
    this.#cancelWait = () => clearImmediate(soon);
  }

  #wakeNow(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#isUrgent = this.#isWriting;
    if (!this.#isWriting && !this.#isEmpty()) this.#wakeSoon();
  }

  #isEmpty(): boolean {
    return this.#queued.length === 0 && this.#failed === undefined;
  }

  #wake(): void {
    this.#cancelWait = undefined;
    this.#isWriting = true;
    this.#lastBegan = this.#options.clock.now();
    const batch = this.#failed ?? batchOf(this.#queued.splice(0, this.#batchLength()));
    this.#failed = undefined;
    this.#pressing = this.#queued.filter(({ record }) => isPressing(record)).length;
    void this.#write(batch).then(() => {
      this.#isWriting = false;
      if (this.#isClosed && this.#fault !== undefined) this.#giveUp(this.#fault);
      else if (this.#isClosed || (this.#isUrgent && this.#fault === undefined)) this.#wakeNow();
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
    // One turn that cannot be written must not take the others with it.
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

  #giveUp(fault: Fault): void {
    const left = [...(this.#failed?.entries ?? []), ...this.#queued.splice(0)];
    this.#failed = undefined;
    for (const one of left) {
      this.#bytes -= one.bytes;
      one.reject(fault);
    }
  }
}

/** The client waits for the end of an answer that is stored, and the next request may refer to items and seals. */
const isPressing = ({ entries, conversation }: TurnRecord): boolean =>
  conversation !== null || entries.some(({ kind }) => kind !== kinds.plan);

const batchOf = (entries: readonly Queued[]): QueuedBatch => ({ id: randomUUID(), entries });

const ignore = (): void => {};

/** Whether it is the database that fails, and not the turn: it may be well again later. */
const isOfDatabase = (error: unknown): error is Fault =>
  error instanceof Fault &&
  (["store.unavailable", "store.timeout", "store.full", "store.unusable"] as const).some(
    (code) => code === error.code,
  );

const closed = (): Fault => new Fault("store.unavailable", "The store is closed.");
const overfull = (): Fault =>
  new Fault(
    "store.unavailable",
    "Too much waits to be written to the store; its database is slow.",
  );
