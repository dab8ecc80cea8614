import type { DatabaseSync } from "node:sqlite";

/**
 * Runs all of it in one transaction, or undoes it. One that only reads is `DEFERRED`: it waits
 * for no writer, and all that it reads is of one moment.
 */
export function inTransaction<Result>(
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
