/** Compares values of two turns, with what differs between any two turns set aside. */

import { ownOf } from "../../../json/json.ts";
import { sizesOf } from "../text-mask.ts";

export type Difference = {
  /** Where, such as `choices[0].delta.content`. */
  readonly path: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
};

export type ComparisonOptions = {
  /** A masked bundle masks texts of the gateway too, so that texts need only have the same size. */
  readonly masked: boolean;
};

/** Times of the clock. */
const CLOCK = /^(?:created|created_at|completed_at|expires_at|started_at|at|system_fingerprint)$/;
const ID = /(?:^id|_id|Id)$/;

type Place = { readonly path: string; readonly key: string; readonly depth: number };

/** Values are compared down to this depth: what is deeper would take the whole stack. */
const DEEPEST = 500;

/** One comparison of two turns: an id of one stands for the same id of the other all along. */
export class Comparison {
  readonly #masked: boolean;
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  constructor({ masked }: ComparisonOptions) {
    this.#masked = masked;
  }

  /** The first difference; undefined where there is none. */
  first(recorded: unknown, replayed: unknown): Difference | undefined {
    return this.#within(recorded, replayed, { path: "", key: "", depth: 0 });
  }

  #within(recorded: unknown, replayed: unknown, place: Place): Difference | undefined {
    const { path, key, depth } = place;
    if (depth > DEEPEST || Object.is(recorded, replayed) || CLOCK.test(key)) return undefined;
    const differs = { path, recorded, replayed };
    if (typeof recorded === "string" && typeof replayed === "string")
      return this.#isSame(recorded, replayed, key) ? undefined : differs;
    if (typeof recorded !== "object" || typeof replayed !== "object") return differs;
    if (recorded === null || replayed === null) return differs;
    const isList = Array.isArray(recorded);
    if (isList !== Array.isArray(replayed)) return differs;
    const [a, b] = [recorded as Fields, replayed as Fields];
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = isList ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
      const inner = { path: at, key: isList ? key : name, depth: depth + 1 };
      const found = this.#within(ownOf(a, name), ownOf(b, name), inner);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isSame(recorded: string, replayed: string, key: string): boolean {
    if (this.#ids.has(recorded)) return this.#ids.get(recorded) === replayed;
    if (ID.test(key) && !this.#taken.has(replayed)) {
      this.#ids.set(recorded, replayed);
      this.#taken.add(replayed);
      return true;
    }
    return this.#masked && sizesOf(recorded) === sizesOf(replayed);
  }
}

type Fields = Readonly<Record<string, unknown>>;
