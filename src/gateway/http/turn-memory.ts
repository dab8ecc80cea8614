/** Bounds the memory that all requests hold, with what is loaded for them, and the events of answers in the background. */

import { Fault } from "../../turn/fault.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { BodyBudget } from "./body-budget.ts";

/**
 * Half of the heap, where the runtime says how large that may become: the rest is for
 * what arrives, for answers and for what is kept.
 */
const HEAP_SHARE = 1 / 2;
/** Where it does not say. */
const UNKNOWN_HEAP = 1024 * 1024 * 1024;

export const turnsLimit = (
  { turns_limit }: { readonly turns_limit?: number | undefined },
  heapBytes = UNKNOWN_HEAP,
): number => turns_limit ?? Math.floor(heapBytes * HEAP_SHARE);

/** Of all there is, the most that a tenant can have: twice what it leaves free. */
const ONE_TENANT = 2 / 3;

/** What requests hold, by tenant: one may have at most twice what is left free. */
export class TurnMemory {
  #limit = Infinity;
  readonly #budget = new BodyBudget(() => this.#limit);

  /** Estimated bytes that are held just now. */
  get held(): number {
    return this.#budget.held;
  }

  /** The most that one tenant can have. */
  get most(): number {
    return this.#limit * ONE_TENANT;
  }

  resize(limit: number): void {
    this.#limit = limit;
  }

  open(tenant: Tenant): HeldMemory {
    return new HeldMemory({ memory: this, budget: this.#budget, tenant });
  }

  /** Takes so many bytes, and gives what gives them back. Throws a Fault where there is no room. */
  enter(tenant: Tenant, bytes: number): () => void {
    const held = this.open(tenant);
    held.take(bytes);
    return () => held.release();
  }
}

type Share = {
  readonly memory: Pick<TurnMemory, "most">;
  readonly budget: BodyBudget;
  readonly tenant: Tenant;
};

/** What one request holds: its own text, and what is loaded for it. */
export class HeldMemory {
  readonly #share: Share;
  #bytes = 0;

  constructor(share: Share) {
    this.#share = share;
  }

  /** Throws a Fault where there is no room for so many more. */
  take(bytes: number): void {
    const { memory, budget, tenant } = this.#share;
    if (this.#bytes + bytes > memory.most) throw tooLarge();
    if (!budget.take(tenant, bytes)) throw noRoom();
    this.#bytes += bytes;
  }

  /** Takes room for so many bytes of what is stored, before they are loaded. */
  readonly load = (bytes: number): void => this.take(RECALLED * bytes);

  /** Takes by itself, for what is let go of before the request is served. */
  beside(): HeldMemory {
    return new HeldMemory(this.#share);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  release(): void {
    const { budget, tenant } = this.#share;
    budget.give(tenant, this.#bytes);
    this.#bytes = 0;
  }

  /** Another holds it all from now on. */
  handOver(): HeldMemory {
    const other = new HeldMemory(this.#share);
    other.#bytes = this.#bytes;
    this.#bytes = 0;
    return other;
  }
}

/** Bytes for every comma of JSON: a member of a list or an object takes 43 to 145 in memory beside its text. */
const MEMBER_BYTES = 96;
/** What is stored is not looked at: conversations take 2 to 4 bytes of memory for each of theirs. */
const RECALLED = 4;
/** A shorter text is weighed by the most that it can come to. */
const SHORT = 4096;
const SHORT_WEIGHT = 16;
const SAMPLES = 32;
const SAMPLE_LENGTH = 64;
const COMMA = 0x2c;

/**
 * About how much memory a request holds while it is served: its text is
 * kept in parts, and every part is an object. Parts are counted in samples, at
 * places that no client can know; a text of more than so many values is not parsed.
 */
export function requestMemory(text: string, random: () => number, values = Infinity): number {
  const { length } = text;
  if (length <= SHORT) return SHORT_WEIGHT * length;
  const part = length / SAMPLES;
  let commas = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = Math.floor((sample + random()) * part);
    for (let at = start; at < start + SAMPLE_LENGTH; at++)
      if (text.charCodeAt(at) === COMMA) commas++;
  }
  const members = Math.min(values, (commas / (SAMPLES * SAMPLE_LENGTH)) * length);
  return Math.ceil(length + MEMBER_BYTES * members);
}

const tooLarge = (): Fault =>
  new Fault(
    "request.too_large",
    "The request, with what it refers to, would hold more memory than one may have; send less, or raise `server.turns_limit`.",
  );

const noRoom = (): Fault =>
  new Fault(
    "gateway.busy",
    "The requests under way hold as much memory as `server.turns_limit` allows; send this one again in a moment.",
    { retryAfter: "1" },
  );
