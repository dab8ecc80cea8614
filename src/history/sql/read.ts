/** Finds entries and parts with their sizes, and reads them. */

import type { Tenant } from "../../turn/tenant.ts";
import type { Key, ListQuery, PageQuery } from "../log.ts";
import { FIRST_ITEM, FIRST_NOTE, HEAD, kindNumbers, LAST_ITEM } from "../records.ts";
import { GROUP_MARK, MOST_ITEMS } from "../item-groups.ts";
import { KIND_LENGTH } from "./schema.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import type { Sql } from "./sql.ts";

/** An entry with the sizes of its parts in bytes. */
export type FoundEntry = {
  readonly seq: number;
  readonly id: string;
  readonly parent: string | null;
  readonly origin: string | null;
  readonly inputRows: number;
  readonly itemBytes: number;
  /** Bytes of the items of the answer alone. */
  readonly answerBytes: number;
  readonly headBytes: number;
  /** Digest and size of the text that it shares with other entries. */
  readonly shared: string | null;
  readonly sharedBytes: number;
};

const placeSql = `
SELECT seq, id, parent, origin, input_rows AS "inputRows", item_bytes AS "itemBytes", shared,
  coalesce((
    SELECT bytes FROM patchbay.parts WHERE entry = seq AND place = ${HEAD}
  ), 0) AS "headBytes",
  coalesce((
    SELECT sum(bytes) FROM patchbay.parts WHERE entry = seq AND place > input_rows AND place BETWEEN ${FIRST_ITEM} AND ${LAST_ITEM}
  ), 0) AS "answerBytes",
  coalesce((
    SELECT texts.bytes FROM patchbay.shared_texts AS texts WHERE texts.tenant = $1 AND digest = shared
  ), 0) AS "sharedBytes"
FROM patchbay.entries WHERE tenant = $1 AND kind = $2 AND id = $3 ORDER BY seq DESC LIMIT 1`;

/** The newest entry with an id. */
export async function place(sql: Sql, { tenant, kind, id }: Key): Promise<FoundEntry | undefined> {
  const [row] = await sql.all<FoundEntry>(placeSql, tenant, kindNumbers[kind], id);
  return row;
}

/** An entry of a chain. */
type ChainLink = {
  readonly seq: number;
  /** The id of the response that it continues. */
  readonly parent: string | null;
  readonly bytes: number;
};

/**
 * All responses that a response continues. A parent must be older than its child: a newer
 * response with its id belongs to another conversation or would form a cycle, so it ends the chain.
 */
const chainSql = `
WITH RECURSIVE chain (seq, parent, bytes, depth, total) AS (
  SELECT seq, parent, item_bytes, 1, item_bytes FROM patchbay.entries WHERE seq = $2
  UNION ALL
  SELECT next.seq, next.parent, next.item_bytes, depth + 1, total + next.item_bytes
  FROM chain JOIN patchbay.entries AS next ON next.seq = (
    SELECT max(named.seq) FROM patchbay.entries AS named
    WHERE named.tenant = $1 AND named.id = chain.parent AND named.kind = ${kindNumbers.response}
  )
  WHERE total <= $3 AND next.seq < chain.seq
)
SELECT seq, parent, bytes FROM chain ORDER BY depth`;

type Chain = {
  readonly own: FoundEntry;
  /** The entry and all that it continues, the newest first. It ends early if it has more than `maxBytes`. */
  readonly chain: readonly ChainLink[];
};

/** An entry with all that it continues. */
export async function placeChain(
  sql: Sql,
  query: Key & { readonly maxBytes: number },
): Promise<Chain | undefined> {
  const own = await place(sql, query);
  if (own === undefined) return undefined;
  const alone: ChainLink = { seq: own.seq, parent: own.parent, bytes: own.itemBytes };
  if (own.parent === null) return { own, chain: [alone] };
  const chain = await sql.all<ChainLink>(
    chainSql,
    query.tenant,
    own.seq,
    Math.floor(query.maxBytes),
  );
  return { own, chain };
}

/** A part, which may hold several items. `json` is null if only its size was read. */
export type FoundPart = {
  readonly entry: number;
  readonly place: number;
  readonly id: string;
  readonly bytes: number;
  readonly json: string | null;
};

/** Position of a part among those of several entries. */
export type Edge = readonly [entry: number, place: number];

export type SliceQuery = {
  readonly entries: readonly number[];
  /** The first and the last place that is read of each entry. */
  readonly places: readonly [first: number, last: number];
  readonly from?: Edge | undefined;
  readonly to?: Edge | undefined;
  readonly order: PageQuery["order"];
  /** The number of items that are wanted. */
  readonly limit: number;
  /** False: texts are read as empty. */
  readonly texts: boolean;
};

/** Bytes of the texts of one slice, unless a single part is longer. */
const SLICE_BYTES = 1024 * 1024;
/** The most parts of one slice. */
export const SLICE_PARTS = 1000;

const sliceSql = (order: string, json: string): string => `
SELECT entry, place, id, bytes, CASE
    WHEN CAST($8 AS bigint) > 0 AND (n = 1 OR (upto <= ${SLICE_BYTES} AND items <= CAST($8 AS bigint)))
    THEN ${json}
  END AS json
FROM (
  SELECT entry, place, id, bytes, row_number() OVER before AS n, sum(bytes) OVER before AS upto,
    sum(CASE WHEN substr(id, 1, 1) = '${GROUP_MARK}' THEN ${MOST_ITEMS} ELSE 1 END) OVER before AS items
  FROM (
    SELECT entry, place, id, bytes FROM patchbay.parts
    WHERE entry = ANY ($1::bigint[]) AND place BETWEEN $2 AND $3
      AND (entry, place) >= ($4, $5) AND (entry, place) <= ($6, $7)
    ORDER BY entry ${order}, place ${order} LIMIT $9
  ) AS found WINDOW before AS (ORDER BY entry ${order}, place ${order})
) AS near ORDER BY entry ${order}, place ${order}`;
const jsonSql =
  "(SELECT json FROM patchbay.parts AS one WHERE one.entry = near.entry AND one.place = near.place)";
const slicesIn = {
  asc: { texts: sliceSql("ASC", jsonSql), sizes: sliceSql("ASC", "''") },
  desc: { texts: sliceSql("DESC", jsonSql), sizes: sliceSql("DESC", "''") },
};
const START: Edge = [0, 0];
const END: Edge = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/** The next parts of entries: those that fit in the slice with their texts, then others without. */
export async function slice(sql: Sql, query: SliceQuery): Promise<readonly FoundPart[]> {
  const { entries, places, from = START, to = END, order } = query;
  const limit = Math.min(query.limit, Number.MAX_SAFE_INTEGER);
  const edges = [...places, ...from, ...to];
  const text = slicesIn[order][query.texts ? "texts" : "sizes"];
  return sql.all<FoundPart>(text, entries, ...edges, limit, Math.min(limit + 1, SLICE_PARTS));
}

export type FindQuery = {
  readonly tenant: Tenant;
  readonly ids: readonly string[];
  readonly of: "items" | "notes";
  /** False: only their sizes are read. */
  readonly texts: boolean;
};

/** The newest part with each id. */
export async function findParts(
  sql: Sql,
  { tenant, ids, of, texts }: FindQuery,
): Promise<readonly FoundPart[]> {
  const isOf = `place ${of === "items" ? "<" : ">="} ${FIRST_NOTE}`;
  const text = `
SELECT entry, place, id, bytes, ${texts ? "json" : "NULL AS json"} FROM patchbay.parts AS one
WHERE tenant = $1 AND id = ANY ($2::text[]) AND ${isOf} AND NOT EXISTS (
  SELECT 1 FROM patchbay.parts AS newer WHERE newer.tenant = $1 AND newer.id = one.id AND newer.${isOf}
    AND (newer.entry, newer.place) > (one.entry, one.place)
)`;
  return sql.all<FoundPart>(text, tenant, ids);
}

type WithinQuery = {
  readonly entries: readonly number[];
  readonly ids: readonly string[];
};

/** Finds the parts of entries that have these ids. */
export async function findWithin(
  sql: Sql,
  { entries, ids }: WithinQuery,
): Promise<readonly FoundPart[]> {
  const text = `SELECT entry, place, id, bytes, NULL AS json FROM patchbay.parts
    WHERE entry = ANY ($1::bigint[]) AND id = ANY ($2::text[]) AND place <= ${LAST_ITEM}
    ORDER BY entry, place`;
  return sql.all<FoundPart>(text, entries, ids);
}

/** A text that entries share. */
export async function readShared(
  sql: Sql,
  { tenant, digest }: { readonly tenant: Tenant; readonly digest: string },
): Promise<string | undefined> {
  const text = "SELECT text FROM patchbay.shared_texts WHERE tenant = $1 AND digest = $2";
  const [row] = await sql.all(text, tenant, digest);
  return row === undefined ? undefined : String(row["text"]);
}

const listsSql = (bound: string, order: string): string => `
SELECT seq AS entry, ${HEAD} AS place, entries.id, parts.bytes, NULL AS json
FROM patchbay.entries AS entries JOIN patchbay.parts AS parts ON parts.entry = seq AND parts.place = ${HEAD}
WHERE entries.tenant = $1 AND kind = ${kindNumbers.list}
  AND substr(entries.id, 1, ${KIND_LENGTH}) = substr($2, 1, ${KIND_LENGTH})
  AND substr(entries.id, 1, length($2)) = $2 AND seq ${bound} $3
ORDER BY seq ${order} LIMIT $4`;
const listsIn = { asc: listsSql(">", "ASC"), desc: listsSql("<", "DESC") };

/** The heads of lists whose ids begin with `prefix`, at most one more than `limit`; undefined if no list has the id `after`. */
export async function findLists(
  sql: Sql,
  { tenant, prefix, order, after, limit }: ListQuery & { readonly tenant: Tenant },
): Promise<readonly FoundPart[] | undefined> {
  let start = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
  if (after !== undefined) {
    const last = await place(sql, { tenant, kind: "list", id: after });
    if (last === undefined) return undefined;
    start = last.seq;
  }
  return sql.all<FoundPart>(listsIn[order], tenant, prefix, start, limit + 1);
}

type UsageQuery = { readonly tenant: Tenant; readonly start: number; readonly end: number };

export async function sumUsage(
  sql: Sql,
  { tenant, start, end }: UsageQuery,
): Promise<readonly UsageRow[]> {
  const text = `SELECT * FROM patchbay.usage
    WHERE tenant = $1 AND hour >= $2 AND hour < $3 ORDER BY hour, model`;
  const [first, last] = [start, end].map((at) =>
    Math.ceil(Math.min(Math.max(at, 0), Number.MAX_SAFE_INTEGER)),
  );
  return (await sql.all(text, tenant, first ?? 0, last ?? 0)).map((row) => ({
    hour: Number(row["hour"]),
    model: String(row["model"]),
    sum: Object.fromEntries(
      usageCounts.map((name) => [name, Number(row[usageColumn(name)])]),
    ) as UsageSum,
  }));
}
