import type { DatabaseSync } from "node:sqlite";
import type { Operations } from "../database.ts";
import { inTransaction } from "./transaction.ts";

/** The quotas of tenants, counted for all processes that have the file open. */
export function sqliteRateLimits(database: DatabaseSync): Pick<Operations, "spend"> {
  // A clock that was set back fills nothing up, and counts from there.
  const spend = database.prepare(`
    INSERT INTO rate_limits (tenant, kind, level, at)
    VALUES (:tenant, :kind, :perMinute - :amount, unixepoch('subsec'))
    ON CONFLICT (tenant, kind) DO UPDATE SET
      level = min(:perMinute, level + max(0, excluded.at - at) * :perMinute / 60) - :amount,
      at = excluded.at
    RETURNING level`);
  return {
    spend: (spent) =>
      inTransaction(database, () => spent.map((one) => Number(spend.get({ ...one })?.["level"]))),
  };
}
