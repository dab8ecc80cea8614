import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault, type FaultCode } from "../../turn/fault.ts";
import { schema, VERSION } from "./schema.ts";

/** The longest wait of a statement for another process that writes. Only the thread of the store waits. */
const BUSY_MS = 2000;

/**
 * With WAL and `synchronous = NORMAL` a commit survives a killed process. A loss of power may
 * lose the last commits, but never part of one; a sync with every commit would cost about a
 * thousand times more. A checkpoint runs every 4,000 pages (16 MB), because index pages change
 * with every turn and each checkpoint writes them once.
 */
const pragmas = `
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8000;
PRAGMA journal_size_limit = 16777216;
PRAGMA wal_autocheckpoint = 4000;
`;

/** Opens a database file, or makes it. Only its owner may access the file and a new folder. */
export function openFile(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Opening a pipe would block until another process reads it.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new Error(`${path} is not a regular file`);
  closeSync(openSync(path, "a", 0o600));
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    enterWal(database);
    database.exec(pragmas);
    makeTables(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The wait between two attempts to set the mode. */
const RETRY_MS = 10;
const SQLITE_BUSY = 5;

/**
 * Sets the mode, with retries. SQLite takes a read lock to change the mode, and the owner of a
 * read lock may not wait for the write lock: while another process makes the same file, the
 * change fails at once instead of waiting for BUSY_MS.
 */
function enterWal(database: DatabaseSync): void {
  const last = performance.now() + BUSY_MS;
  for (;;)
    try {
      return database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      const { errcode = 0 } = error as { readonly errcode?: number };
      if ((errcode & 0xff) !== SQLITE_BUSY || performance.now() >= last) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
}

/** The identity of the file at a path; undefined without a file. */
export function fileId(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev} ${stat.ino}`;
}

/**
 * Runs a function in one transaction, or undoes it. One that only reads is `DEFERRED`: it waits
 * for no writer, and reads the state of one moment.
 */
function inTransaction<Result>(
  database: DatabaseSync,
  run: () => Result,
  mode: "DEFERRED" | "IMMEDIATE" = "IMMEDIATE",
): Result {
  database.exec(`BEGIN ${mode}`);
  try {
    const result = run();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    // Some errors, a full disk among them, have rolled it back already.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Marks the files of Patchbay: "PBay". */
const APPLICATION_ID = 0x50_42_61_79;

/** Makes the tables of a new file. If several processes start together, the first that gets the write lock makes them. */
export function makeTables(database: DatabaseSync, path: string): void {
  // One transaction: if another process made the tables between two reads, the file would have
  // tables without our mark and be refused.
  if (inTransaction(database, () => isMade(database, path), "DEFERRED")) return;
  inTransaction(database, () => {
    if (isMade(database, path)) return;
    for (const statement of schema("INTEGER PRIMARY KEY AUTOINCREMENT"))
      database.exec(statement.replaceAll("patchbay.", ""));
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${VERSION}`);
  });
}

/** True if a file has these tables. Throws a Fault if it has others. */
function isMade(database: DatabaseSync, path: string): boolean {
  const pragma = (name: string): number =>
    Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  const version = pragma("user_version");
  const isOurs = pragma("application_id") === APPLICATION_ID;
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (!isOurs && !isEmpty)
    throw new Fault(
      "store.unusable",
      `${path} is the database of another program; name another file in \`store.path\`.`,
    );
  if (version !== VERSION && !isEmpty)
    throw new Fault(
      "store.unusable",
      `${path} was written by another version of Patchbay (version ${version} of its tables, and this one has ${VERSION}); move it away, so that a new one is made, or name another file in \`store.path\`.`,
    );
  return !isEmpty;
}

/** The primary result codes of SQLite with a remedy. */
const byResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  5: ["store.unavailable", "is locked by another process; stop that process"],
  6: ["store.unavailable", "is locked by another process; stop that process"],
  8: ["store.unavailable", "is not writable; change its permissions"],
  10: ["store.unavailable", "cannot be read or written; check its disk"],
  11: ["store.unusable", "is damaged; move it away, so that a new one is made"],
  13: ["store.full", "is on a disk that is full; make room"],
  14: ["store.unavailable", "cannot be opened; check its folder and permissions"],
  26: ["store.unusable", "is not a database; move it away, so that a new one is made"],
};

const noMore = [
  "store.full",
  "cannot grow; check the free space, the disk quota, the limit on the size of files and the health of the disk",
] as const;

/**
 * Failures of writes, of the wait for the disk and of the growth of the shared index.
 * SQLite reports a full disk for ENOSPC alone; a quota and a limit on the size of files
 * have these codes.
 */
const byExtendedResult: Readonly<Record<number, readonly [FaultCode, string]>> = {
  778: noMore,
  1034: noMore,
  4874: noMore,
};

const byErrno: Readonly<Record<string, readonly [FaultCode, string]>> = {
  ENOSPC: ["store.full", "is on a disk that is full; make room"],
  EDQUOT: ["store.full", "exceeds the quota of its disk; make room"],
  EISDIR: ["store.unusable", "is a folder; name a file in it"],
};

const unknown = ["store.unavailable", "cannot be used; check its folder and permissions"] as const;

/** The Fault for an error of a file, with the remedy. It quotes SQLite's message, which contains no stored values. */
export function sqliteFault(error: unknown, path: string): Fault {
  if (error instanceof Fault) return error;
  const { errcode, code = "", message } = error as NodeJS.ErrnoException & { errcode?: number };
  const result = (errcode ?? 0) & 0xff;
  const [fault, what] =
    byExtendedResult[errcode ?? 0] ?? byResult[result] ?? byErrno[code] ?? unknown;
  return new Fault(fault, `The store ${path} ${what} (${message}).`, {}, error);
}

/** True if the file must be opened anew: there may be another at its path. */
export const mustReopen = ({ code }: Fault, cause: unknown): boolean => {
  const result = ((cause as { errcode?: number }).errcode ?? 0) & 0xff;
  return code === "store.unusable" || result === 10 || result === 14;
};
