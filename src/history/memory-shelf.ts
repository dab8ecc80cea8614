/** Bounds and orders of what is kept in memory. */

import type { SharedText } from "../turn/shared-text.ts";
import type { Tenant } from "../turn/tenant.ts";

/**
 * Of what may be kept, how much is left where something has to go: the front of a
 * map from which one was deleted with every write would be passed over with each.
 */
const LEFT = 63 / 64;

type Shelved = {
  readonly tenant: Tenant;
  readonly shared: SharedText | undefined;
  readonly bytes: number;
  /** When it was last written to. */
  readonly at: number;
};

/** What one tenant has on a shelf. Entries last written to are at the end. */
type Share<Entry> = {
  bytes: number;
  readonly entries: Set<Entry>;
  /** How many entries have a text, which is counted once. */
  readonly shared: Map<SharedText, number>;
};

/**
 * Entries that may have so many bytes together. What is too much goes from the
 * tenant that has most, so that nobody's requests push out what somebody else has.
 */
export class Shelf<Entry extends Shelved> {
  readonly #maxBytes: number;
  readonly #shares = new Map<Tenant, Share<Entry>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False: it is too heavy to be kept at all. */
  add(kept: Entry): boolean {
    const { tenant, shared } = kept;
    const textBytes = shared === undefined ? 0 : 2 * shared.text.length;
    if (kept.bytes + textBytes > this.#maxBytes) return false;
    let share = this.#shares.get(tenant);
    if (share === undefined) {
      share = { bytes: 0, entries: new Set(), shared: new Map() };
      this.#shares.set(tenant, share);
    }
    share.entries.add(kept);
    this.#count(share, kept.bytes);
    if (shared === undefined) return true;
    const times = share.shared.get(shared) ?? 0;
    share.shared.set(shared, times + 1);
    if (times === 0) this.#count(share, textBytes);
    return true;
  }

  remove(kept: Entry): void {
    const { tenant, shared, bytes } = kept;
    const share = this.#shares.get(tenant);
    if (share?.entries.delete(kept) !== true) return;
    this.#count(share, -bytes);
    if (share.entries.size === 0) this.#shares.delete(tenant);
    const times = shared === undefined ? 0 : (share.shared.get(shared) ?? 0);
    if (shared === undefined || times === 0) return;
    if (times > 1) return void share.shared.set(shared, times - 1);
    share.shared.delete(shared);
    this.#count(share, -2 * shared.text.length);
  }

  #count(share: Share<Entry>, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  /** What is too much, each to be removed before the next is asked for. */
  *excess(): Generator<Entry> {
    if (this.#bytes <= this.#maxBytes) return;
    while (this.#bytes > this.#maxBytes * LEFT) {
      const [heaviest, next] = [...this.#shares.values()].toSorted((a, b) => b.bytes - a.bytes);
      for (const kept of heaviest?.entries ?? []) {
        yield kept;
        const isEnough = this.#bytes <= this.#maxBytes * LEFT;
        if (isEnough || (heaviest?.bytes ?? 0) < (next?.bytes ?? 0)) break;
      }
    }
  }

  /** What was last written before a moment. */
  *before(at: number): Generator<Entry> {
    for (const { entries } of this.#shares.values())
      for (const kept of entries) {
        if (kept.at >= at) break;
        yield kept;
      }
  }
}

type Ordered = { readonly order: number; readonly isGone: boolean };

/**
 * Entries in the order in which they were made. Those that are gone stay in their
 * places until they are half of all, so that each costs the same however many there are.
 */
export class InOrder<Entry extends Ordered> {
  #all: Entry[] = [];
  #gone = 0;

  add(entry: Entry): void {
    this.#all.push(entry);
  }

  /** One more of the entries is gone. Returns how many places there are. */
  dropOne(): number {
    if (2 * ++this.#gone > this.#all.length) {
      this.#all = this.#all.filter(({ isGone }) => !isGone);
      this.#gone = 0;
    }
    return this.#all.length;
  }

  /** Those behind one of them, or all. */
  *walk(direction: "asc" | "desc", behind?: number): Generator<Entry> {
    const all = this.#all;
    const step = direction === "asc" ? 1 : -1;
    let at = direction === "asc" ? 0 : all.length - 1;
    if (behind !== undefined) {
      let [low, high] = [0, all.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((all[middle]?.order ?? 0) < behind) low = middle + 1;
        else high = middle;
      }
      at = low + step;
    }
    for (; at >= 0 && at < all.length; at += step) {
      const entry = all[at];
      if (entry !== undefined && !entry.isGone) yield entry;
    }
  }
}
