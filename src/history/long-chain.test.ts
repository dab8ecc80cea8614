import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { timesAsLong } from "../../test/support/growth.ts";
import { free, item, turn } from "../../test/support/store-suite.ts";
import { systemClock } from "../host/platform/clock.ts";
import { DatabaseStore } from "./database-store.ts";
import { recordOf } from "./record.ts";
import { SqliteConnection } from "./sqlite/connection.ts";
import { openSqlite } from "./sqlite/database.ts";

const TURNS = 2000;

/** Writes a chain of so many turns with so many items each; the id of its last response. */
function fill(database: SqliteConnection, turns: number, items: number): string {
  const name = `chain-of-${turns}`;
  const records = Array.from({ length: turns }, (_, at) => {
    const id = `${name}-${at}`;
    const input = Array.from({ length: items }, (_item, n) => item(`${id}-${n}`, "x".repeat(100)));
    const previous = at === 0 ? undefined : `${name}-${at - 1}`;
    const response = { previous, input, json: "{}" };
    return recordOf(turn({ answerId: id, at: systemClock.date(), response }), 0);
  });
  for (let at = 0; at < turns; at += 100)
    database.call("write", { id: `${name}-${at}`, turns: records.slice(at, at + 100) });
  return `${name}-${turns - 1}`;
}

it("loads a chain of thousands of responses for about what ten of the same size cost", async () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-chain-"));
  const path = join(folder, "store.db");
  const database = new SqliteConnection(path);
  const long = fill(database, TURNS, 2);
  const short = fill(database, 10, (2 * TURNS) / 10);
  database.close();
  const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };
  const store = new DatabaseStore(openSqlite(path), { clock: systemClock, retention });
  const load = (id: string) => async (): Promise<void> => {
    expect((await store.loadChain("ann", id, 1e9, free)).type).toBe("found");
  };
  expect(await timesAsLong(load(long), load(short), 2)).toBeLessThan(2);
  await store.close();
  rmSync(folder, { recursive: true });
});
