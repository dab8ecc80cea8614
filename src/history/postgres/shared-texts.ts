/** What many turns have in common, in PostgreSQL: texts by tenant and digest. */

import type { Sql } from "postgres";
import { arrayText } from "./array-text.ts";

/**
 * A write sets the time of a text anew when it is older than this; a text is
 * dropped when its time is older than twice that and no turn has it. A write that
 * is under way meanwhile has not been for so long, so the text that it counts on
 * is either not dropped, or dropped before it is written again.
 */
export const SHARED_FRESH_SECONDS = 60;

const dropSql = `
DELETE FROM patchbay.shared_texts AS old
WHERE at < clock_timestamp() - interval '${2 * SHARED_FRESH_SECONDS} seconds' AND NOT EXISTS (
  SELECT FROM patchbay.turns WHERE turns.tenant = old.tenant AND turns.shared = old.digest
) AND NOT EXISTS (
  SELECT FROM patchbay.turns WHERE turns.tenant = old.tenant AND turns.plan_shared = old.digest
)`;

export async function dropSharedTexts(sql: Pick<Sql, "unsafe">): Promise<void> {
  await sql.unsafe(dropSql);
}

/**
 * Drops those of these texts that no turn has any more. A write locks the texts
 * that it refers to until it is committed, so once all are locked here, the second
 * statement sees the turns of every such write, and later writes insert a text anew.
 */
export async function dropUnshared(
  sql: Pick<Sql, "unsafe">,
  tenant: string,
  digests: readonly string[],
): Promise<void> {
  const these = "tenant = $1 AND digest = ANY ($2::text::text[])";
  const values = [tenant, arrayText(digests)];
  const lock = `SELECT FROM patchbay.shared_texts WHERE ${these} ORDER BY tenant, digest FOR UPDATE`;
  await sql.unsafe(lock, values, { prepare: true });
  const drop = `DELETE FROM patchbay.shared_texts AS old WHERE ${these} AND NOT EXISTS (
    SELECT FROM patchbay.turns WHERE turns.tenant = old.tenant AND turns.shared = old.digest
  ) AND NOT EXISTS (
    SELECT FROM patchbay.turns WHERE turns.tenant = old.tenant AND turns.plan_shared = old.digest
  )`;
  await sql.unsafe(drop, values, { prepare: true });
}

/** How many bytes of them each tenant holds. */
export async function sharedBytes(sql: Pick<Sql, "unsafe">): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.unsafe(
    "SELECT tenant, sum(bytes)::float8 AS held FROM patchbay.shared_texts GROUP BY tenant",
  );
  return new Map(rows.map((row) => [String(row["tenant"]), Number(row["held"])]));
}
