import { DatabaseStore, type StoreOptions } from "./database-store.ts";
import { openPostgres } from "./postgres/database.ts";
import { openSqlite } from "./sqlite/database.ts";
import type { Store } from "./store.ts";

/** Where a store outside the process is. */
export type DatabaseConfig =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** A store in a database. Nothing is opened before it is started or asked. */
export function openDatabaseStore(config: DatabaseConfig, options: StoreOptions): Store {
  const database =
    config.kind === "sqlite" ? openSqlite(config.path) : openPostgres(config.url, options.clock);
  return new DatabaseStore(database, options);
}
