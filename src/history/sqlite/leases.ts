import type { DatabaseSync } from "node:sqlite";
import type { LeaseOperations } from "../database.ts";
import { superseded, type Lease } from "../leases.ts";
import type { HostClock } from "./connection.ts";

/**
 * Leases by the machine's monotonic clock, which all processes share. It restarts
 * from zero when the machine boots: a lease that begins in the future is from
 * before that, and has ended.
 */
export function sqliteLeases(database: DatabaseSync, clock: HostClock): LeaseOperations {
  const isHeld = "since <= :now AND until > :now";
  const take = database.prepare(`
    INSERT INTO leases (tenant, id, owner, since, until, asked)
    VALUES (:tenant, :id, :owner, :now, :until, 0)
    ON CONFLICT (tenant, id) DO UPDATE SET
      owner = excluded.owner, since = excluded.since, until = excluded.until, asked = 0
    WHERE owner = excluded.owner OR NOT (${isHeld})`);
  const renew = database.prepare(`UPDATE leases SET since = :now, until = :until
    WHERE tenant = :tenant AND id = :id AND owner = :owner RETURNING asked`);
  const find = database.prepare(
    `SELECT 1 FROM leases WHERE tenant = :tenant AND id = :id AND ${isHeld}`,
  );
  const ask = database.prepare("UPDATE leases SET asked = 1 WHERE tenant = ? AND id = ?");
  const release = database.prepare("DELETE FROM leases WHERE tenant = ? AND id = ? AND owner = ?");
  const now = (): number => Math.floor(clock.steady());
  return {
    takeLease({ ms, ...key }) {
      const from = now();
      return Number(take.run({ ...key, now: from, until: from + ms }).changes) > 0;
    },
    renewLease({ ms, ...key }) {
      const from = now();
      const row = renew.get({ ...key, now: from, until: from + ms });
      if (row === undefined) return "lost";
      return row["asked"] === 1 ? "asked" : "held";
    },
    isLeaseHeld: (key) => find.get({ ...key, now: now() }) !== undefined,
    askToStop: ({ tenant, id }) => void ask.run(tenant, id),
    releaseLease: ({ tenant, id, owner }) => void release.run(tenant, id, owner),
  };
}

/** A sweep drops leases this long after their end: until then a suspended owner may renew them. */
const KEPT_MS = 86_400_000;

export function leaseDropping(database: DatabaseSync, clock: HostClock) {
  const drop = database.prepare("DELETE FROM leases WHERE tenant = ? AND id = ?");
  const sweep = database.prepare("DELETE FROM leases WHERE until < ?1 OR since > ?2");
  return {
    drop: (tenant: string, id: string): void => void drop.run(tenant, id),
    sweep(): void {
      const now = Math.floor(clock.steady());
      sweep.run(now - KEPT_MS, now);
    },
  };
}

/** Throws a Fault if the owner of a lease has lost it. Runs in the transaction of the write. */
export function leaseCheck(database: DatabaseSync): (tenant: string, lease: Lease) => void {
  const find = database.prepare("SELECT 1 FROM leases WHERE tenant = ? AND id = ? AND owner = ?");
  return (tenant, { id, owner }) => {
    if (find.get(tenant, id, owner) === undefined) throw superseded();
  };
}
