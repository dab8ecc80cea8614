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
  take(lease: LeaseTerm): Promise<boolean>;
  /** Prolongs a lease, even after its end; `lost`: the lease is no longer the owner's. */
  renew(lease: LeaseTerm): Promise<Renewal>;
  isHeld(key: LeaseKey): Promise<boolean>;
  /** Makes the owner's next renewal return `asked`. */
  askToStop(key: LeaseKey): Promise<void>;
  release(lease: LeaseKey & Lease): Promise<void>;
};

/** `id` must be storable (`isStorableId`). */
export type LeaseKey = { readonly tenant: Tenant; readonly id: string };
/** `owner` is random: no two leases have the same. */
export type LeaseTerm = LeaseKey & Lease & { readonly ms: number };
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

  async take({ owner, ms, ...key }: LeaseTerm): Promise<boolean> {
    const held = this.#of(key);
    const now = this.#clock.now();
    if (held !== undefined && held.owner !== owner && held.until > now) return false;
    this.#held.set(keyOf(key), { owner, until: now + ms, asked: false });
    return true;
  }

  async renew({ owner, ms, ...key }: LeaseTerm): Promise<Renewal> {
    const held = this.#of(key);
    if (held?.owner !== owner) return "lost";
    held.until = this.#clock.now() + ms;
    return held.asked ? "asked" : "held";
  }

  async isHeld(key: LeaseKey): Promise<boolean> {
    return (this.#of(key)?.until ?? 0) > this.#clock.now();
  }

  async askToStop(key: LeaseKey): Promise<void> {
    const held = this.#of(key);
    if (held !== undefined) held.asked = true;
  }

  async release({ owner, ...key }: LeaseKey & Lease): Promise<void> {
    if (this.#of(key)?.owner === owner) this.drop(key);
  }

  /** Deletes a lease, so that its owner loses it. */
  drop(key: LeaseKey): void {
    this.#held.delete(keyOf(key));
  }

  /** Throws a Fault if the owner of a lease has lost it. */
  check(tenant: Tenant, { id, owner }: Lease): void {
    if (this.#of({ tenant, id })?.owner !== owner) throw superseded();
  }

  #of(key: LeaseKey): Held | undefined {
    return this.#held.get(keyOf(key));
  }
}

const keyOf = ({ tenant, id }: LeaseKey): string => JSON.stringify([tenant, id]);
