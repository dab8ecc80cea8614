import type { Log } from "./log.ts";
import { openPostgres } from "./sql/postgres.ts";
import { openSqlite } from "./sql/sqlite-database.ts";
import { SqlLog, type LogOptions } from "./sql-log.ts";

/** A store outside the process. */
export type DatabaseConfig =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** A log in a database, which is opened by `start` or the first operation. */
export function openDatabaseStore(config: DatabaseConfig, options: LogOptions): Log {
  const database =
    config.kind === "sqlite" ? openSqlite(config.path) : openPostgres(config.url, options.clock);
  return new SqlLog(database, options);
}
