import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { FIRST_ITEM_PLACE, PLAN_PLACE, RESPONSE_PLACE } from "../chain-rows.ts";
import type {
  BeforePlace,
  ChainItemPlace,
  ConversationOperations,
  ItemPlace,
  LeaseOperations,
  ListedRow,
  ListSpan,
  Operations,
  PlanPlace,
  ResponsePlace,
  Row,
  Span,
} from "../database.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import { NEWEST, PARTS } from "./segments.ts";

type Reading = Omit<
  Operations,
  | "write"
  | "spend"
  | "sweep"
  | "deleteResponse"
  | keyof ConversationOperations
  | keyof LeaseOperations
>;

/** Before rows were counted, at most one row of a turn was several items: how many of them had no row of their own. */
const joined = `
SELECT coalesce(sum((length(one.json) - length(replace(one.json, ',' || char(10), ''))) / 2), 0) FROM parts AS one
WHERE one.part BETWEEN seq * ${PARTS} + ${FIRST_ITEM_PLACE} AND seq * ${PARTS} + ${PARTS - 1}
  AND substr(one.id, 1, 1) = '~'`;

/** Where a response is. */
const one = `
WITH found AS MATERIALIZED (
  SELECT turns.*, octet_length(json) AS head_bytes, coalesce(input_rows, inputs - (${joined})) AS input_count
  FROM turns JOIN parts ON part = seq * ${PARTS} + ${RESPONSE_PLACE}
  WHERE seq = (${NEWEST} ?2)
)
SELECT seq AS turn, answer_id AS id, previous, origin, input_count AS inputRows,
  item_bytes AS itemBytes, head_bytes AS headBytes, shared,
  (
    SELECT coalesce(sum(bytes), 0) FROM parts WHERE part BETWEEN
      seq * ${PARTS} + ${FIRST_ITEM_PLACE} + input_count AND seq * ${PARTS} + ${PARTS - 1}
  ) AS answerBytes,
  coalesce((
    SELECT bytes FROM shared_texts WHERE shared_texts.tenant = ?1 AND digest = shared
  ), 0) AS sharedBytes
FROM found`;

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
)
SELECT seq AS turn, segment, bytes, previous FROM chain WHERE depth > 1 ORDER BY depth`;

const chainItem = (order: "ASC" | "DESC"): string => `
SELECT id, seq AS turn, part - seq * ${PARTS} AS place, segment FROM parts JOIN turns ON seq = part / ${PARTS}
WHERE parts.tenant = ?1 AND id IN (SELECT value FROM json_each(?2)) AND EXISTS (
  SELECT 1 FROM json_each(?3) WHERE CASE
    WHEN value ->> 1 IS NULL THEN seq = value ->> 0
    ELSE segment = value ->> 1 AND seq <= value ->> 0
  END
) ORDER BY part ${order} LIMIT 4`;

/** Reads, with statements that are prepared once. */
export function sqliteReading(database: DatabaseSync): Reading {
  const items = database.prepare(`
    WITH found AS MATERIALIZED (
      SELECT value AS id, (
        SELECT max(part) FROM parts WHERE tenant = ?1 AND parts.id = value
      ) AS last FROM json_each(?2)
    )
    SELECT found.id, last / ${PARTS} AS turn, last % ${PARTS} AS place, parts.bytes
    FROM found JOIN parts ON part = last`);
  const plan = database.prepare(`
    SELECT seq AS turn, octet_length(json) AS bytes, plan_shared AS shared,
      coalesce(shared_texts.bytes, 0) AS sharedBytes
    FROM turns JOIN parts ON part = seq * ${PARTS} + ${PLAN_PLACE}
    LEFT JOIN shared_texts ON shared_texts.tenant = turns.tenant AND digest = plan_shared
    WHERE turns.tenant = ? AND answer_id = ? AND (plan_shared IS NULL OR text IS NOT NULL)
    ORDER BY seq DESC LIMIT 1`);
  const seals = database.prepare(
    "SELECT seal, upstream FROM json_each(?2) JOIN seals ON tenant = ?1 AND seal = value",
  );
  const whole = database.prepare(one);
  const chained = database.prepare(before);
  const inChain = {
    asc: database.prepare(chainItem("ASC")),
    desc: database.prepare(chainItem("DESC")),
  };
  const usage = database.prepare(
    "SELECT * FROM usage WHERE tenant = ? AND hour >= ? AND hour < ? ORDER BY hour, model",
  );

  return {
    findItems: ({ tenant, ids }) => items.all(tenant, JSON.stringify(ids)) as ItemPlace[],
    findPlan: ({ tenant, id }) => plan.get(tenant, id) as PlanPlace | undefined,
    findSealOwners({ tenant, seals: asked }) {
      const found = seals.all(tenant, JSON.stringify(asked));
      return new Map(found.map((row) => [String(row["seal"]), String(row["upstream"])]));
    },
    findResponse: ({ tenant, id }) => whole.get(tenant, id) as ResponsePlace | undefined,
    findBefore: ({ tenant, id, maxBytes }) => chained.all(tenant, id, maxBytes) as BeforePlace[],
    findChainItem: ({ tenant, ids, chain, order }) =>
      inChain[order].all(tenant, JSON.stringify(ids), JSON.stringify(chain)) as ChainItemPlace[],
    ...sqliteTexts(database),
    sumUsage: ({ tenant, start, end }) => usage.all(tenant, start, end).map(usageRow),
  };
}

/** Reads texts that were found before. */
function sqliteTexts(database: DatabaseSync): Pick<Operations, "segmentTurns" | "sizes" | "read"> {
  const ofTurn = "part BETWEEN ?1 AND ?2";
  const ofItems = `seq BETWEEN ?1 AND ?2
    AND conversation = (SELECT seq FROM conversations WHERE tenant = ?3 AND id = ?4)`;
  const both = (sql: (order: "ASC" | "DESC") => string) => ({
    asc: database.prepare(sql("ASC")),
    desc: database.prepare(sql("DESC")),
  });
  const sizes = {
    turn: both(
      (order) =>
        `SELECT id, part % ${PARTS} AS place, bytes FROM parts WHERE ${ofTurn} ORDER BY part ${order} LIMIT ?3`,
    ),
    items: both(
      (order) =>
        `SELECT id, seq AS place, bytes FROM conversation_items WHERE ${ofItems} ORDER BY seq ${order} LIMIT ?5`,
    ),
  };
  const segmentTurns = database.prepare(
    "SELECT seq FROM turns WHERE segment = ? AND seq <= ? ORDER BY seq",
  );
  const rows = {
    turn: database.prepare(
      `SELECT coalesce(id, '') AS id, json FROM parts WHERE ${ofTurn} ORDER BY part`,
    ),
    items: database.prepare(
      `SELECT id, json FROM conversation_items WHERE ${ofItems} ORDER BY seq`,
    ),
    segment: database.prepare(
      "SELECT '' AS id, CAST(substr(items, 1, ?2) AS TEXT) AS json FROM segments WHERE id = ?1",
    ),
    shared: database.prepare(
      "SELECT '' AS id, text AS json FROM shared_texts WHERE tenant = ?1 AND digest = ?2",
    ),
    conversation: database.prepare(
      "SELECT '' AS id, json FROM conversations WHERE tenant = ?1 AND id = ?2",
    ),
  };
  return {
    segmentTurns: ({ segment, turn }) =>
      segmentTurns.all(segment, turn).map(({ seq }) => Number(seq)),
    sizes({ lists, order, limit }) {
      const found: ListedRow[] = [];
      for (const [list, span] of lists.entries()) {
        if (found.length === limit) break;
        const rows = sizes[span.of][order].all(...listValues(span), limit - found.length);
        for (const row of rows) found.push({ ...(row as Omit<ListedRow, "list">), list });
      }
      return found;
    },
    read: (spans) => spans.map((span) => rows[span.of].all(...valuesOf(span)) as Row[]),
  };
}

const listValues = (list: ListSpan): SQLInputValue[] =>
  list.of === "turn"
    ? [list.turn * PARTS + list.from, list.turn * PARTS + list.to]
    : [list.from, list.to, list.tenant, list.id];

function valuesOf(span: Span): SQLInputValue[] {
  switch (span.of) {
    case "turn":
    case "items":
      return listValues(span);
    case "segment":
      return [span.segment, span.bytes];
    case "shared":
      return [span.tenant, span.digest];
    case "conversation":
      return [span.tenant, span.id];
    default:
      return span satisfies never;
  }
}

const usageRow = (row: Readonly<Record<string, unknown>>): UsageRow => ({
  hour: Number(row["hour"]),
  model: String(row["model"]),
  sum: Object.fromEntries(
    usageCounts.map((name) => [name, Number(row[usageColumn(name)])]),
  ) as UsageSum,
});
