/** Finds entries and parts with their sizes, and reads them. */

import type { Tenant } from "../../turn/tenant.ts";
import type { ItemsQuery, Key, ListQuery, PageQuery } from "../log.ts";
import { FIRST_ITEM, FIRST_NOTE, HEAD, kindNumbers, LAST_ITEM } from "../records.ts";
import { isGroup, MOST_ITEMS } from "../item-groups.ts";
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

/** A part, which may hold several items. `json` is empty if only its size was read. */
export type FoundPart = {
  readonly entry: number;
  readonly place: number;
  /** Empty for a head. */
  readonly id: string;
  readonly bytes: number;
  readonly json: string;
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
  /** False: only sizes are read. */
  readonly texts: boolean;
};

/** Some parts in their order. */
export type Slice = {
  readonly parts: readonly FoundPart[];
  /** The place of the last of them, also if it was deleted meanwhile; undefined without parts. */
  readonly end?: Edge;
  /** There may be parts after them. */
  readonly isMore: boolean;
};

/** Bytes of the texts of one slice, unless a single part is longer. */
const SLICE_BYTES = 1024 * 1024;
/** The most parts of one slice. */
const SLICE_PARTS = 1000;

const START: Edge = [0, 0];
const END: Edge = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/** The next parts of entries that fit in a slice: first their sizes are read, then their texts. */
export async function slice(sql: Sql, query: SliceQuery): Promise<Slice> {
  const { entries, places, from = START, to = END, order, limit, texts } = query;
  const read = async (json: string, edges: readonly [Edge, Edge], most: number) => {
    const text = `
SELECT entry, place, coalesce(id, '') AS id, bytes, ${json} AS json FROM patchbay.parts
WHERE entry = ANY ($1::bigint[]) AND place BETWEEN $2 AND $3
  AND (entry, place) >= ($4, $5) AND (entry, place) <= ($6, $7)
ORDER BY entry ${order}, place ${order} LIMIT $8`;
    return sql.all<FoundPart>(text, entries, ...places, ...edges.flat(), most);
  };
  const most = Math.min(limit + 1, SLICE_PARTS);
  const found = await read("''", [from, to], most);
  const parts = found.slice(0, fitting(found, limit));
  const isMore = found.length > parts.length || found.length === most;
  const last = parts.at(-1);
  if (last === undefined) return { parts, isMore };
  const end: Edge = [last.entry, last.place];
  if (!texts) return { parts, end, isMore };
  const edges = order === "asc" ? ([from, end] as const) : ([end, to] as const);
  return { parts: await read("json", edges, parts.length), end, isMore };
}

/** The number of parts that fit in a slice with a number of items: at least one, unless no item is wanted. */
function fitting(parts: readonly FoundPart[], limit: number): number {
  let [bytes, items] = [0, 0];
  const over = parts.findIndex(({ id, bytes: own }, at) => {
    bytes += own;
    items += isGroup(id) ? MOST_ITEMS : 1;
    return limit === 0 || (at > 0 && (bytes > SLICE_BYTES || items > limit));
  });
  return over === -1 ? parts.length : over;
}

export type FindQuery = Omit<ItemsQuery, "maxBytes"> & {
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
SELECT entry, place, id, bytes, ${texts ? "json" : "'' AS json"} FROM patchbay.parts AS one
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
  const text = `SELECT entry, place, id, bytes, '' AS json FROM patchbay.parts
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
SELECT seq AS entry, ${HEAD} AS place, entries.id, parts.bytes, '' AS json
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
