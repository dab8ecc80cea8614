/** Drops entries: by id, by age and by size. */

import { uptime } from "node:os";
import type { Tenant } from "../../turn/tenant.ts";
import type { Key } from "../log.ts";
import { kindNumbers } from "../records.ts";
import type { AgeState } from "../age-watch.ts";
import { dropLease, lockLease, sweepLeases } from "./leases.ts";
import type { Driver, SqlRow, Sql } from "./sql.ts";
import { SHARED_FRESH_MS } from "./write.ts";

/** The bounds of a sweep. Ages are by the database's clock. */
export type SweepBounds = {
  readonly maxAgeMs: number;
  readonly maxUsageAgeMs: number;
  readonly maxBytes: number;
  readonly maxPlanBytes: number;
};

export type Swept = {
  /** True if there is more to drop. */
  readonly more: boolean;
  /** True if expired rows are kept because the clock may have been set. */
  readonly waits: boolean;
};

/** The most entries that one transaction drops: other writers wait for it. */
const STEP = 200;
/** The queue repeats a batch for less than this time. */
const BATCHES_KEPT_MS = 3_600_000;

/** Deletes an entry, the entries that belong to it and their unshared texts; false if there is no such entry. */
export const drop = (database: Driver, { tenant, kind, id }: Key): Promise<boolean> =>
  database.transaction(async (sql) => {
    await lockLease(sql, { tenant, id });
    // Rows are locked: a turn that adds to the list meanwhile is deleted with it or finds no list.
    const found = await sql.all(
      `SELECT seq, kind, shared FROM patchbay.entries
       WHERE tenant = $1 AND (id = $2 OR kept_for = $2) AND kind <> $3 FOR UPDATE`,
      tenant,
      id,
      kind === "list" ? kindNumbers.response : kindNumbers.list,
    );
    if (!found.some((row) => row["kind"] === kindNumbers[kind])) return false;
    await dropEntries(sql, found);
    const shared = found.flatMap((row) => (row["shared"] === null ? [] : String(row["shared"])));
    if (shared.length > 0) await dropUnshared(sql, tenant, [...new Set(shared)]);
    await dropLease(sql, { tenant, id });
    return true;
  });

async function dropEntries(sql: Sql, rows: readonly SqlRow[]): Promise<void> {
  const seqs = rows.map(({ seq }) => Number(seq));
  await sql.all("DELETE FROM patchbay.parts WHERE entry = ANY ($1::bigint[])", seqs);
  await sql.all("DELETE FROM patchbay.entries WHERE seq = ANY ($1::bigint[])", seqs);
}

const unshared = `NOT EXISTS (
  SELECT 1 FROM patchbay.entries AS one WHERE one.tenant = shared_texts.tenant AND one.shared = digest
)`;

/**
 * Drops the texts that no entry uses. A write locks its texts until its commit. Once this
 * transaction has locked them, its second statement sees the entries of all such writes, and
 * later writes insert a text again.
 */
async function dropUnshared(sql: Sql, tenant: Tenant, digests: readonly string[]): Promise<void> {
  const these = "tenant = $1 AND digest = ANY ($2::text[])";
  const lock = `SELECT digest FROM patchbay.shared_texts WHERE ${these} ORDER BY tenant, digest FOR UPDATE`;
  await sql.all(lock, tenant, digests);
  await sql.all(
    `DELETE FROM patchbay.shared_texts WHERE ${these} AND ${unshared}`,
    tenant,
    digests,
  );
}

/** Drops some of the expired and excess rows, unless another process is sweeping. */
export const sweep = (database: Driver, bounds: SweepBounds): Promise<Swept> =>
  database.transaction(async (sql) => {
    const [state] = await sql.all(
      "SELECT seen, waited, patchbay.now_ms() AS now FROM patchbay.age_state FOR UPDATE SKIP LOCKED",
    );
    if (state === undefined) return { more: false, waits: false };
    const now = Number(state["now"]);
    const { more: isOld, waits } = await dropByAge(database, sql, { ...bounds, state, now });
    // Lists may have up to half of the bytes that answers could have without them.
    const lists = await dropHeavy(sql, [kindNumbers.list], bounds.maxBytes / 2);
    const answers = await dropHeavy(sql, [0, kindNumbers.response], bounds.maxBytes - lists.bytes);
    const plans = await dropHeavy(sql, [kindNumbers.plan], bounds.maxPlanBytes);
    await sql.all(
      `DELETE FROM patchbay.shared_texts WHERE at < $1 AND ${unshared}`,
      now - 2 * SHARED_FRESH_MS,
    );
    return { more: isOld || lists.more || answers.more || plans.more, waits };
  });

const ageCountsSql = (column: string, bound: string): string =>
  `count(*) AS rows, coalesce(sum(CASE WHEN ${column} < ${bound} THEN 1 ELSE 0 END), 0) AS expired`;
const countsSql = `
SELECT ${ageCountsSql("at", "$1")}, max(at) AS newest FROM patchbay.entries GROUP BY (kind = ${kindNumbers.list})
UNION ALL SELECT ${ageCountsSql("hour", "$2")}, 0 FROM patchbay.usage`;

type Ageing = SweepBounds & { readonly state: SqlRow; readonly now: number };

/** Drops expired rows, unless the clock may have been set. */
async function dropByAge(
  { watch }: Driver,
  sql: Sql,
  { maxAgeMs, maxUsageAgeMs, state: before, now }: Ageing,
): Promise<Swept> {
  const counted = await sql.all(countsSql, now - maxAgeMs, now - maxUsageAgeMs);
  const counts = counted.map(({ rows, expired, newest }) => ({
    rows: Number(rows),
    expired: Number(expired),
    newest: Number(newest),
  }));
  const ages = { now, kinds: counts, maxAgeMs };
  const seen = Number(before["seen"]);
  const last = { seen, waited: before["waited"] } as AgeState;
  const { drops, waits, state } = watch.judge(ages, uptime() * 1000, seen === 0 ? undefined : last);
  let more = false;
  if (drops) {
    await sweepLeases(sql);
    await sql.all("DELETE FROM patchbay.batches WHERE at < $1", now - BATCHES_KEPT_MS);
    await sql.all("DELETE FROM patchbay.usage WHERE hour < $1", now - maxUsageAgeMs);
    const old = await sql.all(
      `SELECT seq FROM patchbay.entries WHERE at < $1 ORDER BY at LIMIT ${STEP}`,
      now - maxAgeMs,
    );
    await dropEntries(sql, old);
    more = old.length === STEP;
  }
  const waited = drops && !more ? null : state.waited;
  await sql.all("UPDATE patchbay.age_state SET seen = $1, waited = $2", state.seen, waited);
  return { more, waits };
}

/** Drops the oldest entries of some kinds above `maxBytes`. Returns the remaining bytes. */
async function dropHeavy(
  sql: Sql,
  some: readonly number[],
  maxBytes: number,
): Promise<{ readonly bytes: number; readonly more: boolean }> {
  const these = `kind IN (${some.join(", ")})`;
  const sums = async (from: string): Promise<Map<Tenant, number>> => {
    const rows = await sql.all(`SELECT tenant, sum(bytes) AS held FROM ${from} GROUP BY tenant`);
    return new Map(rows.map((row) => [String(row["tenant"]), Number(row["held"])]));
  };
  const held = await sums(`patchbay.entries WHERE ${these}`);
  const shared: ReadonlyMap<Tenant, number> = some.includes(kindNumbers.response)
    ? await sums("patchbay.shared_texts")
    : new Map();
  for (const [tenant, bytes] of shared) held.set(tenant, (held.get(tenant) ?? 0) + bytes);
  let more = false;
  let bytes = [...held.values()].reduce((sum, one) => sum + one, 0);
  for (const [tenant, share] of fairShares(held, maxBytes)) {
    const oldest = await sql.all(
      `SELECT seq, bytes FROM (
         SELECT seq, at, bytes, sum(bytes) OVER (ORDER BY at DESC, seq DESC) AS newer
         FROM patchbay.entries WHERE tenant = $1 AND ${these}
       ) AS weighed WHERE newer > $2 ORDER BY at, seq LIMIT ${STEP}`,
      tenant,
      Math.max(0, Math.floor(share - (shared.get(tenant) ?? 0))),
    );
    await dropEntries(sql, oldest);
    bytes -= oldest.reduce((sum, row) => sum + Number(row["bytes"]), 0);
    more ||= oldest.length === STEP;
  }
  return { bytes, more };
}

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
