/**
 * Leases, quotas and secrets, which processes share.
 *
 * PostgreSQL leases use the clock of the database, so that all replicas see the same end.
 * SQLite leases use the machine's monotonic clock, which restarts from zero at boot: a lease
 * that begins in the future was taken before the boot, and has ended.
 */

import type { Lease, LeaseKey, LeaseTerm, Renewal } from "../leases.ts";
import type { Spent } from "../log.ts";
import type { Driver, Sql } from "./sql.ts";

const key = "tenant = $1 AND id = $2";
const isCurrent = "since <= patchbay.lease_ms() AND until > patchbay.lease_ms()";

export async function takeLease(sql: Sql, { tenant, id, owner, ms }: LeaseTerm): Promise<boolean> {
  const text = `INSERT INTO patchbay.leases AS held (tenant, id, owner, since, until, asked)
    VALUES ($1, $2, $3, patchbay.lease_ms(), patchbay.lease_ms() + $4, 0)
    ON CONFLICT (tenant, id) DO UPDATE SET
      owner = excluded.owner, since = excluded.since, until = excluded.until, asked = 0
    WHERE held.owner = excluded.owner OR NOT (${isCurrent.replaceAll(/since|until/g, "held.$&")})
    RETURNING 1 AS one`;
  return (await sql.all(text, tenant, id, owner, Math.round(ms))).length > 0;
}

export async function renewLease(sql: Sql, { tenant, id, owner, ms }: LeaseTerm): Promise<Renewal> {
  const text = `UPDATE patchbay.leases SET since = patchbay.lease_ms(), until = patchbay.lease_ms() + $4
    WHERE ${key} AND owner = $3 RETURNING asked`;
  const [row] = await sql.all(text, tenant, id, owner, Math.round(ms));
  if (row === undefined) return "lost";
  return row["asked"] === 1 ? "asked" : "held";
}

export async function isLeaseHeld(sql: Sql, { tenant, id }: LeaseKey): Promise<boolean> {
  const text = `SELECT 1 AS one FROM patchbay.leases WHERE ${key} AND ${isCurrent}`;
  return (await sql.all(text, tenant, id)).length > 0;
}

export async function askToStop(sql: Sql, { tenant, id }: LeaseKey): Promise<void> {
  await sql.all(`UPDATE patchbay.leases SET asked = 1 WHERE ${key}`, tenant, id);
}

export async function releaseLease(
  sql: Sql,
  { tenant, id, owner }: LeaseKey & Lease,
): Promise<void> {
  await sql.all(`DELETE FROM patchbay.leases WHERE ${key} AND owner = $3`, tenant, id, owner);
}

/** Waits until writes under a lease are committed: later statements of the transaction see their rows. */
export async function lockLease(sql: Sql, { tenant, id }: LeaseKey): Promise<void> {
  await sql.all(`SELECT id FROM patchbay.leases WHERE ${key} FOR UPDATE`, tenant, id);
}

export async function dropLease(sql: Sql, { tenant, id }: LeaseKey): Promise<void> {
  await sql.all(`DELETE FROM patchbay.leases WHERE ${key}`, tenant, id);
}

/** A sweep drops leases this long after their end: until then a suspended owner may renew them. */
const KEPT_MS = 86_400_000;

export async function sweepLeases(sql: Sql): Promise<void> {
  await sql.all(`DELETE FROM patchbay.leases WHERE until < patchbay.lease_ms() - ${KEPT_MS}`);
}

// After the clock was set back, a level does not rise until the next call.
const spendSql = `
INSERT INTO patchbay.rate_limits AS old (tenant, kind, level, at)
VALUES ($1, $2, CAST($3 AS double precision) - CAST($4 AS double precision), patchbay.now_ms())
ON CONFLICT (tenant, kind) DO UPDATE SET
  level = least($3, old.level + greatest(0, excluded.at - old.at) * CAST($3 AS double precision) / 60000) - $4,
  at = excluded.at
RETURNING level`;

/** Subtracts amounts from the quotas of tenants, which all processes share. Returns the levels in the same order. */
export const spend = (database: Driver, spent: readonly Spent[]): Promise<readonly number[]> =>
  database.transaction(async (sql) => {
    const keyOf = ({ tenant, kind }: Spent): string => `${kind} ${tenant}`;
    const levels = new Map<Spent, Promise<number>>();
    // In the order of the key: processes that lock rows in different orders would deadlock.
    for (const one of spent.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
      const { tenant, kind, perMinute, amount } = one;
      const asked = sql.all(spendSql, tenant, kind, perMinute, amount);
      levels.set(
        one,
        Promise.resolve(asked).then(([row]) => Number(row?.["level"])),
      );
    }
    return Promise.all(spent.map(async (one) => (await levels.get(one)) ?? one.perMinute));
  });

/** The secret of a name. The first caller's `made` is stored. */
export async function secret(
  sql: Sql,
  { name, made }: { readonly name: string; readonly made: string },
): Promise<string> {
  const insert = "INSERT INTO patchbay.secrets VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
  await sql.all(insert, name, made);
  const [row] = await sql.all("SELECT value FROM patchbay.secrets WHERE name = $1", name);
  return String(row?.["value"]);
}
