import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Milliseconds to wait for a lock of Codex's; the event loop is blocked for as long. */
const LOCK_TIMEOUT = 300;

const discardAll = `
  CREATE TRIGGER IF NOT EXISTS patchbay_keeps_nothing BEFORE INSERT ON logs
    BEGIN SELECT RAISE(IGNORE); END;
  DELETE FROM logs;
`;

/**
 * Codex logs the arguments and results of calls, about 40 kB a turn, to a SQLite
 * database in its home, and has no setting against it. A trigger there discards
 * every row. Returns why that failed, fit for a log.
 */
export async function disableLog(home: string): Promise<string | undefined> {
  try {
    const { DatabaseSync } = await import("node:sqlite");
    for (const name of readdirSync(home).filter((one) => /^logs_\d+\.sqlite$/.test(one))) {
      const database = new DatabaseSync(join(home, name), { timeout: LOCK_TIMEOUT });
      try {
        database.exec(discardAll);
      } finally {
        database.close();
      }
    }
    return undefined;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    return typeof code === "string" ? code : "error";
  }
}
