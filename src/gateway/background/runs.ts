import type { BackgroundForm } from "../../dialects/dialect.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../turn/clock.ts";
import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import type { TurnMemory } from "../turn-memory.ts";
import { BackgroundRun } from "./run.ts";

/** How often events are stored, and it is looked whether another replica was asked to cancel. */
const TICK_MS = 1000;
/** How often it is stored that the owner of a run is there. */
const BEAT_MS = 5000;
/** After so long without that, whoever asks for the answer is told that it is lost: 30 s at most after the last sign. */
const LOST_MS = 20_000;

type NewRun = {
  readonly tenant: Tenant;
  readonly id: string;
  readonly form: BackgroundForm;
  readonly endMarker: string;
};

type Entry = { readonly run: BackgroundRun; chunks: number; beatAt: number };

const keyOf = (tenant: Tenant, id: string): string => `${tenant}\n${id}`;
const aliveId = (id: string): string => `alive:${id}`;
const cancelId = (id: string): string => `cancel:${id}`;
/** What a part of the events of an answer is kept under. No item has such an id. */
export const chunkId = (id: string, chunk: number): string => `stream:${id}:${chunk}`;

/**
 * The answers that this process makes in the background. While it makes one it
 * stores the events so far and that it is there; a process that is gone is told
 * by the silence.
 */
export class BackgroundRuns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #memory: Pick<TurnMemory, "enter">;
  readonly #entries = new Map<string, Entry>();
  #isTicking = false;

  constructor(store: Store, clock: Clock, memory: Pick<TurnMemory, "enter">) {
    this.#store = store;
    this.#clock = clock;
    this.#memory = memory;
  }

  find(tenant: Tenant, id: string): BackgroundRun | undefined {
    return this.#entries.get(keyOf(tenant, id))?.run;
  }

  add(options: NewRun): BackgroundRun {
    const key = keyOf(options.tenant, options.id);
    const onEnd = (): void => {
      void this.#saveEvents(entry).finally(() => {
        this.#entries.delete(key);
        run.release();
      });
    };
    const take = (bytes: number): (() => void) => this.#memory.enter(options.tenant, bytes);
    const run = new BackgroundRun({ ...options, take, onEnd });
    const entry: Entry = { run, chunks: 0, beatAt: this.#clock.now() };
    this.#entries.set(key, entry);
    this.#schedule();
    return run;
  }

  /** Whether somebody still makes an answer that was stored as under way at this moment. */
  async isMade(tenant: Tenant, id: string, storedAt: number): Promise<boolean> {
    if (this.#entries.has(keyOf(tenant, id))) return true;
    const found = await this.#store.findItems(tenant, [aliveId(id)], 1000);
    const beat = found.type === "found" ? found.items.get(aliveId(id))?.at : undefined;
    return this.#clock.date() - Math.max(storedAt, beat ?? 0) < LOST_MS;
  }

  /** Asks the process that makes an answer to cancel it. */
  async askToCancel(tenant: Tenant, id: string): Promise<void> {
    await this.#save(tenant, id, { id: cancelId(id), json: "true" });
  }

  #schedule(): void {
    if (this.#isTicking || this.#entries.size === 0) return;
    this.#isTicking = true;
    this.#clock.at(
      this.#clock.now() + TICK_MS,
      () => {
        this.#isTicking = false;
        for (const entry of this.#entries.values()) void this.#tick(entry);
        this.#schedule();
      },
      "background",
    );
  }

  async #tick(entry: Entry): Promise<void> {
    const { run } = entry;
    const { tenant, id } = run;
    try {
      if (this.#clock.now() - entry.beatAt >= BEAT_MS) {
        entry.beatAt = this.#clock.now();
        await this.#save(tenant, id, { id: aliveId(id), json: "true" });
      }
      await this.#saveEvents(entry);
      const found = await this.#store.findItems(tenant, [cancelId(id)], 1000);
      if (found.type === "found" && found.items.size > 0) run.cancel(cancelled());
    } catch {
      // The database is away, which whoever writes to it says; the next tick tries again.
    }
  }

  async #saveEvents(entry: Entry): Promise<void> {
    const text = entry.run.takeUnsaved();
    if (text === "") return;
    const { tenant, id } = entry.run;
    const item = { id: chunkId(id, entry.chunks++), json: JSON.stringify(text) };
    await this.#save(tenant, id, item).catch(() => {});
  }

  async #save(
    tenant: Tenant,
    answerId: string,
    item: { readonly id: string; readonly json: string },
  ): Promise<void> {
    const at = this.#clock.date();
    await this.#store.saveTurn({ tenant, at, answerId, items: [item], seals: [] });
  }
}

export const cancelled = (): Fault => new Fault("response.cancelled", "It was cancelled.");
