import type { Happening, HappeningType } from "../happening.ts";

/** Something that happened to the gateway and not to one turn alone. */
export type Notice = { readonly at: number; readonly happening: Happening };

const MOST = 200;
const types = [
  "fallback",
  "blocked",
  "child",
  "reload",
  "store",
  "trouble",
  "unwritable",
] as const satisfies readonly HappeningType[];

/** The latest notices, numbered from 1. */
export class Notices {
  readonly #date: () => number;
  readonly #kept: Notice[] = [];
  #last = 0;

  constructor(date: () => number) {
    this.#date = date;
  }

  get last(): number {
    return this.#last;
  }

  readonly hear = Object.assign(
    (happening: Happening): void => {
      this.#last++;
      this.#kept.push({ at: this.#date(), happening });
      if (this.#kept.length > MOST) this.#kept.shift();
    },
    { types },
  );

  /** Those behind the one of this number. */
  since(number: number): readonly Notice[] {
    const first = this.#last - this.#kept.length + 1;
    return this.#kept.slice(Math.max(0, number + 1 - first));
  }
}
