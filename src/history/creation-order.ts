type Entry = { readonly order: number; readonly id: string };

/**
 * Ids in the order in which they were added, from any of them on. Deleted ones
 * stay in their places until they are half of all, so that each costs the same
 * however many there are.
 */
export class CreationOrder {
  #entries: Entry[] = [];
  readonly #deleted = new Set<number>();

  get size(): number {
    return this.#entries.length - this.#deleted.size;
  }

  /** Each has a higher number than those before it. */
  add(order: number, id: string): void {
    this.#entries.push({ order, id });
  }

  delete(order: number): void {
    const at = this.#placeOf(order);
    if (this.#entries[at]?.order !== order) return;
    this.#deleted.add(order);
    if (2 * this.#deleted.size <= this.#entries.length) return;
    this.#entries = this.#entries.filter((entry) => !this.#deleted.has(entry.order));
    this.#deleted.clear();
  }

  /** Those behind one, or all. What is deleted meanwhile may be given or not. */
  *walk(direction: "asc" | "desc", behind?: number): Generator<string> {
    const entries = this.#entries;
    const step = direction === "asc" ? 1 : -1;
    const first = direction === "asc" ? 0 : entries.length - 1;
    let at = first;
    if (behind !== undefined) {
      const place = this.#placeOf(behind);
      at = direction === "desc" || entries[place]?.order === behind ? place + step : place;
    }
    for (; at >= 0 && at < entries.length; at += step) {
      const entry = entries[at];
      if (entry !== undefined && !this.#deleted.has(entry.order)) yield entry.id;
    }
  }

  /** Where the first with this number or a higher one is. */
  #placeOf(order: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle]?.order ?? 0) < order) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
