import { uptime } from "node:os";
import type { Sql } from "postgres";
import { PLAN_PLACE } from "../chain-rows.ts";
import type { AgeWatch } from "../age-watch.ts";
import type { IdQuery, SweepBounds, Swept } from "../database.ts";
import { addSums, fairShares } from "../fair-share.ts";
import { countAges, keepAgeState } from "./ages.ts";
import {
  dropConversation,
  dropExpiredConversations,
  dropHeavyConversations,
} from "./conversations.ts";
import { arrayText } from "./array-text.ts";
import { dropLease, lockLease, sweepLeases } from "./leases.ts";
import { dropSegments } from "./segments.ts";
import { dropSharedTexts, dropUnshared, sharedBytes } from "./shared-texts.ts";

/** How many turns are dropped in one statement. */
const STEP = 500;

const dropTurns = (turns: string): string => `
WITH dropped AS (DELETE FROM patchbay.turns WHERE seq IN (${turns}) RETURNING seq),
  parts AS (DELETE FROM patchbay.parts USING dropped WHERE turn = seq),
  seals AS (DELETE FROM patchbay.seals USING dropped WHERE turn = seq)
SELECT seq FROM dropped`;

const byAnswer = `SELECT seq FROM patchbay.turns WHERE tenant = $1 AND answer_id = $2
  AND EXISTS (
    SELECT FROM patchbay.turns WHERE tenant = $1 AND answer_id = $2 AND stored
  )`;

/** Turns that are deleted with a conversation or a completion. */
const keptFor = `SELECT seq FROM patchbay.turns WHERE tenant = $1 AND kept_for = $2
  UNION SELECT seq FROM patchbay.turns WHERE tenant = $1 AND answer_id = $2 AND NOT stored`;

/** Deletes turns with their texts, except texts that other turns share. */
async function dropAll(sql: Pick<Sql, "unsafe">, turns: string, key: IdQuery): Promise<boolean> {
  const values = [key.tenant, key.id];
  const sharing = `SELECT shared AS digest FROM patchbay.turns WHERE seq IN (${turns}) AND shared IS NOT NULL
    UNION SELECT plan_shared FROM patchbay.turns WHERE seq IN (${turns}) AND plan_shared IS NOT NULL`;
  const digests = await sql.unsafe(sharing, values, { prepare: true });
  await sql.unsafe(dropSegments(turns), values, { prepare: true });
  const dropped = await sql.unsafe(dropTurns(turns), values, { prepare: true });
  const texts = digests.map((row) => String(row["digest"]));
  if (texts.length > 0) await dropUnshared(sql, key.tenant, texts);
  return dropped.length > 0;
}

export async function deleteResponse(sql: Sql, key: IdQuery): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    await lockLease(transaction, key);
    const isKnown = await dropAll(transaction, byAnswer, key);
    if (isKnown) await dropLease(transaction, key);
    return isKnown;
  });
}

export async function deleteConversation(sql: Sql, key: IdQuery): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    await lockLease(transaction, key);
    if (!(await dropConversation(transaction, key))) return false;
    await dropAll(transaction, keptFor, key);
    await dropLease(transaction, key);
    return true;
  });
}

const expired = `SELECT seq FROM patchbay.turns WHERE at < $1::text::bigint ORDER BY seq LIMIT ${STEP}`;

/** How long it is remembered that a batch was written: longer than anybody tries again. */
const BATCHES_KEPT = "1 hour";

/** Drops some of what is too old or too much, unless another replica is at it. */
export async function sweep(sql: Sql, bounds: SweepBounds, watch: AgeWatch): Promise<Swept> {
  return await sql.begin(async (transaction) => {
    const [lock] = await transaction`SELECT pg_try_advisory_xact_lock(5791402270117945722) AS held`;
    if (lock?.["held"] !== true) return { more: false, waits: false };
    const { more: isOld, waits } = await dropByAge(transaction, bounds, watch);
    // Conversations may take up to half of what answers else have.
    const { bytes, more } = await dropHeavyConversations(transaction, bounds.maxBytes / 2);
    const answers = await dropHeavy(transaction, "bytes", bounds.maxBytes - bytes);
    const plans = await dropHeavy(transaction, "plan_bytes", bounds.maxPlanBytes);
    await dropSharedTexts(transaction);
    return { more: isOld || more || answers || plans, waits };
  });
}

/** Drops expired rows, unless the clock may have been set. */
async function dropByAge(
  sql: Pick<Sql, "unsafe">,
  { maxAgeMs, maxUsageAgeMs }: SweepBounds,
  watch: AgeWatch,
): Promise<Swept> {
  const found = await countAges(sql, maxAgeMs, maxUsageAgeMs);
  const { drops, waits, state } = watch.judge(found.ages, uptime() * 1000, found.state);
  let more = false;
  if (drops) {
    const { now } = found.ages;
    const since = [String(now - maxAgeMs)];
    await sql.unsafe("DELETE FROM patchbay.usage WHERE hour < $1::text::bigint", [
      String(now - maxUsageAgeMs),
    ]);
    await sql.unsafe(`DELETE FROM patchbay.batches WHERE at < now() - interval '${BATCHES_KEPT}'`);
    await sweepLeases(sql);
    await sql.unsafe(dropSegments(expired), since);
    const old = await sql.unsafe(dropTurns(expired), since);
    more = (await dropExpiredConversations(sql, now - maxAgeMs)) || old.length === STEP;
  }
  await keepAgeState(sql, drops && !more ? { ...state, waited: null } : state);
  return { more, waits };
}

type Column = "bytes" | "plan_bytes";
const noBytes: ReadonlyMap<string, number> = new Map();

async function dropHeavy(
  sql: Pick<Sql, "unsafe">,
  column: Column,
  maxBytes: number,
): Promise<boolean> {
  const sums = await sql.unsafe(
    `SELECT tenant, sum(${column})::float8 AS held FROM patchbay.turns GROUP BY tenant`,
  );
  const own = new Map(sums.map((row) => [String(row["tenant"]), Number(row["held"])]));
  const shared = column === "bytes" ? await sharedBytes(sql) : noBytes;
  const held = addSums(own, shared);
  let more = false;
  for (const [tenant, share] of fairShares(held, maxBytes)) {
    const left = String(share - (shared.get(tenant) ?? 0));
    const turns = await sql.unsafe(oldest(column), [tenant, left]);
    await dropHalf(sql, column, arrayText(turns.map((row) => String(row["seq"]))));
    more ||= turns.length === STEP;
  }
  return more;
}

/** The oldest turns of a tenant beyond its share. */
const oldest = (column: Column): string => `
SELECT seq FROM (
  SELECT seq, ${column} AS own, sum(${column}) OVER (ORDER BY seq DESC) AS newer
  FROM patchbay.turns WHERE tenant = $1
) AS weighed WHERE newer > $2::text::float8 AND own > 0 ORDER BY seq LIMIT ${STEP}`;

/** Drops the answers of turns or their plans, and turns of which nothing is left. */
async function dropHalf(sql: Pick<Sql, "unsafe">, column: Column, turns: string): Promise<void> {
  const these = "ANY ($1::text::bigint[])";
  const isPlan = column === "plan_bytes";
  const place = `place ${isPlan ? "=" : "<>"} ${PLAN_PLACE}`;
  await sql.unsafe(`DELETE FROM patchbay.parts WHERE turn = ${these} AND ${place}`, [turns]);
  if (!isPlan) {
    await sql.unsafe(dropSegments("SELECT unnest($1::text::bigint[])"), [turns]);
    await sql.unsafe(`DELETE FROM patchbay.seals WHERE turn = ${these}`, [turns]);
  }
  const emptied = isPlan
    ? "plan_bytes = 0, plan_shared = NULL"
    : "bytes = 0, item_bytes = 0, stored = false, shared = NULL";
  await sql.unsafe(`UPDATE patchbay.turns SET ${emptied} WHERE seq = ${these}`, [turns]);
  await sql.unsafe(
    `DELETE FROM patchbay.turns WHERE seq = ${these} AND bytes = 0 AND plan_bytes = 0`,
    [turns],
  );
}
