import type { DatabaseSync } from "node:sqlite";

/** Runs all of it in one transaction, or undoes it. */
export function inTransaction<Result>(database: DatabaseSync, run: () => Result): Result {
  database.exec("BEGIN IMMEDIATE");
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
