import type { Clock } from "../turn/clock.ts";
import { Fault } from "../turn/fault.ts";
import type { Tenant } from "../turn/tenant.ts";

/**
 * Leases let one process at a time make an answer or add a turn to a
 * conversation. A lease ends unless its owner renews it. An owner whose lease was
 * deleted or taken by another process can no longer write under it.
 */
export type LeaseStore = {
  /** Takes a lease that is free, has ended, or is the owner's already. False: another owner has it. */
  take(tenant: Tenant, id: string, term: LeaseTerm): Promise<boolean>;
  /** Prolongs a lease, even after its end; `lost`: the lease is no longer the owner's. */
  renew(tenant: Tenant, id: string, term: LeaseTerm): Promise<Renewal>;
  isHeld(tenant: Tenant, id: string): Promise<boolean>;
  /** Makes the owner's next renewal return `asked`. */
  askToStop(tenant: Tenant, id: string): Promise<void>;
  release(tenant: Tenant, id: string, owner: string): Promise<void>;
};

/** `owner` is random: no two leases have the same. */
export type LeaseTerm = { readonly owner: string; readonly ms: number };
export type Renewal = "held" | "asked" | "lost";

/** The lease that a write depends on. */
export type Lease = { readonly id: string; readonly owner: string };

export const superseded = (): Fault =>
  new Fault(
    "store.superseded",
    "Nothing of this turn was stored: its response or conversation was deleted meanwhile, or another process took it over.",
  );

type Held = { owner: string; until: number; asked: boolean };

/** Leases within one process. */
export class MemoryLeases implements LeaseStore {
  readonly #clock: Pick<Clock, "now">;
  readonly #held = new Map<string, Held>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  async take(tenant: Tenant, id: string, { owner, ms }: LeaseTerm): Promise<boolean> {
    const held = this.#held.get(keyOf(tenant, id));
    const now = this.#clock.now();
    if (held !== undefined && held.owner !== owner && held.until > now) return false;
    this.#held.set(keyOf(tenant, id), { owner, until: now + ms, asked: false });
    return true;
  }

  async renew(tenant: Tenant, id: string, { owner, ms }: LeaseTerm): Promise<Renewal> {
    const held = this.#held.get(keyOf(tenant, id));
    if (held?.owner !== owner) return "lost";
    held.until = this.#clock.now() + ms;
    return held.asked ? "asked" : "held";
  }

  async isHeld(tenant: Tenant, id: string): Promise<boolean> {
    return (this.#held.get(keyOf(tenant, id))?.until ?? 0) > this.#clock.now();
  }

  async askToStop(tenant: Tenant, id: string): Promise<void> {
    const held = this.#held.get(keyOf(tenant, id));
    if (held !== undefined) held.asked = true;
  }

  async release(tenant: Tenant, id: string, owner: string): Promise<void> {
    if (this.#held.get(keyOf(tenant, id))?.owner === owner) this.drop(tenant, id);
  }

  /** Deletes a lease, so that its owner loses it. */
  drop(tenant: Tenant, id: string): void {
    this.#held.delete(keyOf(tenant, id));
  }

  /** Throws a Fault if the owner of a lease has lost it. */
  check(tenant: Tenant, { id, owner }: Lease): void {
    if (this.#held.get(keyOf(tenant, id))?.owner !== owner) throw superseded();
  }
}

const keyOf = (tenant: Tenant, id: string): string => JSON.stringify([tenant, id]);
