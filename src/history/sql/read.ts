/** Finds entries and parts with their sizes, and reads them. */

import type { Tenant } from "../../turn/tenant.ts";
import { KIND_LENGTH, type Key, type ListQuery } from "../log.ts";
import { FIRST_ITEM, FIRST_NOTE, HEAD, kinds, LAST_ITEM } from "../records.ts";
import { usageColumn, usageCounts, type UsageRow, type UsageSum } from "../usage-sums.ts";
import type { Sql } from "./sql.ts";

/** Where an entry is. */
export type Place = {
  readonly seq: number;
  readonly id: string;
  readonly parent: string | null;
  readonly origin: string | null;
  readonly inputRows: number;
  /** Bytes of all items, of those of the answer, of the head and of the text that it shares. */
  readonly itemBytes: number;
  readonly answerBytes: number;
  readonly headBytes: number;
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
export async function place(sql: Sql, { tenant, kind, id }: Key): Promise<Place | undefined> {
  const [row] = await sql.all<Place>(placeSql, tenant, kinds[kind], id);
  return row;
}

/** An entry of a chain. */
export type Link = {
  readonly seq: number;
  /** The id of the response that it continues. */
  readonly parent: string | null;
  readonly bytes: number;
};

/**
 * All that a response continues. What is not older than the response that
 * continues it was given the id later, and ends the chain: it is of another
 * conversation, or the chain would go round.
 */
const chainSql = `
WITH RECURSIVE chain (seq, parent, bytes, depth, total) AS (
  SELECT seq, parent, item_bytes, 1, item_bytes FROM patchbay.entries WHERE seq = $2
  UNION ALL
  SELECT next.seq, next.parent, next.item_bytes, depth + 1, total + next.item_bytes
  FROM chain JOIN patchbay.entries AS next ON next.seq = (
    SELECT max(named.seq) FROM patchbay.entries AS named
    WHERE named.tenant = $1 AND named.id = chain.parent AND named.kind = ${kinds.response}
  )
  WHERE total <= $3 AND next.seq < chain.seq
)
SELECT seq, parent, bytes FROM chain ORDER BY depth`;

export type FoundPlaces = {
  readonly own: Place;
  /** The entry and all that it continues, the newest first; none is left out unless they have more bytes than may be. */
  readonly chain: readonly Link[];
};

/** An entry with all that it continues. */
export async function placeChain(
  sql: Sql,
  query: Key & { readonly maxBytes: number },
): Promise<FoundPlaces | undefined> {
  const own = await place(sql, query);
  if (own === undefined) return undefined;
  const alone: Link = { seq: own.seq, parent: own.parent, bytes: own.itemBytes };
  if (own.parent === null) return { own, chain: [alone] };
  const chain = await sql.all<Link>(chainSql, query.tenant, own.seq, Math.floor(query.maxBytes));
  return { own, chain };
}

/** A part, which may hold several items. */
export type PartSize = {
  readonly entry: number;
  readonly place: number;
  readonly id: string;
  readonly bytes: number;
};

/** The newest parts with these ids. */
export async function findParts(
  sql: Sql,
  { tenant, ids, of }: FindQuery,
): Promise<readonly PartSize[]> {
  const text = `
SELECT entry, place, id, bytes FROM (
  SELECT entry, place, id, bytes, row_number() OVER (PARTITION BY id ORDER BY entry DESC, place DESC) AS n
  FROM patchbay.parts WHERE tenant = $1 AND id = ANY ($2::text[])
    AND place ${of === "items" ? "<" : ">="} ${FIRST_NOTE}
) AS found WHERE n = 1`;
  return sql.all<PartSize>(text, tenant, ids);
}

export type FindQuery = {
  readonly tenant: Tenant;
  readonly ids: readonly string[];
  readonly of: "items" | "notes";
};

type Edge = readonly [entry: number, place: number];

/** The sizes of the first items of entries, in either direction, between two places. */
export type SizesQuery = {
  readonly entries: readonly number[];
  readonly from: Edge;
  readonly to: Edge;
  readonly order: "asc" | "desc";
  readonly limit: number;
};

const sizesSql = (order: string): string => `
SELECT entry, place, id, bytes FROM patchbay.parts
WHERE entry = ANY ($1::bigint[]) AND place BETWEEN ${FIRST_ITEM} AND ${LAST_ITEM}
  AND (entry, place) >= ($2, $3) AND (entry, place) <= ($4, $5)
ORDER BY entry ${order}, place ${order} LIMIT $6`;
const sizesIn = { asc: sizesSql("ASC"), desc: sizesSql("DESC") };

export async function sizes(
  sql: Sql,
  { entries, from, to, order, limit }: SizesQuery,
): Promise<readonly PartSize[]> {
  const edges = [...from, ...to].map(Math.floor);
  return sql.all<PartSize>(sizesIn[order], entries, ...edges, limit);
}

export type WithinQuery = {
  readonly entries: readonly number[];
  readonly ids: readonly string[];
};

/** Where items with these ids are in entries: one of several items in a part need not have the id. */
export async function within(
  sql: Sql,
  { entries, ids }: WithinQuery,
): Promise<readonly PartSize[]> {
  const text = `SELECT entry, place, id, bytes FROM patchbay.parts
    WHERE entry = ANY ($1::bigint[]) AND id = ANY ($2::text[]) AND place <= ${LAST_ITEM}
    ORDER BY entry, place`;
  return sql.all<PartSize>(text, entries, ids);
}

/** Parts of entries, between two places. */
export type Span = {
  readonly entries: readonly number[];
  readonly from: number;
  readonly to: number;
};
export type PartText = { readonly entry: number; readonly id: string; readonly json: string };

const readSql = `SELECT entry, id, json FROM patchbay.parts
WHERE entry = ANY ($1::bigint[]) AND place BETWEEN $2 AND $3 ORDER BY entry, place`;

/** The parts of each span, in their order. */
export const read = async (
  sql: Sql,
  spans: readonly Span[],
): Promise<readonly (readonly PartText[])[]> =>
  Promise.all(
    spans.map(async ({ entries, from, to }) => sql.all<PartText>(readSql, entries, from, to)),
  );

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
SELECT seq AS entry, ${HEAD} AS place, entries.id, parts.bytes
FROM patchbay.entries AS entries JOIN patchbay.parts AS parts ON parts.entry = seq AND parts.place = ${HEAD}
WHERE entries.tenant = $1 AND kind = ${kinds.list}
  AND substr(entries.id, 1, ${KIND_LENGTH}) = substr($2, 1, ${KIND_LENGTH})
  AND substr(entries.id, 1, length($2)) = $2 AND seq ${bound} $3
ORDER BY seq ${order} LIMIT $4`;
const listsIn = { asc: listsSql(">", "ASC"), desc: listsSql("<", "DESC") };

/** The heads of lists whose ids begin alike, and one more than may be given; undefined if there is none with the id `after`. */
export async function findLists(
  sql: Sql,
  { tenant, prefix, order, after, limit }: ListQuery & { readonly tenant: Tenant },
): Promise<readonly PartSize[] | undefined> {
  let start = order === "asc" ? 0 : Number.MAX_SAFE_INTEGER;
  if (after !== undefined) {
    const last = await place(sql, { tenant, kind: "list", id: after });
    if (last === undefined) return undefined;
    start = last.seq;
  }
  return sql.all<PartSize>(listsIn[order], tenant, prefix, start, limit + 1);
}

export type UsageQuery = { readonly tenant: Tenant; readonly start: number; readonly end: number };

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
