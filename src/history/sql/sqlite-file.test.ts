import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, expect, it } from "vitest";
import { openFile } from "./sqlite-file.ts";

const folder = mkdtempSync(join(tmpdir(), "patchbay-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Holds the write lock of a file that is not in WAL mode yet, for as long as a migration may. */
const holder = `
const { DatabaseSync } = require("node:sqlite");
const { parentPort, workerData } = require("node:worker_threads");
const database = new DatabaseSync(workerData);
database.exec("BEGIN IMMEDIATE");
parentPort.postMessage("held");
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
database.exec("COMMIT");
database.close();`;

it("waits for another process that brings the same new file on", async () => {
  const path = join(folder, "store.db");
  const worker = new Worker(holder, { eval: true, workerData: path });
  await once(worker, "message");
  const database = openFile(path);
  expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  database.close();
  await once(worker, "exit");
});
