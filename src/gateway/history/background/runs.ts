import type { BackgroundForm } from "../../../dialects/dialect.ts";
import type { Lease } from "../../../history/leases.ts";
import type { Log } from "../../../history/log.ts";
import type { Clock, NewId } from "../../../turn/clock.ts";
import { Fault } from "../../../turn/fault.ts";
import type { Tenant } from "../../../turn/tenant.ts";
import type { ByteBudget } from "../../http/budget.ts";
import { KEEP_ALIVE, type Reply, type ReplyData } from "../../http/exchange.ts";

/** Interval between renewals of a lease, and between writes of events. */
const TICK_MS = 1000;
/** A lease ends this long after its last renewal. */
const LEASE_MS = 20_000;
/** Time to renew an ended lease before another process takes it: the machine may have been suspended. */
const LAST_CHANCE_MS = 5000;
/** Length of the pieces in which events are stored, in characters; a longer event is one piece. */
const PIECE_LENGTH = 1_000_000;
/** Bytes of a frame in memory, without its characters of up to two bytes each. */
const FRAME_BYTES = 64;
/** Memory is reserved in steps of this many bytes. */
const MEMORY_BYTES = 65_536;
/** Characters after which the events for a client are sent. */
const SENT_LENGTH = 64 * 1024;

type Parts = {
  readonly store: Log;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly memory: Pick<ByteBudget, "enter">;
};

type NewRun = {
  readonly tenant: Tenant;
  readonly form: BackgroundForm;
  /** The lease of the answer's id, which all writes of the answer depend on. */
  readonly lease: Lease;
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
  readonly #runs = new Map<string, BackgroundRun>();
  #isTicking = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Number of answers that are being made or have unstored events. */
  get size(): number {
    return this.#runs.size;
  }

  find(tenant: Tenant, id: string): BackgroundRun | undefined {
    return this.#runs.get(keyOf(tenant, id));
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

  add(made: NewRun): BackgroundRun {
    const key = keyOf(made.tenant, made.lease.id);
    const run = new BackgroundRun(this.#parts, made, () => void this.#runs.delete(key));
    this.#runs.set(key, run);
    this.#schedule();
    return run;
  }

  /** True while a process makes the answer or stores its last events. */
  async isMade(tenant: Tenant, id: string): Promise<boolean> {
    return this.#runs.has(keyOf(tenant, id)) || this.#parts.store.leases.isHeld({ tenant, id });
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
    if (this.#isTicking || this.#runs.size === 0) return;
    this.#isTicking = true;
    const { clock } = this.#parts;
    const tick = (): void => {
      this.#isTicking = false;
      for (const run of this.#runs.values()) void run.tick();
      this.#schedule();
    };
    clock.at(clock.now() + TICK_MS, tick, "background");
  }
}

/** An answer that is made in the background. It holds its events until its end, for clients that follow it. */
export class BackgroundRun {
  readonly #parts: Parts;
  readonly #made: NewRun;
  readonly #onGone: () => void;
  /** All frames, by the numbers of their events. */
  readonly #frames: string[] = [];
  /** Settles with the next write: with a keep-alive, or without text if there may be new frames. */
  #next = Promise.withResolvers<string>();
  /** The beginning of a frame that has not ended yet. */
  #partial = "";
  #isEnded = false;
  /** The number of the first event that is not stored, and of the piece that it will be in. */
  #saved = 0;
  #pieces = 0;
  #saving: Promise<void> | undefined;
  /** Bytes of events for which no memory is reserved yet. */
  #unreserved = 0;
  readonly #releases: (() => void)[] = [];
  #cancel: ((fault: Fault) => void) | undefined;
  readonly #ended = Promise.withResolvers<void>();

  constructor(parts: Parts, made: NewRun, onGone: () => void) {
    this.#parts = parts;
    this.#made = made;
    this.#onGone = onGone;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Receives the answer in place of a client. */
  readonly reply: Reply = {
    head: () => {},
    write: (data) => this.#write(data),
    end: (data = "") => {
      this.#write(data);
      this.end();
    },
    onDrain: () => {},
    onLeave: () => {},
  };

  /** Sets the function that cancels the turn. */
  onCancel(cancel: (fault: Fault) => void): void {
    this.#cancel = cancel;
  }

  cancel(fault: Fault): void {
    if (!this.#isEnded) this.#cancel?.(fault);
  }

  /** The past and future events from a number on, and keep-alives between them. */
  async *eventsFrom(number: number): AsyncGenerator<string> {
    for (let at = number; ;) {
      let text = "";
      while (text.length < SENT_LENGTH && at < this.#frames.length)
        text += this.#frames[at++] ?? "";
      if (text === "" && this.#isEnded) return;
      yield text === "" ? await this.#next.promise : text;
    }
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#tell("");
    void this.#finish();
    this.#ended.resolve();
  }

  /** Renews the lease, and stores new events. */
  async tick(): Promise<void> {
    if (this.#isEnded) return;
    const { tenant, lease } = this.#made;
    try {
      const state = await this.#parts.store.leases.renew({ tenant, ...lease, ms: LEASE_MS });
      if (state !== "held") this.cancel(state === "asked" ? cancelled() : taken());
      await this.#saveEvents();
    } catch {
      // The store reports by itself that its database is away; the next tick tries again.
    }
  }

  #write(data: ReplyData): boolean {
    if (data === KEEP_ALIVE) {
      this.#tell(KEEP_ALIVE);
      return true;
    }
    const pieces = (this.#partial + String(data)).split("\n\n");
    this.#partial = pieces.pop() ?? "";
    for (const piece of pieces) {
      const frame = `${piece}\n\n`;
      // Comments and the end marker have no numbers, and followers do not receive them.
      if (this.#made.form.sequenceIn(frame) === undefined) continue;
      this.#frames.push(frame);
      this.#unreserved += 2 * frame.length + FRAME_BYTES;
    }
    if (this.#unreserved >= MEMORY_BYTES) this.#reserveMemory();
    this.#tell("");
    return true;
  }

  #tell(text: string): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve(text);
  }

  #reserveMemory(): void {
    try {
      this.#releases.push(this.#parts.memory.enter(this.#made.tenant, this.#unreserved));
      this.#unreserved = 0;
    } catch (error) {
      // Later, because the writer of this event is still running.
      queueMicrotask(() => this.cancel(error as Fault));
    }
  }

  async #finish(): Promise<void> {
    const { tenant, lease } = this.#made;
    try {
      await this.#saving?.catch(() => {});
      await this.#saveEvents();
      await this.#parts.store.leases.release({ tenant, ...lease });
    } catch {
      // Clients that follow it through another gateway receive the end of the answer without these events.
    } finally {
      this.#onGone();
      for (const release of this.#releases.splice(0)) release();
    }
  }

  #saveEvents(): Promise<void> {
    this.#saving ??= this.#savePieces().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  /** Stores the events that are not stored yet, one piece after another. */
  async #savePieces(): Promise<void> {
    const { tenant, lease } = this.#made;
    const { store, clock } = this.#parts;
    const { id: answerId } = lease;
    while (this.#saved < this.#frames.length) {
      let end = this.#saved;
      let text = "";
      do text += this.#frames[end++] ?? "";
      while (text.length + (this.#frames[end]?.length ?? Infinity) <= PIECE_LENGTH);
      const notes = [{ id: pieceId(answerId, this.#pieces), json: JSON.stringify(text) }];
      await store.append({ tenant, at: clock.date(), answerId, items: [], notes, lease });
      this.#pieces++;
      this.#saved = end;
    }
  }
}

export const cancelled = (): Fault =>
  new Fault("response.cancelled", "The response was cancelled.");

const taken = (): Fault =>
  new Fault(
    "response.lost",
    "This response was deleted, or another gateway on the same store gave it up as lost.",
  );
