import type { Batch } from "../database.ts";
import type { SharedRecord, TurnRecord } from "../record.ts";

/** Shared texts that were written before. They are long, and the same for hours: the thread is sent their digests. */
export class KnownTexts {
  readonly #texts = new WeakSet<SharedRecord>();

  /** Writes a batch, once more with all texts where one is gone that was known. */
  async write(batch: Batch, write: (batch: Batch) => Promise<boolean>): Promise<boolean> {
    const isWritten = (await write(this.#without(batch))) || (await write(batch));
    if (isWritten) this.#add(batch);
    return isWritten;
  }

  #add({ turns }: Batch): void {
    for (const { shared, planShared } of turns) {
      if (shared !== null) this.#texts.add(shared);
      if (planShared !== null) this.#texts.add(planShared);
    }
  }

  /** The batch with the digests alone of what is known. */
  #without({ id, turns }: Batch): Batch {
    return { id, turns: turns.map((turn) => this.#shortened(turn)) };
  }

  #shortened(turn: TurnRecord): TurnRecord {
    const { shared, planShared } = turn;
    if (shared === null && planShared === null) return turn;
    return { ...turn, shared: this.#digest(shared), planShared: this.#digest(planShared) };
  }

  #digest(one: SharedRecord | null): SharedRecord | null {
    return one === null || !this.#texts.has(one) ? one : { digest: one.digest, text: "" };
  }
}
