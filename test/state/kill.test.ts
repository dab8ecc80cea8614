import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { systemClock } from "../../src/host/platform/clock.ts";
import { DatabaseStore } from "../../src/store/database-store.ts";
import { openSqlite } from "../../src/store/sqlite/database.ts";
import { compileCache } from "../support/compile-cache.ts";

/** `PATCHBAY_KILLS=1000 npx vitest run test/state/kill.test.ts` takes about a quarter of an hour. */
const kills = Number(process.env["PATCHBAY_KILLS"] ?? 25);
const writer = join(import.meta.dirname, "store-writer.ts");

/** Runs a writer and kills it after so many turns; the ids that it saw stored. */
async function killed(path: string, prefix: string, after: number): Promise<string[]> {
  const child = spawn(process.execPath, [writer, path, prefix], {
    env: { ...process.env, ...compileCache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const over = once(child, "close");
  const stored: string[] = [];
  createInterface(child.stdout).on("line", (line) => {
    stored.push(line);
    if (stored.length === after) child.kill("SIGKILL");
  });
  await over;
  // The last line may have been cut.
  return stored.filter((line) => /^\d+-\d+$/.test(line));
}

it(
  `has every turn that was stored after each of ${kills} kill -9, and none in part`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-kill-"));
    const path = join(folder, "store.db");
    let stored = 0;
    for (let cycle = 1; cycle <= kills; cycle++) {
      const ids = await killed(path, `${cycle}`, 1 + ((cycle * 37) % 150));
      const retention = { maxBytes: 1_000_000_000, maxAgeMs: 1_000_000_000 };
      const store = new DatabaseStore(openSqlite(path), { clock: systemClock, retention });
      for (const id of ids) {
        const found = await store.findResponse("ann", id);
        expect([id, found?.input.length, found?.items.length]).toEqual([id, 1, 1]);
        expect(await store.findPlan("ann", id)).toEqual({ id });
      }
      stored += ids.length;
      await store.close();
    }
    expect(stored).toBeGreaterThanOrEqual(kills);
    const database = new DatabaseSync(path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    // Each turn has its plan, its response and two items.
    const count = (table: string) =>
      database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
    expect(count("parts")).toBe(4 * Number(count("turns")));
    expect(database.prepare("SELECT sum(requests) AS n FROM usage").get()?.["n"]).toBe(
      count("turns"),
    );
    database.close();
    rmSync(folder, { recursive: true });
  },
  Math.max(120_000, kills * 5000),
);
