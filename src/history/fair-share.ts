import type { Tenant } from "../turn/tenant.ts";

/** Of what may be kept, how much is left by a sweep that has to drop something: else each write would ask for one. */
const LEFT = 15 / 16;

/**
 * How much each tenant may keep, where all together keep too much: what is too
 * much goes from those that hold most. Tenants that may keep all are not in it.
 */
export function fairShares(
  held: ReadonlyMap<Tenant, number>,
  maxBytes: number,
): ReadonlyMap<Tenant, number> {
  const shares = new Map<Tenant, number>();
  const sums = [...held].toSorted(([, a], [, b]) => a - b);
  if (sums.reduce((sum, [, bytes]) => sum + bytes, 0) <= maxBytes) return shares;
  let room = maxBytes * LEFT;
  for (const [at, [tenant, bytes]] of sums.entries()) {
    const share = Math.min(bytes, room / (sums.length - at));
    room -= share;
    if (share < bytes) shares.set(tenant, share);
  }
  return shares;
}
