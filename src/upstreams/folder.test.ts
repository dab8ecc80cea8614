import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, expect, it } from "vitest";
import { makeFolder } from "./folder.ts";

const root = mkdtempSync(join(tmpdir(), "patchbay-folder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it.skipIf(process.platform === "win32")(
  "makes a folder and its parents with the given mode",
  () => {
    const folder = join(root, "a", "b");
    makeFolder(folder, 0o700);
    expect([folder, join(root, "a")].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o700,
    ]);
  },
);

/** Makes the same folders as the other threads, each as soon as all of them are there. */
const racer = `
const { workerData } = require("node:worker_threads");
const { root, module, rounds, threads, arrived } = workerData;
import(module).then(({ makeFolder }) => {
  for (let round = 1; round <= rounds; round++) {
    Atomics.add(arrived, 0, 1);
    Atomics.notify(arrived, 0);
    for (let now; (now = Atomics.load(arrived, 0)) < round * threads; ) Atomics.wait(arrived, 0, now);
    makeFolder(root + "/race/" + round + "/a/b/c/d");
  }
});`;

it("makes a folder that others make at the same time", async () => {
  const workerData = {
    root,
    module: new URL("./folder.ts", import.meta.url).href,
    rounds: 300,
    threads: 2,
    arrived: new Int32Array(new SharedArrayBuffer(4)),
  };
  const workers = [1, 2].map(() => new Worker(racer, { eval: true, workerData }));
  try {
    const ends = workers.map((worker) => once(worker, "exit"));
    expect(await Promise.all(ends)).toEqual([[0], [0]]);
  } finally {
    // Where one has failed the other waits for it.
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
});
