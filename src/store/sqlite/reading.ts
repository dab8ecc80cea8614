import type { DatabaseSync } from "node:sqlite";
import {
  chainOf,
  responseIn,
  FIRST_ITEM_PLACE,
  PLAN_PLACE,
  RESPONSE_PLACE,
} from "../chain-rows.ts";
import type { ChainRow } from "../chain-rows.ts";
import { itemsInOrder, type ItemRow } from "../item-rows.ts";
import type { ConversationOperations, Operations } from "../database.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import { PARTS } from "./writing.ts";

type Reading = Omit<
  Operations,
  "write" | "sweep" | "deleteResponse" | keyof ConversationOperations
>;

const newest = "SELECT max(seq) FROM turns WHERE tenant = ?1 AND stored = 1 AND answer_id =";

/**
 * A response continues one that was written before it. Were the id of that one
 * given to a later answer, the chain would go on in another conversation or go
 * round, so what is not older ends it.
 */
const chain = `
WITH RECURSIVE chain (seq, previous, depth, total) AS (
  SELECT seq, previous, 1, item_bytes FROM turns WHERE seq = (${newest} ?2) AND at >= ?3
  UNION ALL
  SELECT turns.seq, turns.previous, depth + 1, total + item_bytes
  FROM chain JOIN turns ON turns.seq = (${newest} chain.previous)
  WHERE chain.previous IS NOT NULL AND total <= ?4 AND turns.seq < chain.seq AND at >= ?3
)`;
const one = `
WITH chain (seq, depth, total) AS (
  SELECT seq, 1, 0 FROM turns WHERE seq = (${newest} ?2) AND at >= ?3 AND ?4 >= 0
)`;
const rows = `, size (total) AS MATERIALIZED (SELECT max(total) FROM chain)
SELECT depth, ${RESPONSE_PLACE} AS place, answer_id AS id, at, turns.previous AS previous, inputs, origin,
  CASE WHEN (SELECT total FROM size) <= ?4 THEN json END AS json
FROM chain JOIN turns USING (seq) JOIN parts ON part = seq * ${PARTS} + ${RESPONSE_PLACE}
UNION ALL
SELECT depth, part - seq * ${PARTS}, id, NULL, NULL, NULL, NULL, json
FROM chain JOIN parts ON part BETWEEN seq * ${PARTS} + ${FIRST_ITEM_PLACE} AND seq * ${PARTS} + ${PARTS - 1}
WHERE (SELECT total FROM size) <= ?4`;

/** Reads, each in one query, with statements that are prepared once. */
export function sqliteReading(database: DatabaseSync): Reading {
  const items = database.prepare(`
    WITH found AS MATERIALIZED (
      SELECT value AS id, (
        SELECT max(part) FROM parts WHERE tenant = ?1 AND parts.id = value
      ) AS last FROM json_each(?2)
    ), fresh AS MATERIALIZED (
      SELECT found.id, last, parts.bytes, origin FROM found JOIN parts ON part = last
      JOIN turns ON seq = last / ${PARTS} WHERE at >= ?3
    )
    SELECT fresh.id, origin, CASE WHEN (SELECT sum(bytes) FROM fresh) <= ?4 THEN json END AS json
    FROM fresh JOIN parts ON part = last`);
  const plan = database.prepare(`
    SELECT json FROM turns JOIN parts ON part = seq * ${PARTS} + ${PLAN_PLACE}
    WHERE turns.tenant = ? AND answer_id = ? AND at >= ? ORDER BY seq DESC LIMIT 1`);
  const seals = database.prepare(
    "SELECT seal, upstream FROM json_each(?2) JOIN seals ON tenant = ?1 AND seal = value",
  );
  const whole = database.prepare(one + rows);
  const chained = database.prepare(chain + rows);
  const usage = database.prepare(
    "SELECT * FROM usage WHERE tenant = ? AND hour >= ? AND hour < ? ORDER BY hour, model",
  );

  return {
    findItems({ tenant, ids, since, maxBytes }) {
      const asked = [...new Set(ids)];
      const found = items.all(tenant, JSON.stringify(asked), since, maxBytes);
      if (found.some(({ json }) => json === null)) return { type: "too-large" };
      return { type: "found", items: itemsInOrder(asked, found as ItemRow[]) };
    },
    findPlan({ tenant, id, since }) {
      const found = plan.get(tenant, id, since);
      return found === undefined ? undefined : JSON.parse(String(found["json"]));
    },
    findSealOwners({ tenant, seals: asked }) {
      const found = seals.all(tenant, JSON.stringify(asked));
      return new Map(found.map((row) => [String(row["seal"]), String(row["upstream"])]));
    },
    findResponse: ({ tenant, id, since }) =>
      responseIn(whole.all(tenant, id, since, 0) as ChainRow[]),
    loadChain: ({ tenant, id, since, maxBytes }) =>
      chainOf(id, chained.all(tenant, id, since, maxBytes) as ChainRow[]),
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
