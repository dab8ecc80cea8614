/** Bounds the memory that all turns under way hold: their requests, and the events of answers in the background. */

import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";
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

/** What turns under way hold, by tenant: one may have at most twice what is left free. */
export class TurnMemory {
  #limit = Infinity;
  readonly #budget = new BodyBudget(() => this.#limit);

  /** Estimated bytes that are held just now. */
  get held(): number {
    return this.#budget.held;
  }

  resize(limit: number): void {
    this.#limit = limit;
  }

  /** Takes so many bytes for a turn, and gives what gives them back. Throws a Fault where there is no room. */
  enter(tenant: Tenant, bytes: number): () => void {
    if (bytes > this.#limit * ONE_TENANT) throw tooLarge();
    if (!this.#budget.take(tenant, bytes)) throw noRoom();
    return () => this.#budget.give(tenant, bytes);
  }
}

/** Bytes for every comma of JSON: a member of a list or an object takes 43 to 145 in memory beside its text. */
const MEMBER_BYTES = 96;
/** What was recalled is not looked at: conversations take 2 to 4 bytes of memory for each of theirs. */
const RECALLED = 4;
/** A shorter text is weighed by the most that it can come to. */
const SHORT = 4096;
const SHORT_WEIGHT = 16;
const SAMPLES = 32;
const SAMPLE_LENGTH = 64;
const COMMA = 0x2c;

/**
 * About how much memory a request holds while its turn is under way: its text is
 * kept in parts, and every part is an object. Parts are counted in samples, at
 * places that no client can know.
 */
export function requestMemory(text: string, recalledBytes: number, random: () => number): number {
  const { length } = text;
  const recalled = RECALLED * recalledBytes;
  if (length <= SHORT) return SHORT_WEIGHT * length + recalled;
  const part = length / SAMPLES;
  let commas = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = Math.floor((sample + random()) * part);
    for (let at = start; at < start + SAMPLE_LENGTH; at++)
      if (text.charCodeAt(at) === COMMA) commas++;
  }
  const members = (commas / (SAMPLES * SAMPLE_LENGTH)) * length;
  return Math.ceil(length + MEMBER_BYTES * members + recalled);
}

const tooLarge = (): Fault =>
  new Fault(
    "request.too_large",
    "The request, with what it refers to, would hold more memory than one may have; send less, or raise `server.turns_limit`.",
  );

const noRoom = (): Fault =>
  new Fault(
    "gateway.busy",
    "The turns under way hold as much memory as `server.turns_limit` allows; send this one again in a moment.",
    { retryAfter: "1" },
  );
