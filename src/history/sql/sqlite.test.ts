import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { describeConversations } from "../../../test/support/conversation-suite.ts";
import { ageSqlite } from "../../../test/support/stored-ages.ts";
import { describeStore, type Age, type OpenStore } from "../../../test/support/store-suite.ts";
import { SqlLog } from "../sql-log.ts";
import type { Log } from "../log.ts";
import { openSqlite } from "./sqlite-database.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}`, "store.db");

const paths = new WeakMap<Log, string>();
const open: OpenStore = (clock, retention) => {
  const path = newPath();
  const store = new SqlLog(openSqlite(path), { clock, retention, gatherMs: 0 });
  paths.set(store, path);
  return store;
};
const age: Age = (store, _, ms) => ageSqlite(paths.get(store) ?? "", ms);
describeStore("SQLite", open, age);
describeConversations("SQLite", open, age);

it("makes no file after its end", async () => {
  const path = newPath();
  const database = openSqlite(path);
  const secret = { name: "seal", made: "made" };
  expect(await database.ask("secret", secret)).toBe("made");
  await database.close();
  rmSync(path);
  await expect(database.ask("secret", secret)).rejects.toThrow("The store is closed.");
  expect(existsSync(path)).toBe(false);
});
