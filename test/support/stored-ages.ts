/** Makes what is in a database older, as if its clock had been set forward. */

import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";

export function ageSqlite(path: string, ms: number): void {
  const database = new DatabaseSync(path, { timeout: 5000 });
  for (const [table, column] of columns)
    database.prepare(`UPDATE ${table} SET ${column} = ${column} - ?`).run(ms);
  database.close();
}

/** Leases in PostgreSQL go by the same clock; those in SQLite do not. */
export async function agePostgres(url: string, ms: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const leases = [
    ["leases", "since"],
    ["leases", "until"],
  ] as const;
  for (const [table, column] of [...columns, ...leases])
    await sql.unsafe(`UPDATE patchbay.${table} SET ${column} = ${column} - ${ms}`);
  await sql.end();
}

const columns = [["entries", "at"]] as const;
