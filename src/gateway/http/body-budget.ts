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
    if (!budget.take(tenant, bytes)) throw noRoom();
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

const noRoom = (): Fault =>
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
