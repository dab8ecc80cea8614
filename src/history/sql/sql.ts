/** The interface of both databases. */

import type { AgeWatch } from "../age-watch.ts";
import type { TableName } from "./schema.ts";

export type Cell = string | number | null;
export type Value = Cell | readonly (string | number)[];
export type SqlRow = Readonly<Record<string, Cell>>;
type MaybeLater<Found> = readonly Found[] | Promise<readonly Found[]>;

/** Rows that are inserted by one statement. */
export type Insert = {
  readonly table: TableName;
  /** The end of the statement: the clauses ON CONFLICT, where `old` is the existing row, and RETURNING. */
  readonly tail?: string;
};

/**
 * Statements are written once, in SQL that both databases understand. A driver translates
 * these differences:
 *
 * - `$1` is a parameter, and `= ANY ($1::text[])` looks for any of a list of them;
 * - each table begins with `patchbay.`;
 * - `patchbay.now_ms()` is the date, and `patchbay.lease_ms()` the clock of leases;
 * - `least` and `greatest` choose among numbers;
 * - `FOR UPDATE` and `FOR SHARE` lock rows until the transaction ends.
 */
export type Sql = {
  all<Found = SqlRow>(text: string, ...values: readonly Value[]): MaybeLater<Found>;
  insert(into: Insert, rows: readonly (readonly Cell[])[]): MaybeLater<SqlRow>;
};

export type Driver = Sql & {
  /** Commits all statements of `run`, or none. */
  transaction<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result>;
  readonly watch: AgeWatch;
};
