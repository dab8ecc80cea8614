/** Conversations and secrets of a PostgreSQL store, each call in one round trip. */

import type { Sql } from "postgres";
import { conversationBytes, conversationItemsBytes } from "../conversation-bytes.ts";
import { KIND_LENGTH, type NewConversation } from "../conversations.ts";
import type {
  AddItemsQuery,
  ConversationItemQuery,
  ConversationPlace,
  FindConversationQuery,
  FindItemQuery,
  FoundPlaces,
  IdQuery,
  ListConversationsQuery,
  RowSize,
  SecretQuery,
  UpdateConversationQuery,
} from "../database.ts";
import { fairShares } from "../fair-share.ts";
import type { StoredItem } from "../store.ts";
import { ROW_TIME } from "./ages.ts";
import { arrayText } from "./array-text.ts";

type Row = Readonly<Record<string, unknown>>;
type Asking = Pick<Sql, "unsafe">;

const ask = async (
  sql: Asking,
  text: string,
  values: readonly (string | number)[] = [],
): Promise<Row[]> => await sql.unsafe<Row[]>(text, values.map(String), { prepare: true });

const own = "tenant = $1 AND id = $2";

const itemArrays = (items: readonly StoredItem[]): string[] => [
  arrayText(items.map(({ id }) => id)),
  arrayText(items.map(({ json }) => Buffer.byteLength(json))),
  arrayText(items.map(({ json }) => json)),
];

/** In the order in which they are given: their numbers are handed out one by one. */
const insertItems = (from: string, first: number): string => `
INSERT INTO patchbay.conversation_items (tenant, conversation, id, bytes, json)
SELECT $1, $2, given.id, given.bytes, given.json FROM ${from} unnest(
  $${first}::text::text[], $${first + 1}::text::bigint[], $${first + 2}::text::text[]
) WITH ORDINALITY AS given (id, bytes, json, n) ORDER BY given.n`;

export async function createConversation(
  sql: Sql,
  { tenant, id, json, items }: NewConversation,
): Promise<void> {
  const bytes = conversationBytes(json) + conversationItemsBytes(items);
  await ask(
    sql,
    `WITH made AS (
      INSERT INTO patchbay.conversations (tenant, id, at, json, bytes)
      VALUES ($1, $2, ${ROW_TIME}, $3, $4::text::bigint)
    ) ${insertItems("", 5)}`,
    [tenant, id, json, bytes, ...itemArrays(items)],
  );
}

export async function findConversation(
  sql: Sql,
  { tenant, id, adds }: FindConversationQuery,
): Promise<ConversationPlace | undefined> {
  const sum = `(SELECT coalesce(sum(bytes), 0)::float8 FROM patchbay.conversation_items
    WHERE tenant = $1 AND conversation = $2)`;
  const text = `SELECT octet_length(json)::float8 AS bytes, ${adds === undefined ? "0" : sum} AS "itemBytes"
    FROM patchbay.conversations WHERE ${own}`;
  const [row] = await ask(sql, text, [tenant, id]);
  return row as ConversationPlace | undefined;
}

/** One more is looked for than are given, to know whether there is one. */
const listSql = (bound: ">" | "<", order: "ASC" | "DESC"): string => `
SELECT id, bytes::float8, is_given FROM (
  SELECT seq, id, bytes, n <= $4::text::bigint AND before < $5::text::bigint AS is_given FROM (
    SELECT seq, id, bytes, row_number() OVER page AS n, sum(bytes) OVER page - bytes AS before FROM (
      SELECT seq, id, octet_length(json) AS bytes FROM patchbay.conversations
      WHERE tenant = $1 AND left(id, ${KIND_LENGTH}) = left($2, ${KIND_LENGTH}) AND starts_with(id, $2)
        AND seq ${bound} $3::text::bigint
      ORDER BY seq ${order} LIMIT $4::text::bigint + 1
    ) AS listed WINDOW page AS (ORDER BY seq ${order})
  ) AS counted
) AS marked ORDER BY seq ${order}`;
const listing = { asc: listSql(">", "ASC"), desc: listSql("<", "DESC") };
const ends = { asc: "0", desc: "9223372036854775807" };

export async function listConversations(
  sql: Sql,
  { tenant, prefix, order, after, limit, maxBytes }: ListConversationsQuery,
): Promise<FoundPlaces> {
  let start = ends[order];
  if (after !== undefined) {
    const text = `SELECT seq FROM patchbay.conversations WHERE ${own}`;
    const [row] = await ask(sql, text, [tenant, after]);
    if (row === undefined) return { type: "missing" };
    start = String(row["seq"]);
  }
  const values = [tenant, prefix, start, limit, maxBytes];
  const rows = await ask(sql, listing[order], values);
  const given = rows.filter((row) => row["is_given"] === true);
  const list = given.map((row) => ({ id: String(row["id"]), bytes: Number(row["bytes"]) }));
  return { type: "found", list, isWhole: list.length === rows.length };
}

export async function updateConversation(
  sql: Sql,
  { tenant, id, json }: UpdateConversationQuery,
): Promise<boolean> {
  const text = `UPDATE patchbay.conversations SET json = $3 WHERE ${own} RETURNING 1`;
  return (await ask(sql, text, [tenant, id, json])).length > 0;
}

/** Deletes a conversation with its items; false if there is none. */
export async function dropConversation(sql: Asking, { tenant, id }: IdQuery): Promise<boolean> {
  const text = dropping(`DELETE FROM patchbay.conversations WHERE ${own}`);
  return (await ask(sql, text, [tenant, id])).length > 0;
}

const dropping = (conversations: string): string => `
WITH gone AS (${conversations} RETURNING tenant, id), items AS (
  DELETE FROM patchbay.conversation_items AS item USING gone
  WHERE item.tenant = gone.tenant AND item.conversation = gone.id
) SELECT 1 FROM gone`;

export async function addConversationItems(
  sql: Asking,
  { tenant, id, items }: AddItemsQuery,
): Promise<boolean> {
  const text = `WITH touched AS (
    UPDATE patchbay.conversations
    SET at = greatest(at, ${ROW_TIME}), bytes = bytes + $3::text::bigint
    WHERE ${own} RETURNING id AS known
  ), added AS (${insertItems("touched CROSS JOIN", 4)}) SELECT known FROM touched`;
  const values = [tenant, id, conversationItemsBytes(items)];
  return (await ask(sql, text, [...values, ...itemArrays(items)])).length > 0;
}

export async function findConversationItem(
  sql: Sql,
  { tenant, id, item, order }: FindItemQuery,
): Promise<RowSize | undefined> {
  const text = `SELECT seq::float8 AS place, bytes::float8 FROM patchbay.conversation_items
    WHERE tenant = $1 AND conversation = $2 AND id = $3
      AND EXISTS (SELECT FROM patchbay.conversations WHERE ${own})
    ORDER BY seq ${order === "asc" ? "ASC" : "DESC"} LIMIT 1`;
  const [row] = await ask(sql, text, [tenant, id, item]);
  return row as RowSize | undefined;
}

export async function deleteConversationItem(
  sql: Sql,
  { tenant, id, item }: ConversationItemQuery,
): Promise<boolean> {
  const text = `DELETE FROM patchbay.conversation_items WHERE tenant = $1 AND conversation = $2
    AND id = $3 AND EXISTS (SELECT FROM patchbay.conversations WHERE ${own}) RETURNING 1`;
  return (await ask(sql, text, [tenant, id, item])).length > 0;
}

export async function secret(sql: Sql, { name, made }: SecretQuery): Promise<string> {
  await ask(sql, "INSERT INTO patchbay.secrets VALUES ($1, $2) ON CONFLICT DO NOTHING", [
    name,
    made,
  ]);
  const [row] = await ask(sql, "SELECT value FROM patchbay.secrets WHERE name = $1", [name]);
  return String(row?.["value"]);
}

/** How many are dropped in one statement. */
const STEP = 100;
const expired = `SELECT seq FROM patchbay.conversations WHERE at < $1::text::bigint LIMIT ${STEP}`;
const oldest = `
SELECT seq FROM (
  SELECT seq, at, sum(bytes) OVER (ORDER BY at DESC, seq DESC) AS newer
  FROM patchbay.conversations WHERE tenant = $1
) AS weighed WHERE newer > $2::text::float8 ORDER BY at, seq LIMIT ${STEP}`;
const dropThese = (these: string): string =>
  dropping(`DELETE FROM patchbay.conversations WHERE seq IN (${these})`);

/** Drops some of what is too old; whether there is more. */
export const dropExpiredConversations = async (sql: Asking, since: number): Promise<boolean> =>
  (await ask(sql, dropThese(expired), [since])).length === STEP;

/** Drops some of what is too much: how much is left, and whether there is more to drop. */
export async function dropHeavyConversations(
  sql: Asking,
  maxBytes: number,
): Promise<{ readonly bytes: number; readonly more: boolean }> {
  let more = false;
  const held = await heldBytes(sql);
  for (const [tenant, share] of fairShares(held, maxBytes))
    more = (await ask(sql, dropThese(oldest), [tenant, share])).length === STEP || more;
  const left = [...(await heldBytes(sql)).values()];
  return { bytes: left.reduce((sum, bytes) => sum + bytes, 0), more };
}

async function heldBytes(sql: Asking): Promise<Map<string, number>> {
  const rows = await ask(
    sql,
    "SELECT tenant, sum(bytes)::float8 AS held FROM patchbay.conversations GROUP BY tenant",
  );
  return new Map(rows.map((row) => [String(row["tenant"]), Number(row["held"])]));
}
