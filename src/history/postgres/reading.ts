/** Reads of a PostgreSQL store. */

import type { Sql } from "postgres";
import { FIRST_ITEM_PLACE, PLAN_PLACE, RESPONSE_PLACE } from "../chain-rows.ts";
import type {
  BeforePlace,
  ChainItemPlace,
  ChainItemQuery,
  ChainQuery,
  IdQuery,
  ItemPlace,
  ItemsQuery,
  ListedRow,
  PlanPlace,
  ResponsePlace,
  Row as StoredRow,
  SealsQuery,
  SegmentQuery,
  SizesQuery,
  Span,
  UsageQuery,
} from "../database.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import { arrayText } from "./array-text.ts";
import { newest } from "./segments.ts";

type Row = Readonly<Record<string, unknown>>;

/** Asks a query of the store, in one round trip. */
const ask = async (sql: Sql, text: string, values: readonly (string | number)[]): Promise<Row[]> =>
  await sql.unsafe<Row[]>(text, values.map(String), { prepare: true });

/** A response by itself. */
const own = `own AS MATERIALIZED (${newest("$2")})`;
/** Before rows were counted, at most one row of a turn was several items: how many of them had no row of their own. */
const joined = `
SELECT coalesce(sum((octet_length(one.json) - octet_length(replace(one.json, ',' || chr(10), ''))) / 2), 0)
FROM patchbay.parts AS one WHERE one.turn = seq AND one.place >= ${FIRST_ITEM_PLACE} AND one.id LIKE '~%'`;
const one = `
WITH ${own}, found AS MATERIALIZED (
  SELECT own.*, octet_length(json) AS head_bytes, coalesce(input_rows, inputs - (${joined})) AS input_count
  FROM own JOIN patchbay.parts ON turn = seq AND place = ${RESPONSE_PLACE}
)
SELECT seq::float8 AS turn, answer_id AS id, previous, origin,
  input_count::float8 AS "inputRows", item_bytes::float8 AS "itemBytes", head_bytes::float8 AS "headBytes", shared,
  (
    SELECT coalesce(sum(bytes), 0)::float8 FROM patchbay.parts
    WHERE turn = seq AND place >= ${FIRST_ITEM_PLACE} + input_count
  ) AS "answerBytes",
  coalesce((
    SELECT bytes FROM patchbay.shared_texts WHERE shared_texts.tenant = $1 AND digest = found.shared
  ), 0)::float8 AS "sharedBytes"
FROM found`;

/**
 * All that a response continues, in as many rows as there are segments and turns
 * without one. What is not older than the response that continues it was given
 * the id later, and ends the chain.
 */
const before = `
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
)
SELECT seq::float8 AS turn, segment::float8, bytes::float8, previous FROM chain WHERE depth > 1
ORDER BY depth`;

export async function findResponse(
  sql: Sql,
  { tenant, id }: IdQuery,
): Promise<ResponsePlace | undefined> {
  const [row] = await ask(sql, one, [tenant, id]);
  return row as ResponsePlace | undefined;
}

export async function findBefore(
  sql: Sql,
  { tenant, id, maxBytes }: ChainQuery,
): Promise<readonly BeforePlace[]> {
  const rows = await ask(sql, before, [tenant, id, Math.floor(maxBytes)]);
  return rows as BeforePlace[];
}

const chainItemSql = (order: "ASC" | "DESC"): string => `
SELECT parts.id, seq::float8 AS turn, place, turns.segment::float8 AS segment
FROM patchbay.parts JOIN patchbay.turns ON seq = turn
WHERE parts.tenant = $1 AND parts.id = ANY ($2::text::text[]) AND EXISTS (
  SELECT FROM unnest($3::text::bigint[], $4::text::bigint[]) AS one (turn, segment)
  WHERE CASE
    WHEN one.segment IS NULL THEN one.turn = seq
    ELSE one.segment = turns.segment AND seq <= one.turn
  END
) ORDER BY parts.turn ${order}, place ${order} LIMIT 4`;
const chainItem = { asc: chainItemSql("ASC"), desc: chainItemSql("DESC") };

export async function findChainItem(
  sql: Sql,
  { tenant, ids, chain, order }: ChainItemQuery,
): Promise<readonly ChainItemPlace[]> {
  const turns = arrayText(chain.map(([turn]) => turn));
  const segments = arrayText(chain.map(([, segment]) => segment));
  const rows = await ask(sql, chainItem[order], [tenant, arrayText(ids), turns, segments]);
  return rows as ChainItemPlace[];
}

const itemsSql = `
SELECT asked.id, last.turn::float8, last.place, last.bytes::float8
FROM unnest($2::text::text[]) AS asked (id) CROSS JOIN LATERAL (
  SELECT * FROM patchbay.parts WHERE tenant = $1 AND parts.id = asked.id
  ORDER BY turn DESC, place DESC LIMIT 1
) AS last`;

export async function findItems(
  sql: Sql,
  { tenant, ids }: ItemsQuery,
): Promise<readonly ItemPlace[]> {
  return (await ask(sql, itemsSql, [tenant, arrayText(ids)])) as ItemPlace[];
}

const turnLists = `unnest($1::text::integer[], $2::text::bigint[], $3::text::integer[], $4::text::integer[])
  AS given (n, turn, first, last)
JOIN patchbay.parts ON parts.turn = given.turn AND place BETWEEN first AND last`;
const itemList = `patchbay.conversation_items WHERE tenant = $1 AND conversation = $2
  AND seq BETWEEN $3::text::bigint AND $4::text::bigint`;

type TurnSpan = Extract<Span, { readonly of: "turn" }>;
type ItemsSpan = Extract<Span, { readonly of: "items" }>;

const turnValues = (spans: readonly (TurnSpan & { readonly n: number })[]): string[] =>
  (["n", "turn", "from", "to"] as const).map((key) => arrayText(spans.map((span) => span[key])));
const itemValues = ({ tenant, id, from, to }: ItemsSpan): (string | number)[] => [
  tenant,
  id,
  from,
  to,
];

export async function segmentTurns(
  sql: Sql,
  { segment, turn }: SegmentQuery,
): Promise<readonly number[]> {
  const text = `SELECT seq::float8 FROM patchbay.turns
    WHERE segment = $1::text::bigint AND seq <= $2::text::bigint ORDER BY seq`;
  return (await ask(sql, text, [segment, turn])).map((row) => Number(row["seq"]));
}

/** Those of a conversation are one list. */
export async function sizes(
  sql: Sql,
  { lists, order, limit }: SizesQuery,
): Promise<readonly ListedRow[]> {
  const direction = order === "asc" ? "ASC" : "DESC";
  const [first] = lists;
  if (first?.of === "items") {
    const text = `SELECT 0 AS list, id, seq::float8 AS place, bytes::float8 FROM ${itemList}
      ORDER BY seq ${direction} LIMIT ${limit}`;
    return (await ask(sql, text, itemValues(first))) as ListedRow[];
  }
  const turns = lists.flatMap((span, n) => (span.of === "turn" ? [{ ...span, n }] : []));
  const text = `SELECT n AS list, parts.id, place, bytes::float8 FROM ${turnLists}
    ORDER BY n, place ${direction} LIMIT ${limit}`;
  return (await ask(sql, text, turnValues(turns))) as ListedRow[];
}

/** All parts of turns are read by one query, for the turns of a chain are many. */
const partsSql = `SELECT given.n, coalesce(id, '') AS id, json FROM ${turnLists} ORDER BY n, place`;
const segmentsSql = `
SELECT given.n, '' AS id, convert_from(substring(items FROM 1 FOR given.bytes), 'UTF8') AS json
FROM unnest($1::text::integer[], $2::text::bigint[], $3::text::integer[]) AS given (n, id, bytes)
JOIN patchbay.segments ON segments.id = given.id`;
const conversationsSql = `
SELECT given.n, '' AS id, json FROM unnest($2::text::integer[], $3::text::text[]) AS given (n, id)
JOIN patchbay.conversations ON tenant = $1 AND conversations.id = given.id`;

export async function read(
  sql: Sql,
  spans: readonly Span[],
): Promise<readonly (readonly StoredRow[])[]> {
  const found = spans.map((): StoredRow[] => []);
  const ofKind = <Kind extends Span["of"]>(of: Kind) =>
    [...spans.entries()].flatMap(([n, span]) =>
      span.of === of ? [{ ...(span as Extract<Span, { readonly of: Kind }>), n }] : [],
    );
  const add = (rows: readonly Row[]): void => {
    for (const { n, id, json } of rows)
      found[Number(n)]?.push({ id: String(id), json: String(json) });
  };
  const [turns, segments] = [ofKind("turn"), ofKind("segment")];
  const [shared, items, heads] = [ofKind("shared"), ofKind("items"), ofKind("conversation")];
  const column = <One>(all: readonly One[], pick: (one: One) => string | number): string =>
    arrayText(all.map(pick));
  if (turns.length > 0) add(await ask(sql, partsSql, turnValues(turns)));
  if (segments.length > 0) {
    const columns = (["n", "segment", "bytes"] as const).map((key) =>
      column(segments, (one) => one[key]),
    );
    add(await ask(sql, segmentsSql, columns));
  }
  const [head] = heads;
  if (head !== undefined)
    add(
      await ask(sql, conversationsSql, [
        head.tenant,
        column(heads, ({ n }) => n),
        column(heads, ({ id }) => id),
      ]),
    );
  for (const { n, tenant, digest } of shared) {
    const text = `SELECT ${n} AS n, '' AS id, text AS json FROM patchbay.shared_texts
      WHERE tenant = $1 AND digest = $2`;
    add(await ask(sql, text, [tenant, digest]));
  }
  for (const list of items) {
    const text = `SELECT ${list.n} AS n, id, json FROM ${itemList} ORDER BY seq`;
    add(await ask(sql, text, itemValues(list)));
  }
  return found;
}

const planSql = `
SELECT seq::float8 AS turn, octet_length(json)::float8 AS bytes, plan_shared AS shared,
  coalesce(shared_texts.bytes, 0)::float8 AS "sharedBytes"
FROM patchbay.turns JOIN patchbay.parts ON turn = seq AND place = ${PLAN_PLACE}
LEFT JOIN patchbay.shared_texts ON shared_texts.tenant = turns.tenant AND digest = plan_shared
WHERE turns.tenant = $1 AND answer_id = $2
  AND (plan_shared IS NULL OR text IS NOT NULL) ORDER BY seq DESC LIMIT 1`;

export async function findPlan(sql: Sql, { tenant, id }: IdQuery): Promise<PlanPlace | undefined> {
  const [row] = await ask(sql, planSql, [tenant, id]);
  return row as PlanPlace | undefined;
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
