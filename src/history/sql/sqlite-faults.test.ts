import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { item, turn } from "../../../test/support/store-suite.ts";
import { recordOf } from "../records.ts";
import type { Database } from "./operations.ts";
import { openSqlite } from "./sqlite-database.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-faults-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `${++files}`, "store.db");

const save = (database: Database, id: string) =>
  database.ask("write", { id, turns: [recordOf(turn({ answerId: id, items: [item(id)] }), 1000)] });
const finds = async (database: Database, id: string): Promise<boolean> => {
  const found = await database.ask("findParts", {
    tenant: "ann",
    ids: [id],
    of: "items",
    texts: false,
  });
  return found.length > 0;
};

/** A file with one turn in it. */
async function filled(): Promise<string> {
  const path = newPath();
  const database = openSqlite(path);
  await save(database, "a");
  await database.close();
  return path;
}

it("makes a file for its owner alone, in a folder for its owner alone", async () => {
  const path = await filled();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  chmodSync(path, 0o644);
  const database = openSqlite(path);
  expect(await finds(database, "a")).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await database.close();
});

it("lets any number of processes bring a new file on at once", async () => {
  const path = newPath();
  const databases = Array.from({ length: 8 }, () => openSqlite(path));
  await Promise.all(databases.map((database, at) => save(database, `${at}`)));
  for (const [at, database] of databases.entries()) {
    expect(await finds(database, `${7 - at}`)).toBe(true);
    await database.close();
  }
});

it.each([
  ["is damaged", (path: string) => writeFileSync(path, readFileSync(path).fill(7, 1000, 9000))],
  ["is not a database", (path: string) => writeFileSync(path, "not a database at all".repeat(100))],
])("says that a file %s, and begins anew when it was moved away", async (what, spoil) => {
  const path = await filled();
  spoil(path);
  const database = openSqlite(path);
  await expect(save(database, "b").then(() => finds(database, "a"))).rejects.toMatchObject({
    code: "store.unusable",
    message: expect.stringContaining(`${what}; move it away`),
  });
  renameSync(path, `${path}.bad`);
  await save(database, "c");
  expect(await finds(database, "c")).toBe(true);
  await database.close();
});

it("leaves the database of another program, and of another version, as it is", async () => {
  const other = newPath();
  const before = await filled();
  renameSync(before, `${before}.own`);
  const foreign = new DatabaseSync(before);
  foreign.exec("CREATE TABLE turns (a)");
  foreign.close();
  const database = openSqlite(before);
  await expect(save(database, "b")).rejects.toMatchObject({
    code: "store.unusable",
    message: expect.stringContaining("is the database of another program"),
  });
  await database.close();
  const newer = openSqlite(other);
  await save(newer, "a");
  await newer.close();
  for (const version of [12, 99]) {
    const later = new DatabaseSync(other);
    later.exec(`PRAGMA user_version = ${version}`);
    later.close();
    const old = openSqlite(other);
    await expect(finds(old, "a")).rejects.toMatchObject({
      message: expect.stringContaining(
        `was written by another version of Patchbay (version ${version}`,
      ),
    });
    await old.close();
  }
});

it("says that a file is locked, and goes on when it is free", async () => {
  const path = await filled();
  const database = openSqlite(path);
  await save(database, "b");
  const holder = new DatabaseSync(path);
  holder.exec("BEGIN IMMEDIATE");
  expect(await finds(database, "a")).toBe(true);
  await expect(save(database, "c")).rejects.toMatchObject({
    code: "store.unavailable",
    message: expect.stringContaining("is locked by another process"),
  });
  holder.exec("ROLLBACK");
  holder.close();
  expect(await finds(database, "c")).toBe(false);
  await save(database, "c");
  expect(await finds(database, "c")).toBe(true);
  await database.close();
});

it("follows the path when a file is deleted under it", async () => {
  const path = await filled();
  const database = openSqlite(path);
  await save(database, "b");
  rmSync(path);
  await save(database, "c");
  await database.close();
  const again = openSqlite(path);
  expect([await finds(again, "b"), await finds(again, "c")]).toEqual([false, true]);
  await again.close();
});

it("says that a folder cannot be used", async () => {
  writeFileSync(join(folder, "plain"), "");
  const database = openSqlite(join(folder, "plain", "store.db"));
  await expect(save(database, "a")).rejects.toMatchObject({ code: "store.unavailable" });
  await database.close();
});
