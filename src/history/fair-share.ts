import type { Tenant } from "../turn/tenant.ts";

/** A sweep frees more than the excess, down to this share: otherwise each write would need a sweep. */
const LEFT = 15 / 16;

/**
 * The bytes that each tenant may keep if all together exceed `maxBytes`: the tenants with the
 * most bytes lose the excess. Tenants that lose nothing are not in the result.
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
