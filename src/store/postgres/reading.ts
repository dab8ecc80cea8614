/** Reads of a PostgreSQL store, each in one query. */

import type { Sql } from "postgres";
import {
  BEFORE_PLACE,
  chainOf,
  FIRST_ITEM_PLACE,
  PLAN_PLACE,
  RESPONSE_PLACE,
  responseIn,
  type ChainRow,
} from "../chain-rows.ts";
import type { ChainQuery, IdQuery, ItemsQuery, SealsQuery, UsageQuery } from "../database.ts";
import type { FoundChain, FoundItems, StoredResponse } from "../store.ts";
import { rowIds } from "../item-groups.ts";
import { wholePlan } from "../record.ts";
import { itemsInOrder, type ItemRow } from "../item-rows.ts";
import type { Fields } from "../../turn/turn.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import { arrayText } from "./array-text.ts";
import { itemsTextSql, newest } from "./segments.ts";

type Row = Readonly<Record<string, unknown>>;

/** Asks a query of the store; each of those below is one round trip. */
const ask = async (sql: Sql, text: string, values: readonly (string | number)[]): Promise<Row[]> =>
  await sql.unsafe<Row[]>(text, values.map(String), { prepare: true });

/** The response itself: its turn and its items. */
const own = `own AS MATERIALIZED (${newest("$2")})`;
const ownRows = `
SELECT 1 AS depth, ${RESPONSE_PLACE} AS place, answer_id AS id, previous, inputs, origin, json,
  item_bytes::float8 AS bytes
FROM own JOIN patchbay.parts ON turn = seq AND place = ${RESPONSE_PLACE}
UNION ALL
SELECT 1, place, parts.id, NULL, NULL, NULL, json, NULL
FROM own JOIN patchbay.parts ON turn = seq AND place >= ${FIRST_ITEM_PLACE}`;
const one = `WITH ${own} SELECT own_rows.*, (
  SELECT text FROM patchbay.shared_texts JOIN own ON shared_texts.tenant = $1 AND digest = own.shared
  WHERE place = ${RESPONSE_PLACE}
) AS shared FROM (${ownRows}) AS own_rows`;

/**
 * The same and the items of all that it continues, in as many rows as there are
 * segments and turns without one. What is not older than the response that
 * continues it was given the id later, and ends the chain.
 */
const chain = `
WITH RECURSIVE ${own}, chain AS (
  SELECT seq, seq AS floor, previous, NULL::bigint AS segment, item_bytes AS bytes, 1 AS depth,
    item_bytes AS total FROM own
  UNION ALL
  SELECT next.seq, coalesce(segments.first, next.seq),
    CASE WHEN segments.id IS NULL THEN next.previous ELSE segments.previous END, segments.id,
    coalesce(next.segment_end, next.item_bytes), depth + 1,
    total + coalesce(next.segment_end, next.item_bytes)
  FROM chain CROSS JOIN LATERAL (${newest("chain.previous")}) AS next
    LEFT JOIN patchbay.segments ON segments.id = next.segment
  WHERE total <= $3::text::bigint AND next.seq < chain.floor
), size AS MATERIALIZED (SELECT max(total) AS total FROM chain), before AS (
  SELECT depth, ${BEFORE_PLACE} AS place, '' AS id, previous, NULL::integer AS inputs,
    NULL AS origin,
    CASE
      WHEN (SELECT total FROM size) > $3::text::bigint THEN NULL
      WHEN segment IS NULL THEN coalesce(${itemsTextSql("seq")}, '')
      ELSE (
        SELECT convert_from(substring(items FROM 1 FOR bytes::integer), 'UTF8')
        FROM patchbay.segments WHERE id = segment
      )
    END AS json, NULL::float8 AS bytes
  FROM chain WHERE depth > 1
)
SELECT * FROM (${ownRows}) AS own_rows UNION ALL SELECT * FROM before`;

type SharingRow = ChainRow & { readonly shared: string | null };

export async function findResponse(
  sql: Sql,
  { tenant, id }: IdQuery,
): Promise<StoredResponse | undefined> {
  const rows = (await ask(sql, one, [tenant, id])) as SharingRow[];
  return responseIn(rows, rows.find(({ place }) => place === RESPONSE_PLACE)?.shared);
}

export async function loadChain(
  sql: Sql,
  { tenant, id, maxBytes }: ChainQuery,
): Promise<FoundChain> {
  const found = await ask(sql, chain, [tenant, id, Math.floor(maxBytes)]);
  return chainOf(id, (found as ChainRow[]).toSorted(byDepth), maxBytes);
}

const byDepth = (a: ChainRow, b: ChainRow): number => a.depth - b.depth;

const itemsSql = `
WITH found AS MATERIALIZED (
  SELECT asked.id, last.turn, last.place, last.bytes, origin
  FROM unnest($2::text::text[]) AS asked (id) CROSS JOIN LATERAL (
    SELECT * FROM patchbay.parts WHERE tenant = $1 AND parts.id = asked.id
    ORDER BY turn DESC, place DESC LIMIT 1
  ) AS last JOIN patchbay.turns ON seq = last.turn
)
SELECT found.id, origin, CASE WHEN (SELECT sum(bytes) FROM found) <= $3::text::bigint THEN json END AS json
FROM found JOIN patchbay.parts USING (turn, place)`;

export async function findItems(
  sql: Sql,
  { tenant, ids, maxBytes }: ItemsQuery,
): Promise<FoundItems> {
  const asked = [...new Set(ids)];
  const keys = arrayText(rowIds(asked));
  const found = await ask(sql, itemsSql, [tenant, keys, Math.floor(maxBytes)]);
  if (found.some(({ json }) => json === null)) return { type: "too-large" };
  return { type: "found", items: itemsInOrder(asked, found as ItemRow[]) };
}

const planSql = `
SELECT json, text FROM patchbay.turns JOIN patchbay.parts ON turn = seq AND place = ${PLAN_PLACE}
LEFT JOIN patchbay.shared_texts ON shared_texts.tenant = turns.tenant AND digest = plan_shared
WHERE turns.tenant = $1 AND answer_id = $2
  AND (plan_shared IS NULL OR text IS NOT NULL) ORDER BY seq DESC LIMIT 1`;

export async function findPlan(sql: Sql, { tenant, id }: IdQuery): Promise<Fields | undefined> {
  const [row] = await ask(sql, planSql, [tenant, id]);
  return row && wholePlan(String(row["json"]), row["text"] as string | null);
}

export async function findSealOwners(
  sql: Sql,
  { tenant, seals }: SealsQuery,
): Promise<ReadonlyMap<string, string>> {
  const text =
    "SELECT seal, upstream FROM patchbay.seals WHERE tenant = $1 AND seal = ANY ($2::text::text[])";
  const found = await ask(sql, text, [tenant, arrayText(seals)]);
  return new Map(found.map((row) => [String(row["seal"]), String(row["upstream"])]));
}

export async function sumUsage(
  sql: Sql,
  { tenant, start, end }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const text = `SELECT * FROM patchbay.usage WHERE tenant = $1
    AND hour >= $2::text::float8 AND hour < $3::text::float8 ORDER BY hour, model`;
  return (await ask(sql, text, [tenant, start, end])).map((row) => ({
    hour: Number(row["hour"]),
    model: String(row["model"]),
    sum: Object.fromEntries(
      usageCounts.map((name) => [name, Number(row[usageColumn(name)])]),
    ) as UsageSum,
  }));
}
