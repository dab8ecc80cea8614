import type { DatabaseSync } from "node:sqlite";
import {
  chainOf,
  responseIn,
  BEFORE_PLACE,
  FIRST_ITEM_PLACE,
  PLAN_PLACE,
  RESPONSE_PLACE,
} from "../chain-rows.ts";
import type { ChainRow } from "../chain-rows.ts";
import { rowIds } from "../item-groups.ts";
import { wholePlan } from "../record.ts";
import { itemsInOrder, type ItemRow } from "../item-rows.ts";
import type { ConversationOperations, LeaseOperations, Operations } from "../database.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import { itemsTextSql, NEWEST, PARTS } from "./segments.ts";

type Reading = Omit<
  Operations,
  | "write"
  | "spend"
  | "sweep"
  | "deleteResponse"
  | keyof ConversationOperations
  | keyof LeaseOperations
>;

/** One response: its turn and its items. */
const one = `
SELECT 1 AS depth, ${RESPONSE_PLACE} AS place, answer_id AS id, previous, inputs, origin, json, item_bytes AS bytes, shared
FROM turns JOIN parts ON part = seq * ${PARTS} + ${RESPONSE_PLACE}
WHERE seq = (${NEWEST} ?2)
UNION ALL
SELECT 1, part - seq * ${PARTS}, id, NULL, NULL, NULL, json, NULL, NULL
FROM turns JOIN parts ON part BETWEEN seq * ${PARTS} + ${FIRST_ITEM_PLACE} AND seq * ${PARTS} + ${PARTS - 1}
WHERE seq = (${NEWEST} ?2)`;

/**
 * The items of all that a response continues, in as many rows as there are
 * segments and turns without one. A response continues one that was written
 * before it. Were the id of that one given to a later answer, the chain would go
 * on in another conversation or go round, so what is not older ends it.
 */
const before = `
WITH RECURSIVE chain (seq, floor, previous, segment, bytes, depth, total) AS (
  SELECT seq, seq, previous, NULL, item_bytes, 1, item_bytes FROM turns WHERE seq = (${NEWEST} ?2)
  UNION ALL
  SELECT turns.seq, coalesce(segments.first, turns.seq),
    CASE WHEN segments.id IS NULL THEN turns.previous ELSE segments.previous END, segments.id,
    coalesce(segment_end, item_bytes), depth + 1, total + coalesce(segment_end, item_bytes)
  FROM chain JOIN turns ON turns.seq = (${NEWEST} chain.previous)
    LEFT JOIN segments ON segments.id = turns.segment
  WHERE total <= ?3 AND turns.seq < chain.floor
), size (total) AS MATERIALIZED (SELECT max(total) FROM chain)
SELECT depth, ${BEFORE_PLACE} AS place, '' AS id, previous, NULL AS inputs, NULL AS origin, bytes,
  CASE
    WHEN (SELECT total FROM size) > ?3 THEN NULL
    WHEN segment IS NULL THEN coalesce(${itemsTextSql("seq")}, '')
    ELSE (SELECT CAST(substr(items, 1, bytes) AS TEXT) FROM segments WHERE id = segment)
  END AS json
FROM chain WHERE depth > 1 ORDER BY depth`;

/** Reads, each in one query, with statements that are prepared once. */
export function sqliteReading(database: DatabaseSync): Reading {
  const items = database.prepare(`
    WITH found AS MATERIALIZED (
      SELECT value AS id, (
        SELECT max(part) FROM parts WHERE tenant = ?1 AND parts.id = value
      ) AS last FROM json_each(?2)
    ), known AS MATERIALIZED (
      SELECT found.id, last, parts.bytes, origin FROM found JOIN parts ON part = last
      JOIN turns ON seq = last / ${PARTS}
    )
    SELECT known.id, origin, CASE WHEN (SELECT sum(bytes) FROM known) <= ?3 THEN json END AS json
    FROM known JOIN parts ON part = last`);
  const plan = database.prepare(`
    SELECT json, text FROM turns JOIN parts ON part = seq * ${PARTS} + ${PLAN_PLACE}
    LEFT JOIN shared_texts ON shared_texts.tenant = turns.tenant AND digest = plan_shared
    WHERE turns.tenant = ? AND answer_id = ? AND (plan_shared IS NULL OR text IS NOT NULL)
    ORDER BY seq DESC LIMIT 1`);
  const seals = database.prepare(
    "SELECT seal, upstream FROM json_each(?2) JOIN seals ON tenant = ?1 AND seal = value",
  );
  const whole = database.prepare(one);
  const chained = database.prepare(before);
  const shared = database.prepare("SELECT text FROM shared_texts WHERE tenant = ? AND digest = ?");
  const usage = database.prepare(
    "SELECT * FROM usage WHERE tenant = ? AND hour >= ? AND hour < ? ORDER BY hour, model",
  );

  return {
    findItems({ tenant, ids, maxBytes }) {
      const asked = [...new Set(ids)];
      const found = items.all(tenant, JSON.stringify(rowIds(asked)), maxBytes);
      if (found.some(({ json }) => json === null)) return { type: "too-large" };
      return { type: "found", items: itemsInOrder(asked, found as ItemRow[]) };
    },
    findPlan({ tenant, id }) {
      const found = plan.get(tenant, id);
      return found && wholePlan(String(found["json"]), found["text"] as string | null);
    },
    findSealOwners({ tenant, seals: asked }) {
      const found = seals.all(tenant, JSON.stringify(asked));
      return new Map(found.map((row) => [String(row["seal"]), String(row["upstream"])]));
    },
    findResponse({ tenant, id }) {
      const rows = whole.all(tenant, id) as (ChainRow & {
        readonly shared: string | null;
      })[];
      const digest = rows.find(({ place }) => place === RESPONSE_PLACE)?.shared ?? null;
      const found = digest === null ? undefined : shared.get(tenant, digest);
      return responseIn(rows, found && String(found["text"]));
    },
    loadChain({ tenant, id, maxBytes }) {
      const own = whole.all(tenant, id) as ChainRow[];
      const isContinued = own.some(({ previous }) => previous !== null);
      const earlier = isContinued ? chained.all(tenant, id, maxBytes) : [];
      return chainOf(id, [...own, ...(earlier as ChainRow[])], maxBytes);
    },
    sumUsage: ({ tenant, start, end }) => usage.all(tenant, start, end).map(usageRow),
  };
}

const usageRow = (row: Readonly<Record<string, unknown>>): UsageRow => ({
  hour: Number(row["hour"]),
  model: String(row["model"]),
  sum: Object.fromEntries(
    usageCounts.map((name) => [name, Number(row[usageColumn(name)])]),
  ) as UsageSum,
});
