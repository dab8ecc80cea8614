/** Writes batches of turns, and changes lists. */

import type { Tenant } from "../../turn/tenant.ts";
import { superseded, type Lease } from "../leases.ts";
import type { Key, StoredItem } from "../log.ts";
import {
  FIRST_ITEM,
  HEAD,
  kindNumbers,
  LAST_ITEM,
  partsFrom,
  sumOf,
  weightOf,
  type WriteBatch,
  type EntryRecord,
  type PartRecord,
  type SharedRecord,
  type TurnRows,
} from "../records.ts";
import { batchUsage, MODELS_KEPT, OTHER, usageColumn, usageCounts } from "../usage-sums.ts";
import type { Cell, Driver, Insert, Sql } from "./sql.ts";

const entries: Insert = { table: "entries", tail: "RETURNING seq" };
const partsInto: Insert = { table: "parts" };

/**
 * A write renews the time of a text that is older than this. A sweep drops an unused text when
 * its time is older than twice that. A write is shorter, so a sweep drops no text that a running
 * write refers to.
 */
export const SHARED_FRESH_MS = 60_000;
const sharedInto: Insert = {
  table: "shared_texts",
  tail: `ON CONFLICT (tenant, digest) DO UPDATE SET at = excluded.at
    WHERE old.at < excluded.at - ${SHARED_FRESH_MS}`,
};

/**
 * Time of a new row: the current time, or that of the newest row if the clock was set back.
 * Otherwise new rows would expire too early once the clock is corrected.
 */
async function rowTime(sql: Sql): Promise<number> {
  const [row] = await sql.all(
    "SELECT patchbay.now_ms() AS now, (SELECT max(at) FROM patchbay.entries) AS newest",
  );
  return Math.max(Number(row?.["now"]), Number(row?.["newest"]));
}

/** Writes a batch in one transaction. Throws a Fault if the owner of a lease has lost it. */
export async function write(database: Driver, { id, turns }: WriteBatch): Promise<void> {
  await database.transaction(async (sql) => {
    const fresh = await sql.all(
      "INSERT INTO patchbay.batches (id, at) VALUES ($1, patchbay.now_ms()) ON CONFLICT (id) DO NOTHING RETURNING 1 AS one",
      id,
    );
    if (fresh.length === 0) return;
    const at = await rowTime(sql);
    const isHeld = await checkLeases(sql, turns);
    const deleted = new Set<string>();
    for (const { tenant, conversation } of turns) {
      if (conversation === null) continue;
      const key = listOf(tenant, conversation.id);
      const isKept = await extended(sql, { ...key, at, items: conversation.items });
      if (isKept && !isHeld(tenant, conversation)) throw superseded();
      if (!isKept) deleted.add(`${tenant}\n${conversation.id}`);
    }
    const isKept = ({ tenant, keptFor }: EntryRecord): boolean =>
      keptFor === null || !deleted.has(`${tenant}\n${keptFor}`);
    await insertEntries(sql, turns.flatMap((turn) => turn.entries).filter(isKept), at);
    await addUsage(sql, turns);
  });
}

async function insertEntries(sql: Sql, all: readonly EntryRecord[], at: number): Promise<void> {
  if (all.length === 0) return;
  const texts = new Map<string, SharedRecord & { readonly tenant: Tenant }>();
  const rows = all.map((entry): Cell[] => {
    const { tenant, kind, id, parent, keptFor, origin, shared } = entry;
    if (shared !== null) texts.set(`${tenant}\n${shared.digest}`, { ...shared, tenant });
    const sizes = [entry.inputRows, entry.itemBytes, entry.bytes];
    return [tenant, kind, at, id, parent, keptFor, origin, shared?.digest ?? null, ...sizes];
  });
  // In the order of their keys: two processes that lock rows in different orders would deadlock.
  const shared = [...texts.keys()].toSorted().flatMap((key) => texts.get(key) ?? []);
  await sql.insert(
    sharedInto,
    shared.map(({ tenant, digest, text }) => [tenant, digest, at, Buffer.byteLength(text), text]),
  );
  const inserted = await sql.insert(entries, rows);
  const seqs = inserted.map(({ seq }) => Number(seq)).toSorted((a, b) => a - b);
  await sql.insert(
    partsInto,
    all.flatMap(({ parts, tenant, kind }, n) =>
      partRows(seqs[n] ?? 0, parts, kind === kindNumbers.list ? null : tenant),
    ),
  );
}

const partRows = (entry: number, parts: readonly PartRecord[], tenant: Tenant | null): Cell[][] =>
  parts.map(({ place, id, bytes, json }) => [
    entry,
    place,
    id === null ? null : tenant,
    id,
    bytes,
    json,
  ]);

const counts = usageCounts.map(usageColumn);
const usageOf = "FROM patchbay.usage WHERE tenant = $1 AND hour = $2";
const addUsageSql = `
INSERT INTO patchbay.usage AS old (tenant, hour, model, ${counts.join(", ")})
VALUES ($1, $2, CASE
    WHEN EXISTS (SELECT 1 ${usageOf} AND model = $3) THEN $3
    WHEN (SELECT count(*) ${usageOf}) < ${MODELS_KEPT} THEN $3
    ELSE '${OTHER}'
  END, ${counts.map((_, at) => `$${at + 4}`).join(", ")})
ON CONFLICT (tenant, hour, model) DO UPDATE SET
  ${counts.map((name) => `${name} = old.${name} + excluded.${name}`).join(", ")}`;

async function addUsage(sql: Sql, turns: readonly TurnRows[]): Promise<void> {
  for (const { tenant, hour, model, sum } of batchUsage(turns))
    await sql.all(addUsageSql, tenant, hour, model, ...usageCounts.map((name) => sum[name]));
}

/**
 * Throws a Fault if the owner of a turn's lease has lost it. Returns a function that checks the
 * leases of conversations. The rows of the leases stay locked until the transaction ends, so no
 * process can take or delete a lease before the writes under it are visible.
 */
async function checkLeases(
  sql: Sql,
  turns: readonly TurnRows[],
): Promise<(tenant: Tenant, lease: Lease) => boolean> {
  const held = new Set<string>();
  const named = turns.flatMap(({ tenant, lease, conversation }) =>
    [lease, conversation].flatMap((one) => (one === null ? [] : { tenant, id: one.id })),
  );
  const keyOf = (...parts: readonly unknown[]): string => parts.join("\n");
  if (named.length > 0)
    for (const { tenant, id, owner } of await sql.all(
      `SELECT tenant, id, owner FROM patchbay.leases
       WHERE tenant = ANY ($1::text[]) AND id = ANY ($2::text[]) ORDER BY tenant, id FOR SHARE`,
      [...new Set(named.map(({ tenant }) => tenant))],
      named.map(({ id }) => id),
    ))
      held.add(keyOf(tenant, id, owner));
  const isHeld = (tenant: Tenant, { id, owner }: Lease): boolean =>
    held.has(keyOf(tenant, id, owner));
  for (const { tenant, lease } of turns)
    if (lease !== null && !isHeld(tenant, lease)) throw superseded();
  return isHeld;
}

type ListQuery = Omit<Key, "kind">;
const listOf = (tenant: Tenant, id: string): ListQuery => ({ tenant, id });
const aList = `tenant = $1 AND id = $2 AND kind = ${kindNumbers.list}`;

async function extended(
  sql: Sql,
  query: ListQuery & { readonly items: readonly StoredItem[]; readonly at: number },
): Promise<boolean> {
  const { tenant, id, items, at } = query;
  // This update locks the row, so that two writers cannot use the same place.
  const [row] = await sql.all(
    `UPDATE patchbay.entries SET at = greatest(at, $3) WHERE ${aList} RETURNING seq`,
    tenant,
    id,
    at,
  );
  if (row === undefined) return false;
  const seq = Number(row["seq"]);
  const [last] = await sql.all(
    `SELECT max(place) AS place FROM patchbay.parts WHERE entry = $1 AND place <= ${LAST_ITEM}`,
    seq,
  );
  const parts = partsFrom(Math.max(HEAD, Number(last?.["place"])) + FIRST_ITEM, items);
  await sql.insert(partsInto, partRows(seq, parts, null));
  await sql.all(
    "UPDATE patchbay.entries SET item_bytes = item_bytes + $2, bytes = bytes + $3 WHERE seq = $1",
    seq,
    sumOf(parts),
    weightOf(parts),
  );
  return true;
}

/** Adds items to the end of a list; false if there is no such list. */
export const extend = (
  database: Driver,
  query: ListQuery & { readonly items: readonly StoredItem[] },
): Promise<boolean> =>
  database.transaction(async (sql) => extended(sql, { ...query, at: await rowTime(sql) }));

/** Replaces the head of a list; false if there is no such list. */
export async function setHead(
  sql: Sql,
  { tenant, id, json }: ListQuery & { readonly json: string },
): Promise<boolean> {
  const changed = await sql.all(
    `UPDATE patchbay.parts SET json = $3, bytes = $4
     WHERE place = ${HEAD} AND entry IN (SELECT seq FROM patchbay.entries WHERE ${aList}) RETURNING 1 AS one`,
    tenant,
    id,
    json,
    Buffer.byteLength(json),
  );
  return changed.length > 0;
}

/** Deletes the items of a list with an id; false if there is no such item. */
export const dropItem = (
  database: Driver,
  { tenant, id, item }: ListQuery & { readonly item: string },
): Promise<boolean> =>
  database.transaction(async (sql) => {
    const [row] = await sql.all(
      `SELECT seq FROM patchbay.entries WHERE ${aList} FOR UPDATE`,
      tenant,
      id,
    );
    if (row === undefined) return false;
    const seq = Number(row["seq"]);
    const dropped = await sql.all(
      `DELETE FROM patchbay.parts WHERE entry = $1 AND id = $2 RETURNING bytes`,
      seq,
      item,
    );
    const bytes = dropped.reduce((sum, one) => sum + Number(one["bytes"]), 0);
    await sql.all(
      "UPDATE patchbay.entries SET item_bytes = item_bytes - $2, bytes = bytes - $3 WHERE seq = $1",
      seq,
      bytes,
      bytes,
    );
    return dropped.length > 0;
  });
