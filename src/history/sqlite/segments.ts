import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Tenant } from "../../turn/tenant.ts";
import { FIRST_ITEM_PLACE } from "../chain-rows.ts";
import {
  joinTurns,
  LARGE_TURN_BYTES,
  MAX_RUN,
  MAX_SEGMENT_BYTES,
  SPAN,
  tailOf,
  type RunTurn,
} from "../chain-segments.ts";

/** The parts of turn 3 are numbered from 3 * 2^20; numbers are exact up to turn 2^33. */
export const PARTS = 2 ** 20;

/** The newest stored turn of an answer's id, which follows. */
export const NEWEST = "SELECT max(seq) FROM turns WHERE tenant = ?1 AND stored = 1 AND answer_id =";

/** The items of a turn, as JSON separated by commas. */
const itemsTextSql = (seq: string): string =>
  `(SELECT group_concat(json, ',' ORDER BY part) FROM parts
    WHERE part BETWEEN ${seq} * ${PARTS} + ${FIRST_ITEM_PLACE} AND ${seq} * ${PARTS} + ${PARTS - 1})`;

const runSql = `
WITH RECURSIVE run (seq, previous, n) AS (
  SELECT seq, previous, 1 FROM turns WHERE seq = ?2
  UNION ALL
  SELECT turns.seq, turns.previous, n + 1 FROM run JOIN turns ON turns.seq = (${NEWEST} run.previous)
  WHERE turns.seq < run.seq AND segment IS NULL AND item_bytes <= ${LARGE_TURN_BYTES} AND n < ${MAX_RUN}
)
SELECT seq, turns.previous AS previous, ${itemsTextSql("seq")} AS text
FROM run JOIN turns USING (seq) ORDER BY n DESC`;

type Segment = {
  readonly id: number;
  readonly previous: string | null;
  readonly first: number;
  readonly level: number;
  readonly run: number;
  readonly items: Uint8Array;
};

/** Keeps the segments of chains up to date with the turns that are written. */
export class SqliteSegments {
  readonly #statements: Record<keyof typeof sql, StatementSync>;

  constructor(database: DatabaseSync) {
    const prepared = Object.entries(sql).map(([name, text]) => [name, database.prepare(text)]);
    this.#statements = Object.fromEntries(prepared) as Record<keyof typeof sql, StatementSync>;
  }

  /** How many turns without a segment a chain ends with, if a turn is added behind the one with this id. */
  tailBehind(tenant: Tenant, previous: string | null, itemBytes: number): number {
    const found = previous === null ? undefined : this.#statements.tail.get(tenant, previous);
    const isOpen = found !== undefined && found["segment"] === null;
    return tailOf(itemBytes, isOpen ? Number(found["tail"]) : 0);
  }

  /** A turn was added with which a chain ends in so many turns without a segment. */
  added(tenant: Tenant, seq: number, tail: number): void {
    if (tail < SPAN) return;
    const turns = this.#statements.run.all(tenant, seq);
    const [first] = turns;
    if (first === undefined || turns.length < SPAN) return;
    const { text, ends } = joinTurns(
      turns.map((row): RunTurn => ({
        seq: Number(row["seq"]),
        text: (row["text"] as string | null) ?? "",
      })),
    );
    const previous = first["previous"] as string | null;
    const segment = this.#add(tenant, {
      previous,
      first: Number(first["seq"]),
      level: 1,
      items: Buffer.from(text),
    });
    for (const [turn, end] of ends) this.#statements.join.run(segment.id, end, turn);
    this.#joinSegments(tenant, segment);
  }

  /** Drops the segment that a turn is in. */
  drop(seq: number): void {
    const id = this.#statements.segmentOf.get(seq)?.["segment"] ?? null;
    if (id === null) return;
    this.#statements.leave.run(id);
    this.#statements.remove.run(id);
  }

  /** The segment that ends where another begins. */
  #behind(tenant: Tenant, { previous }: Pick<Segment, "previous">): Segment | undefined {
    if (previous === null) return undefined;
    return this.#statements.ending.get(tenant, previous) as Segment | undefined;
  }

  #add(tenant: Tenant, segment: Omit<Segment, "id" | "run">): Segment {
    const { previous, first, level, items } = segment;
    const behind = this.#behind(tenant, segment);
    const run = behind?.level === level ? behind.run + 1 : 1;
    const row = this.#statements.insert.run(previous, first, level, run, items);
    return { ...segment, run, id: Number(row.lastInsertRowid) };
  }

  /** Joins the last segments of a level, if there are enough of them, and then those of the next. */
  #joinSegments(tenant: Tenant, last: Segment): void {
    if (last.run < SPAN) return;
    const joined: Segment[] = [last];
    let next = this.#behind(tenant, last);
    while (next?.level === last.level && joined.length < SPAN) {
      joined.unshift(next);
      next = this.#behind(tenant, next);
    }
    const bytes = joined.reduce((sum, { items }) => sum + items.byteLength + 1, -1);
    // The next try is when as many more have come.
    if (bytes > MAX_SEGMENT_BYTES) return void this.#statements.begin.run(last.id);
    const pieces = joined.flatMap((one, at) => (at === 0 ? [one.items] : [COMMA, one.items]));
    const { previous, first } = joined[0] ?? last;
    const items = Buffer.concat(pieces, bytes);
    const whole = this.#add(tenant, { previous, first, level: last.level + 1, items });
    let offset = 0;
    for (const one of joined) {
      this.#statements.move.run(whole.id, offset, one.id);
      this.#statements.remove.run(one.id);
      offset += one.items.byteLength + 1;
    }
    this.#joinSegments(tenant, whole);
  }
}

const COMMA = Buffer.from(",");

const sql = {
  tail: `SELECT tail, segment FROM turns WHERE seq = (${NEWEST} ?2)`,
  run: runSql,
  insert: "INSERT INTO segments (previous, first, level, run, items) VALUES (?, ?, ?, ?, ?)",
  join: "UPDATE turns SET segment = ?, segment_end = ?, bytes = bytes + item_bytes WHERE seq = ?",
  ending: `SELECT segments.* FROM turns JOIN segments ON id = segment
    WHERE seq = (${NEWEST} ?2) AND segment_end = length(items)`,
  move: "UPDATE turns SET segment = ?, segment_end = segment_end + ? WHERE segment = ?",
  begin: "UPDATE segments SET run = 1 WHERE id = ?",
  remove: "DELETE FROM segments WHERE id = ?",
  leave: `UPDATE turns SET segment = NULL, segment_end = NULL, bytes = bytes - item_bytes
    WHERE segment = ?`,
  segmentOf: "SELECT segment FROM turns WHERE seq = ?",
} as const;
