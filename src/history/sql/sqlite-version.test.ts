import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { expect, it } from "vitest";
import { makeTables, openFile } from "./sqlite-file.ts";

it("finds done what another process does between two of its own looks", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-migrations-"));
  const path = join(folder, "store.db");
  new DatabaseSync(path).exec("PRAGMA journal_mode = WAL");
  /** Another process brings the file on as soon as this one looks for tables. */
  class Interrupted extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      if (sql.includes("sqlite_schema")) openFile(path).close();
      return super.prepare(sql);
    }
  }
  const database = new Interrupted(path);
  makeTables(database, path);
  expect(database.prepare("SELECT count(*) AS entries FROM entries").get()).toEqual({ entries: 0 });
  database.close();
  rmSync(folder, { recursive: true });
});
