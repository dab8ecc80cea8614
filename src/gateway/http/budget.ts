import { Fault } from "../../turn/fault.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";

/** The setting that bounds a budget: arriving bodies, or what the requests under way hold. */
type Setting = "bodies_limit" | "turns_limit";

/**
 * Bounds bytes over all tenants. A tenant may hold at most twice what is left free, so that one
 * alone is stopped at two thirds and others find room. Without keys everything is one tenant's.
 */
export class ByteBudget {
  /** Bytes; a new configuration may move it. */
  limit: number;
  readonly #byTenant = new Map<Tenant, number>();
  readonly setting: Setting;
  #held = 0;

  constructor(limit: number, setting: Setting = "bodies_limit") {
    this.limit = limit;
    this.setting = setting;
  }

  /** Bytes held just now. */
  get held(): number {
    return this.#held;
  }

  /** The most that one request may hold: as much as one tenant can have. */
  get most(): number {
    return (this.limit * 2) / 3;
  }

  /** Takes bytes for a tenant; false, and none are taken, if there is no room. */
  take(tenant: Tenant, bytes: number): boolean {
    const held = (this.#byTenant.get(tenant) ?? 0) + bytes;
    const free = this.limit - this.#held - bytes;
    if (free < 0 || (tenant !== LOCAL_TENANT && held > 2 * free)) return false;
    this.#held += bytes;
    this.#byTenant.set(tenant, held);
    return true;
  }

  give(tenant: Tenant, bytes: number): void {
    const held = (this.#byTenant.get(tenant) ?? 0) - bytes;
    this.#held -= bytes;
    if (held > 0) this.#byTenant.set(tenant, held);
    else this.#byTenant.delete(tenant);
  }

  open(tenant: Tenant): HeldBytes {
    return new HeldBytes({ budget: this, tenant, limit: Infinity });
  }

  /** Takes bytes and returns what gives them back. Throws a Fault if there is no room. */
  enter(tenant: Tenant, bytes: number): () => void {
    const held = this.open(tenant);
    held.take(bytes);
    return () => held.release();
  }
}

/**
 * The bytes of one connection. Its bodies come one after the other, but compressed ones are
 * decompressed at the same time when a client does not wait for answers.
 */
export type ConnectionBytes = { held: number };

export type ByteShare = {
  readonly budget: ByteBudget;
  readonly tenant: Tenant;
  /** Bytes that one body may have, compressed and decompressed. */
  readonly limit: number;
  /** Bytes of all bodies of the connection, if several may come on it. */
  readonly connection?: ConnectionBytes | undefined;
};

/** Loaded items take 2 to 4 bytes of memory for each stored byte. */
const LOADED_WEIGHT = 4;

/**
 * The bytes that one request holds: a body while it arrives, or its text and what is loaded for
 * it. A turn that continues after its request was served keeps them until it calls `release`.
 */
export class HeldBytes {
  readonly #share: ByteShare;
  #bytes = 0;
  #isKept = false;

  constructor(share: ByteShare) {
    this.#share = share;
  }

  /** Bytes that one body may have. */
  get limit(): number {
    return this.#share.limit;
  }

  /**
   * Takes more bytes. Throws a Fault if there is no room for them, or if the other bodies of the
   * connection already hold as much as one body may have.
   */
  take(bytes: number): void {
    const { budget, tenant, limit, connection } = this.#share;
    if (connection !== undefined && connection.held - this.#bytes > limit) throw connectionFull();
    if (budget.setting === "turns_limit" && this.#bytes + bytes > budget.most)
      throw requestTooLarge();
    if (!budget.take(tenant, bytes)) throw budgetFull(budget.setting);
    this.#bytes += bytes;
    if (connection !== undefined) connection.held += bytes;
  }

  /** Takes room for stored bytes before they are loaded. */
  readonly load = (bytes: number): void => this.take(LOADED_WEIGHT * bytes);

  /** Holds bytes of the same share apart, to release them earlier. */
  beside(): HeldBytes {
    return new HeldBytes(this.#share);
  }

  /** Keeps the bytes for a turn: `served` releases nothing. */
  keep(): this {
    this.#isKept = true;
    return this;
  }

  /** The request was served: gives the bytes back, unless a turn keeps them. */
  served(): void {
    if (!this.#isKept) this.release();
  }

  release(): void {
    const { budget, tenant, connection } = this.#share;
    budget.give(tenant, this.#bytes);
    if (connection !== undefined) connection.held -= this.#bytes;
    this.#bytes = 0;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

const requestTooLarge = (): Fault =>
  new Fault(
    "request.too_large",
    "The request and the stored data it refers to need more memory than one request may use; send less, or raise `server.turns_limit`.",
  );

const budgetFull = (setting: Setting): Fault =>
  new Fault(
    "gateway.busy",
    setting === "turns_limit"
      ? "The running requests hold as much memory as `server.turns_limit` allows; send this one again in a moment."
      : "The gateway holds as many bytes of arriving requests as `server.bodies_limit` allows; send this one again in a moment.",
    { retryAfter: "1" },
  );

const connectionFull = (): Fault =>
  new Fault(
    "gateway.busy",
    "The requests on this connection hold more bytes than one body may have; send this one again when those are answered.",
    { retryAfter: "1" },
  );

/** Half of the heap: the rest is for arriving bodies, answers and what is stored. */
const HEAP_SHARE = 1 / 2;
const UNKNOWN_HEAP = 1024 * 1024 * 1024;

export const turnsLimit = (
  { turns_limit }: { readonly turns_limit?: number | undefined },
  heapBytes = UNKNOWN_HEAP,
): number => turns_limit ?? Math.floor(heapBytes * HEAP_SHARE);

/** Bytes for each comma of JSON: a member of a list or an object takes 43 to 145 beside its text. */
const MEMBER_BYTES = 96;
/** A shorter text counts as the most that it may take. */
const SHORT = 4096;
const SHORT_WEIGHT = 16;
const SAMPLES = 32;
const SAMPLE_LENGTH = 64;
const COMMA = 0x2c;

/**
 * Estimates the memory that a request holds: its text, and an object for each of its parts. Commas
 * are counted in samples at random places, which no client can know. `values`: the most that a
 * text may hold; a text with more is not parsed.
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
