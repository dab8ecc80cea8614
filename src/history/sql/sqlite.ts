import { uptime } from "node:os";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { AgeWatch } from "../age-watch.ts";
import type { Swept } from "./drop.ts";
import { runOn, type OperationName } from "./operations.ts";
import type { Cell, Driver, Insert, Row, Sql } from "./sql.ts";
import { mustReopen, toStoreFault } from "./sqlite-errors.ts";
import { fileId, openFile } from "./sqlite-file.ts";

/** The machine's clocks, in milliseconds. All processes that have the file open share them. */
export type HostClock = {
  /** Time since the epoch; an administrator or NTP may set it. */
  date(): number;
  /** Uptime of the machine, including suspension. */
  uptime(): number;
  /** Monotonic time. */
  steady(): number;
};

const hostClock: HostClock = {
  date: () => Date.now(),
  uptime: () => uptime() * 1000,
  steady: () => Number(process.hrtime.bigint() / 1_000_000n),
};

/** A statement in the words of SQLite, which locks the whole file in every transaction that writes. */
const translated = (text: string): string =>
  text
    .replaceAll(/= ANY \(\$(\d+)::\w+\[\]\)/g, "IN (SELECT value FROM json_each(?$1))")
    .replaceAll(/\$(\d+)/g, "?$1")
    .replaceAll("patchbay.", "")
    .replaceAll("least(", "min(")
    .replaceAll("greatest(", "max(")
    .replace(/ FOR (?:UPDATE|SHARE)(?: SKIP LOCKED)?$/, "");

/** A database file as a driver, with statements that are prepared once. */
class SqliteDriver implements Driver {
  readonly watch: AgeWatch;
  readonly uptimeMs: () => number;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, clock: HostClock, watch: AgeWatch) {
    this.#database = database;
    this.watch = watch;
    this.uptimeMs = () => clock.uptime();
    database.function("now_ms", () => Math.floor(clock.date()));
    database.function("lease_ms", () => Math.floor(clock.steady()));
  }

  readonly all: Sql["all"] = (text, ...values) => {
    const cells = values.map((value): SQLInputValue =>
      Array.isArray(value) ? JSON.stringify(value) : (value as Cell),
    );
    return this.#prepared(text).all(...cells) as never;
  };

  insert(
    { table, columns, tail = "" }: Insert,
    rows: readonly (readonly Cell[])[],
  ): readonly Row[] {
    const names = Object.keys(columns);
    const values = names.map((_, at) => `$${at + 1}`).join(", ");
    const text = `INSERT INTO patchbay.${table} AS old (${names.join(", ")}) VALUES (${values}) ${tail}`;
    const statement = this.#prepared(text);
    return rows.flatMap((row) => statement.all(...row) as Row[]);
  }

  /** Nothing else is asked until it is over: what it waits for is there. */
  async transaction<Result>(run: (sql: Sql) => Promise<Result>): Promise<Result> {
    const database = this.#database;
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = await run(this);
      database.exec("COMMIT");
      return result;
    } catch (error) {
      // Some errors, a full disk among them, have rolled it back already.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }

  #prepared(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(translated(text));
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

type Open = {
  readonly database: DatabaseSync;
  readonly driver: Driver;
  readonly id: string | undefined;
};

/** A database file, for one thread. It is opened by the first call, and anew after it was moved away or failed. */
export class SqliteConnection {
  readonly #path: string;
  readonly #clock: HostClock;
  readonly #watch = new AgeWatch();
  #open: Open | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, clock = hostClock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** One after the other: a transaction is over before the next call begins. */
  call(name: OperationName, query: unknown): Promise<unknown> {
    const result = this.#last.then(() => this.#call(name, query));
    this.#last = result.catch(() => {});
    return result;
  }

  async #call(name: OperationName, query: unknown): Promise<unknown> {
    try {
      // Under a file that was moved or deleted SQLite would go on writing to what nobody finds.
      if (this.#open !== undefined && fileId(this.#path) !== this.#open.id) this.close();
      this.#open ??= opened(this.#path, this.#clock, this.#watch);
      const result = await runOn(this.#open.driver, name, query);
      if (isDeletion(name, result)) this.#checkpoint();
      return result;
    } catch (error) {
      const fault = toStoreFault(error, this.#path);
      if (mustReopen(fault, error)) this.close();
      throw fault;
    }
  }

  /** Moves deleted text, which deletion overwrites in the file, out of the log too. */
  #checkpoint(): void {
    try {
      this.#open?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // The deletion is committed; the next sweep tries again.
    }
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    try {
      open?.database.close();
    } catch {
      // It was damaged or taken away; what is committed is on the disk.
    }
  }
}

const isDeletion = (name: OperationName, result: unknown): boolean =>
  ((name === "drop" || name === "dropItem") && result === true) ||
  (name === "sweep" && !(result as Swept).more);

function opened(path: string, clock: HostClock, watch: AgeWatch): Open {
  const database = openFile(path);
  return { database, driver: new SqliteDriver(database, clock, watch), id: fileId(path) };
}
