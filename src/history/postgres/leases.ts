/** Leases by the clock of the database, so that all replicas see the same end. */

import type { Sql } from "postgres";
import type { IdQuery, LeaseQuery } from "../database.ts";
import type { Tenant } from "../../turn/tenant.ts";
import { superseded, type Lease, type Renewal } from "../leases.ts";
import type { TurnRecord } from "../record.ts";
import { NOW } from "./ages.ts";
import { arrayText } from "./array-text.ts";

type Asking = Pick<Sql, "unsafe">;
type Row = Readonly<Record<string, unknown>>;

const ask = async (sql: Asking, text: string, values: readonly string[]): Promise<Row[]> =>
  await sql.unsafe<Row[]>(text, [...values], { prepare: true });

const key = "tenant = $1 AND id = $2";
const isCurrent = `since <= ${NOW} AND until > ${NOW}`;

export async function takeLease(sql: Sql, { tenant, id, owner, ms }: LeaseQuery): Promise<boolean> {
  const text = `INSERT INTO patchbay.leases AS held (tenant, id, owner, since, until, asked)
    VALUES ($1, $2, $3, ${NOW}, ${NOW} + $4::text::bigint, false)
    ON CONFLICT (tenant, id) DO UPDATE SET
      owner = excluded.owner, since = excluded.since, until = excluded.until, asked = false
    WHERE held.owner = excluded.owner OR NOT (held.since <= ${NOW} AND held.until > ${NOW})
    RETURNING 1`;
  return (await ask(sql, text, [tenant, id, owner, String(Math.round(ms))])).length > 0;
}

export async function renewLease(
  sql: Sql,
  { tenant, id, owner, ms }: LeaseQuery,
): Promise<Renewal> {
  const text = `UPDATE patchbay.leases SET since = ${NOW}, until = ${NOW} + $4::text::bigint
    WHERE ${key} AND owner = $3 RETURNING asked`;
  const [row] = await ask(sql, text, [tenant, id, owner, String(Math.round(ms))]);
  if (row === undefined) return "lost";
  return row["asked"] === true ? "asked" : "held";
}

export async function isLeaseHeld(sql: Sql, { tenant, id }: IdQuery): Promise<boolean> {
  const text = `SELECT 1 FROM patchbay.leases WHERE ${key} AND ${isCurrent}`;
  return (await ask(sql, text, [tenant, id])).length > 0;
}

export async function askToStop(sql: Sql, { tenant, id }: IdQuery): Promise<void> {
  await ask(sql, `UPDATE patchbay.leases SET asked = true WHERE ${key}`, [tenant, id]);
}

export async function releaseLease(
  sql: Sql,
  { tenant, id, owner }: IdQuery & { readonly owner: string },
): Promise<void> {
  const text = `DELETE FROM patchbay.leases WHERE ${key} AND owner = $3`;
  await ask(sql, text, [tenant, id, owner]);
}

/** A sweep drops leases this long after their end: until then a suspended owner may renew them. */
const KEPT = "86400000";

export async function sweepLeases(sql: Asking): Promise<void> {
  await sql.unsafe(`DELETE FROM patchbay.leases WHERE until < ${NOW} - ${KEPT}`);
}

/** Waits until writes under a lease are committed: later statements of the transaction see their rows. */
export async function lockLease(sql: Asking, { tenant, id }: IdQuery): Promise<void> {
  await ask(sql, `SELECT FROM patchbay.leases WHERE ${key} FOR UPDATE`, [tenant, id]);
}

export async function dropLease(sql: Asking, { tenant, id }: IdQuery): Promise<void> {
  await ask(sql, `DELETE FROM patchbay.leases WHERE ${key}`, [tenant, id]);
}

/**
 * Throws a Fault if the owner of a turn's lease has lost it. The result says the
 * same of the leases of conversations. The rows of the leases stay locked until
 * the transaction ends: no process can take or delete a lease before the writes
 * under it are visible.
 */
export async function checkLeases(
  sql: Asking,
  turns: readonly TurnRecord[],
): Promise<(tenant: Tenant, lease: Lease) => boolean> {
  const named = turns.flatMap(({ tenant, lease, conversation }) =>
    [lease, conversation].flatMap((one) => (one === null ? [] : [{ tenant, id: one.id }])),
  );
  const text = `SELECT tenant, id, owner FROM patchbay.leases
    WHERE (tenant, id) IN (SELECT * FROM unnest($1::text::text[], $2::text::text[]))
    ORDER BY tenant, id FOR SHARE`;
  const columns = [named.map(({ tenant }) => tenant), named.map(({ id }) => id)];
  const rows = await ask(sql, text, columns.map(arrayText));
  const keyOf = (parts: readonly unknown[]): string => JSON.stringify(parts);
  const held = new Set(rows.map((row) => keyOf([row["tenant"], row["id"], row["owner"]])));
  const isHeld = (tenant: Tenant, { id, owner }: Lease): boolean =>
    held.has(keyOf([tenant, id, owner]));
  for (const { tenant, lease } of turns)
    if (lease !== null && !isHeld(tenant, lease)) throw superseded();
  return isHeld;
}
