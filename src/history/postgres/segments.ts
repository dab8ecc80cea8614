import type { Sql, TransactionSql } from "postgres";
import type { Tenant } from "../../turn/tenant.ts";
import { FIRST_ITEM_PLACE } from "../chain-rows.ts";
import {
  joinTurns,
  LARGE_TURN_BYTES,
  MAX_RUN,
  MAX_SEGMENT_BYTES,
  SPAN,
  tailOf,
} from "../chain-segments.ts";
import type { TurnRecord } from "../record.ts";
import { arrayText } from "./array-text.ts";

/** The newest stored turn of an answer's id. */
export const newest = (id: string): string =>
  `SELECT * FROM patchbay.turns WHERE tenant = $1 AND stored AND answer_id = ${id} ORDER BY seq DESC LIMIT 1`;

/** The items of a turn, as JSON separated by commas. */
const itemsTextSql = (seq: string): string =>
  `(SELECT string_agg(json, ',' ORDER BY place) FROM patchbay.parts WHERE turn = ${seq} AND place >= ${FIRST_ITEM_PLACE})`;

/** Behind which turn of the database a turn of a batch stands, and how many without a segment follow that one. */
export type Tail = { readonly behind: string | null; readonly length: number };

/** The tails of the turns of a batch, of which some may follow others. */
export function tailsOf(turns: readonly TurnRecord[]): readonly Tail[] {
  const known = new Map<string, Tail>();
  return turns.map((turn): Tail => {
    const { tenant, answerId, previous, itemBytes } = turn;
    const before = previous === null ? undefined : known.get(`${tenant}\n${previous}`);
    const length = tailOf(itemBytes, before?.length ?? 0);
    const isOpen = length > 0 && before?.length !== 0;
    const behind = isOpen ? (before === undefined ? previous : before.behind) : null;
    const tail = { behind, length };
    if (answerId !== null && turn.response !== null) known.set(`${tenant}\n${answerId}`, tail);
    return tail;
  });
}

const runSql = `
WITH RECURSIVE run AS (
  SELECT seq, previous, 1 AS n FROM patchbay.turns WHERE seq = $2::text::bigint AND segment IS NULL
  UNION ALL
  SELECT next.seq, next.previous, n + 1 FROM run CROSS JOIN LATERAL (${newest("run.previous")}) AS next
  WHERE next.seq < run.seq AND next.segment IS NULL AND next.item_bytes <= ${LARGE_TURN_BYTES} AND n < ${MAX_RUN}
)
SELECT seq::float8, previous, ${itemsTextSql("seq")} AS text FROM run ORDER BY n DESC`;

const endingSql = `
SELECT segments.id::float8, segments.previous, segments.first::float8, level, run,
  length(items)::float8 AS bytes
FROM (${newest("$2")}) AS last JOIN patchbay.segments ON id = last.segment AND segment_end = length(items)`;

type Row = Readonly<Record<string, unknown>>;
type Segment = {
  readonly id: number;
  readonly previous: string | null;
  readonly first: number;
  readonly level: number;
  readonly run: number;
  readonly bytes: number;
};

/** Turns of a batch with which a chain ends in so many without a segment that they get one. */
export async function longTails(
  sql: Sql,
  turns: readonly TurnRecord[],
): Promise<readonly { readonly tenant: Tenant; readonly seq: string }[]> {
  const chained = turns.filter(({ previous, response }) => previous !== null && response !== null);
  if (chained.length === 0) return [];
  const rows = await sql.unsafe<Row[]>(
    `SELECT turns.tenant, max(seq)::text AS seq
     FROM unnest($1::text::text[], $2::text::text[]) AS asked (tenant, id)
     JOIN patchbay.turns ON turns.tenant = asked.tenant AND answer_id = asked.id AND stored
     WHERE tail >= ${SPAN} AND segment IS NULL GROUP BY turns.tenant, answer_id`,
    [
      arrayText(chained.map(({ tenant }) => tenant)),
      arrayText(chained.map(({ answerId }) => answerId)),
    ],
    { prepare: true },
  );
  return rows.map((row) => ({ tenant: String(row["tenant"]), seq: String(row["seq"]) }));
}

/** Puts the turns that a chain ends with in a segment, unless another replica is at it. */
export async function addSegment(sql: Sql, tenant: Tenant, seq: string): Promise<void> {
  await sql.begin(async (transaction) => {
    const [lock] = await transaction`
      SELECT pg_try_advisory_xact_lock(hashtextextended(${tenant}, 5791402270117945723)) AS held`;
    if (lock?.["held"] !== true) return;
    const turns = await transaction.unsafe<Row[]>(runSql, [tenant, seq], { prepare: true });
    const [first] = turns;
    if (first === undefined || turns.length < SPAN) return;
    const { text, ends } = joinTurns(
      turns.map((row) => ({
        seq: Number(row["seq"]),
        text: (row["text"] as string | null) ?? "",
      })),
    );
    const previous = first["previous"] as string | null;
    const behind = await segmentBehind(transaction, tenant, previous);
    const run = behind?.level === 1 ? behind.run + 1 : 1;
    const segment = {
      previous,
      first: Number(first["seq"]),
      level: 1,
      run,
    };
    const id = await insert(transaction, segment, text);
    await transaction.unsafe(
      `UPDATE patchbay.turns SET segment = $1::text::bigint, segment_end = given.e, bytes = bytes + item_bytes
       FROM unnest($2::text::bigint[], $3::text::bigint[]) AS given (s, e) WHERE seq = given.s`,
      [String(id), arrayText(ends.map(([turn]) => turn)), arrayText(ends.map(([, end]) => end))],
      { prepare: true },
    );
    const bytes = ends.at(-1)?.[1] ?? 0;
    await joinSegments(transaction, tenant, { ...segment, id, bytes });
  });
}

async function segmentBehind(
  sql: TransactionSql,
  tenant: Tenant,
  previous: string | null,
): Promise<Segment | undefined> {
  if (previous === null) return undefined;
  const [row] = await sql.unsafe<Row[]>(endingSql, [tenant, previous], { prepare: true });
  return row as Segment | undefined;
}

async function insert(
  sql: TransactionSql,
  { previous, first, level, run }: Omit<Segment, "id" | "bytes">,
  text: string,
): Promise<number> {
  const [row] = await sql.unsafe<Row[]>(
    `INSERT INTO patchbay.segments (previous, first, level, run, items)
     VALUES ($1, $2::text::bigint, $3::text::integer, $4::text::integer, convert_to($5::text, 'UTF8'))
     RETURNING id::float8`,
    [previous, ...[first, level, run].map(String), text],
    { prepare: true },
  );
  return Number(row?.["id"]);
}

/** Joins the last segments of a level, if there are enough of them, and then those of the next. */
async function joinSegments(sql: TransactionSql, tenant: Tenant, last: Segment): Promise<void> {
  if (last.run < SPAN) return;
  const joined: Segment[] = [last];
  while (joined.length < SPAN) {
    const next = await segmentBehind(sql, tenant, joined[0]?.previous ?? null);
    if (next?.level !== last.level) break;
    joined.unshift(next);
  }
  const [first = last] = joined;
  const bytes = joined.reduce((sum, one) => sum + one.bytes + 1, -1);
  const level = last.level + 1;
  if (bytes > MAX_SEGMENT_BYTES) {
    // The next try is when as many more have come.
    await sql`UPDATE patchbay.segments SET run = 1 WHERE id = ${String(last.id)}::text::bigint`;
    return;
  }
  const behind = await segmentBehind(sql, tenant, first.previous);
  const run = behind?.level === level ? behind.run + 1 : 1;
  let offset = 0;
  const offsets = joined.map((one) => {
    const at = offset;
    offset += one.bytes + 1;
    return at;
  });
  const ids = arrayText(joined.map(({ id }) => id));
  const [row] = await sql.unsafe<Row[]>(
    `WITH joined AS (
       SELECT id, offset_bytes FROM unnest($1::text::bigint[], $2::text::bigint[]) AS given (id, offset_bytes)
     ), whole AS (
       INSERT INTO patchbay.segments (previous, first, level, run, items)
       SELECT $3, $4::text::bigint, $5::text::integer, $6::text::integer,
         string_agg(items, ','::bytea ORDER BY offset_bytes)
       FROM joined JOIN patchbay.segments USING (id) RETURNING id
     ), moved AS (
       UPDATE patchbay.turns SET segment = whole.id, segment_end = segment_end + offset_bytes
       FROM joined, whole WHERE segment = joined.id
     )
     SELECT id::float8 FROM whole`,
    [ids, arrayText(offsets), first.previous, ...[first.first, level, run].map(String)],
    { prepare: true },
  );
  await sql`DELETE FROM patchbay.segments WHERE id = ANY (${ids}::text::bigint[])`;
  const whole = { previous: first.previous, first: first.first, level, run, bytes };
  await joinSegments(sql, tenant, { ...whole, id: Number(row?.["id"]) });
}

/** Drops the segments that turns are in; `turns` is a query for their numbers. */
export const dropSegments = (turns: string): string => `
WITH gone AS (
  SELECT DISTINCT segment FROM patchbay.turns WHERE segment IS NOT NULL AND seq IN (${turns})
), dropped AS (DELETE FROM patchbay.segments USING gone WHERE id = segment)
UPDATE patchbay.turns SET segment = NULL, segment_end = NULL, bytes = bytes - item_bytes
FROM gone WHERE turns.segment = gone.segment`;
