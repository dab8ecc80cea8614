import { readdirSync } from "node:fs";
import { join } from "node:path";

/** How long it waits for Codex to be done with a write, in milliseconds; nothing else happens meanwhile. */
const PATIENCE = 300;

const silence = `
  CREATE TRIGGER IF NOT EXISTS patchbay_keeps_nothing BEFORE INSERT ON logs
    BEGIN SELECT RAISE(IGNORE); END;
  DELETE FROM logs;
`;

/**
 * Codex writes a log into a database in its home, with the arguments and results
 * of calls in it and some forty kilobytes a turn, and no setting of its own
 * keeps it from that. So the database is told to take no more.
 * What is returned is why it could not be told, fit for a log.
 */
export async function emptyLog(home: string): Promise<string | undefined> {
  try {
    const { DatabaseSync } = await import("node:sqlite");
    for (const name of readdirSync(home).filter((one) => /^logs_\d+\.sqlite$/.test(one))) {
      const database = new DatabaseSync(join(home, name), { timeout: PATIENCE });
      try {
        database.exec(silence);
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
