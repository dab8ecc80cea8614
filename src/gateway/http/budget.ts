/** Bounds the memory that all requests hold, with what is loaded for them, and the events of answers in the background. */
import { Fault } from "../../turn/fault.ts";
import { LOCAL_TENANT, type Tenant } from "../../turn/tenant.ts";

/**
 * Bounds the bytes of all request bodies that are arriving or being unpacked. A
 * tenant may hold at most twice what is left free, so that one alone is stopped
 * at two thirds and others always find room; where there are no keys, everything
 * is one tenant's.
 */
export class BodyBudget {
  readonly #limit: () => number;
  readonly #byTenant = new Map<Tenant, number>();
  #held = 0;

  /** The limit is asked for each time: a new configuration may have moved it. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** Bytes held just now. */
  get held(): number {
    return this.#held;
  }

  /** Takes so many bytes more for a tenant; false, and none taken, where there is no room. */
  take(tenant: Tenant, bytes: number): boolean {
    const held = (this.#byTenant.get(tenant) ?? 0) + bytes;
    const free = this.#limit() - this.#held - bytes;
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
}

/** What the bytes of one body are taken from. */
export type BodyShare = {
  readonly budget: BodyBudget;
  readonly tenant: Tenant;
  /** Bytes that the body may have, packed and unpacked. */
  readonly limit: number;
  /** What the bodies on its connection hold together, where it has one that others come on. */
  readonly connection?: ConnectionBytes | undefined;
};

/**
 * The bytes of one connection. Its bodies come one after the other, but packed
 * ones are unpacked beside each other when a client does not wait for answers.
 */
export type ConnectionBytes = { held: number };

/** The bytes that one body holds. It may go on as long as the others of its connection hold no more than one may have. */
export class HeldBytes {
  readonly #share: BodyShare;
  #bytes = 0;

  constructor(share: BodyShare) {
    this.#share = share;
  }

  /** Takes so many more. Throws a Fault where there is no room for them. */
  take(bytes: number): void {
    const { budget, tenant, limit, connection } = this.#share;
    if (connection !== undefined && connection.held - this.#bytes > limit) throw tooManyAtOnce();
    if (!budget.take(tenant, bytes)) throw noRoomForBody();
    this.#bytes += bytes;
    if (connection !== undefined) connection.held += bytes;
  }

  /** Gives all of them back. */
  release(): void {
    const { budget, tenant, connection } = this.#share;
    budget.give(tenant, this.#bytes);
    if (connection !== undefined) connection.held -= this.#bytes;
    this.#bytes = 0;
  }
}

const noRoomForBody = (): Fault =>
  new Fault(
    "gateway.busy",
    "The gateway holds as many bytes of arriving requests as `server.bodies_limit` allows; send this one again in a moment.",
    { retryAfter: "1" },
  );

const tooManyAtOnce = (): Fault =>
  new Fault(
    "gateway.busy",
    "The requests on this connection hold more bytes than one body may have; send this one again when those are answered.",
    { retryAfter: "1" },
  );

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

/** As much as is added to a body at first; from there on its room doubles. */
const FIRST = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

const none: Bytes = new Uint8Array(0);

/**
 * Joins chunks as they come. A chunk of one byte would otherwise cost an object
 * of a hundred, and keep the whole network read in memory that it was a part of.
 * The first chunk is kept as it is: most bodies are no more than that.
 */
export class ByteBuffer {
  readonly #grow: (bytes: number) => void;
  #bytes: Bytes = none;
  #length = 0;

  /** `grow` is told how many bytes more are held, before they are, and may throw. */
  constructor(grow: (bytes: number) => void) {
    this.#grow = grow;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Bytes): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) {
      this.#grow(chunk.length);
      this.#bytes = chunk;
    } else {
      if (length > this.#bytes.length) this.#enlarge(length);
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** All of it; the buffer is empty afterwards. */
  takeAll(): Bytes {
    const bytes = this.#bytes;
    const all = bytes.length === this.#length ? bytes : bytes.subarray(0, this.#length);
    this.#bytes = none;
    this.#length = 0;
    return all;
  }

  #enlarge(least: number): void {
    const size = Math.max(least, FIRST, 2 * this.#bytes.length);
    this.#grow(size - this.#bytes.length);
    const larger = new Uint8Array(size);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
