import type { Clock } from "../../turn/clock.ts";

/** Something that waits and can be let go of. */
export type Parked = { release(): void };

type Place<T> = { readonly key: string; readonly thing: T; readonly calledOff: () => void };

export type LotOptions = {
  readonly clock: Clock;
  /** How long something may wait, in milliseconds. */
  readonly ttl: number;
  /** How many may wait; beyond it the one that has waited longest is let go. */
  readonly most: number;
};

/** Where threads wait for the results of their calls, each under what it has heard and said. */
export class ParkedThreads<T extends Parked> {
  readonly #options: LotOptions;
  /** Oldest first. */
  readonly #places = new Map<T, Place<T>>();
  readonly #byKey = new Map<string, T[]>();

  constructor(options: LotOptions) {
    this.#options = options;
  }

  park(key: string, thing: T): void {
    const { clock, ttl, most } = this.#options;
    const calledOff = clock.at(clock.now() + ttl, () => this.#drop(thing));
    this.#places.set(thing, { key, thing, calledOff });
    this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), thing]);
    const [oldest] = this.#places.keys();
    if (this.#places.size > most && oldest !== undefined) this.#drop(oldest);
  }

  /** One that waits under this key, if any. It waits no more. */
  take(key: string): T | undefined {
    const thing = this.#byKey.get(key)?.[0];
    if (thing !== undefined) this.forget(thing);
    return thing;
  }

  forget(thing: T): void {
    const place = this.#places.get(thing);
    if (place === undefined) return;
    place.calledOff();
    this.#places.delete(thing);
    const others = (this.#byKey.get(place.key) ?? []).filter((one) => one !== thing);
    if (others.length > 0) this.#byKey.set(place.key, others);
    else this.#byKey.delete(place.key);
  }

  clear(): void {
    for (const thing of this.#places.keys()) this.#drop(thing);
  }

  get size(): number {
    return this.#places.size;
  }

  #drop(thing: T): void {
    this.forget(thing);
    thing.release();
  }
}
