import { Fault } from "../turn/fault.ts";
import { LOCAL_TENANT, type Tenant } from "../turn/tenant.ts";

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
};

/** The bytes that one body holds. */
export class HeldBytes {
  readonly #share: BodyShare;
  #bytes = 0;

  constructor(share: BodyShare) {
    this.#share = share;
  }

  /** Takes so many more. Throws a Fault where there is no room for them. */
  take(bytes: number): void {
    const { budget, tenant } = this.#share;
    if (!budget.take(tenant, bytes)) throw noRoom();
    this.#bytes += bytes;
  }

  /** Gives all of them back. */
  release(): void {
    const { budget, tenant } = this.#share;
    budget.give(tenant, this.#bytes);
    this.#bytes = 0;
  }
}

const noRoom = (): Fault =>
  new Fault(
    "gateway.busy",
    "The gateway holds as many bytes of arriving requests as `server.bodies_limit` allows; send this one again in a moment.",
    { retryAfter: "1" },
  );
