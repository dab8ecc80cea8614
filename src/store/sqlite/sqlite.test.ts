import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeStore } from "../../../test/support/store-suite.ts";
import { DatabaseStore } from "../database-store.ts";
import { openSqlite } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}`, "store.db");

describeStore(
  "SQLite",
  (clock, retention) => new DatabaseStore(openSqlite(newPath()), { clock, retention, gatherMs: 0 }),
);
