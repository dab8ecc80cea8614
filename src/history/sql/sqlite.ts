/** The thread of a SQLite file. It runs one call after another, and replies to each. */

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { Fault } from "../../turn/fault.ts";
import { AgeWatch } from "../age-watch.ts";
import type { Swept } from "./drop.ts";
import { runOn, type OperationName } from "./operations.ts";
import { tables } from "./schema.ts";
import type { Cell, Driver, Insert, SqlRow, Sql } from "./sql.ts";
import type { ThreadCall, ThreadReply } from "./sqlite-database.ts";
import { fileId, mustReopen, openFile, sqliteFault } from "./sqlite-file.ts";

/** Translates a statement for SQLite, which needs no row locks: a transaction that writes locks the file. */
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
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, watch: AgeWatch) {
    this.#database = database;
    this.watch = watch;
    database.function("now_ms", () => Date.now());
    // All processes that have the file open share the monotonic clock of the machine.
    database.function("lease_ms", () => Number(process.hrtime.bigint() / 1_000_000n));
  }

  readonly all: Sql["all"] = (text, ...values) => {
    const cells = values.map((value): SQLInputValue =>
      Array.isArray(value) ? JSON.stringify(value) : (value as Cell),
    );
    return this.#prepared(text).all(...cells) as never;
  };

  insert({ table, tail = "" }: Insert, rows: readonly (readonly Cell[])[]): readonly SqlRow[] {
    const names = Object.keys(tables[table]);
    const values = names.map((_, at) => `$${at + 1}`).join(", ");
    const text = `INSERT INTO patchbay.${table} AS old (${names.join(", ")}) VALUES (${values}) ${tail}`;
    const statement = this.#prepared(text);
    return rows.flatMap((row) => statement.all(...row) as SqlRow[]);
  }

  /** Runs alone: calls are served one after another. */
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

const path = String(workerData);
const watch = new AgeWatch();
/** The open file. The first call opens it, and so does the next call after it was moved away or failed. */
let open: Open | undefined;
let last: Promise<unknown> = Promise.resolve();

// A transaction ends before the next call begins.
parentPort?.on("message", (call: ThreadCall) => {
  last = last.then(() => reply(call));
});

async function reply({ id, name, query }: ThreadCall): Promise<void> {
  const send = (answer: Omit<ThreadReply, "id">): void =>
    parentPort?.postMessage({ id, ...answer }, []);
  try {
    if (name !== "close") return send({ value: await run(name, query) });
    close();
    send({});
  } catch (error) {
    const { code, message } =
      error instanceof Fault ? error : new Fault("gateway.internal", String(error));
    send({ fault: { code, message } });
  }
}

async function run(name: OperationName, query: unknown): Promise<unknown> {
  try {
    // SQLite would write to a file that was moved or deleted, where no process finds it.
    if (open !== undefined && fileId(path) !== open.id) close();
    open ??= opened();
    const result = await runOn(open.driver, name, query);
    if (isDeletion(name, result)) checkpoint(open);
    return result;
  } catch (error) {
    const fault = sqliteFault(error, path);
    if (mustReopen(fault, error)) close();
    throw fault;
  }
}

function opened(): Open {
  const database = openFile(path);
  return { database, driver: new SqliteDriver(database, watch), id: fileId(path) };
}

/** Empties the write-ahead log: deletion overwrites text in the file, but the log still contains it. */
function checkpoint({ database }: Open): void {
  try {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // The deletion is committed; the next sweep tries again.
  }
}

function close(): void {
  const { database } = open ?? {};
  open = undefined;
  try {
    database?.close();
  } catch {
    // The file was damaged or removed; commits are on the disk.
  }
}

const isDeletion = (name: OperationName, result: unknown): boolean =>
  ((name === "drop" || name === "dropItem") && result === true) ||
  (name === "sweep" && !(result as Swept).more);
