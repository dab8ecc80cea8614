import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/platform/clock.ts";
import { responseKey, type Log, type StoredItem, type StoredTurn } from "../../src/history/log.ts";
import { MemoryLog } from "../../src/history/memory-log.ts";
import { openPostgres } from "../../src/history/sql/postgres.ts";
import { openSqlite } from "../../src/history/sql/sqlite-database.ts";
import { SqlLog } from "../../src/history/sql-log.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import { timesAsLong } from "../support/growth.ts";
import { missing, newDatabase } from "../support/postgres-server.ts";
import { free } from "../support/store-suite.ts";

const TURNS = 1000;
const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };

const message = (id: string, role: "user" | "assistant"): StoredItem => {
  const type = role === "user" ? "input_text" : "output_text";
  const content = [{ type, text: "Some words that were said before. " }];
  return { id, json: JSON.stringify({ id, type: "message", role, content, status: "completed" }) };
};

/** One of so many turns that have 2,000 items between them. */
function turnOf(turns: number, at: number): StoredTurn {
  const id = `resp_${turns}of${at}`;
  const previous = at === 0 ? undefined : `resp_${turns}of${at - 1}`;
  const messages = (role: "user" | "assistant"): StoredItem[] =>
    Array.from({ length: TURNS / turns }, (_, n) =>
      message(`msg_${turns}of${at}${role}${n}`, role),
    );
  const json = JSON.stringify({ id, object: "response", status: "completed" });
  return {
    tenant: LOCAL_TENANT,
    at: systemClock.date(),
    answerId: id,
    items: messages("assistant"),
    response: { previous, input: messages("user"), json },
  };
}

/** Stores a chain; the id of its last response. */
async function fill(log: Log, turns: number): Promise<string> {
  await Promise.all(Array.from({ length: turns }, async (_, at) => log.append(turnOf(turns, at))));
  return `resp_${turns}of${turns - 1}`;
}

/** How many times as long a chain of 1,000 responses takes to load as ten with the same items. */
async function measured(log: Log): Promise<number> {
  const long = await fill(log, TURNS);
  const short = await fill(log, 10);
  const load = (id: string) => async (): Promise<void> => {
    const chain = await log.load(responseKey(LOCAL_TENANT, id), 1e9, free);
    if (chain.type === "found") for (const text of chain.texts) JSON.parse(`[${text}]`);
    expect(chain.type).toBe("found");
  };
  // The time of a database in another process counts too.
  const now = (): number => performance.now();
  const times = await timesAsLong(load(long), load(short), ENOUGH, now);
  await log.close();
  return times;
}
const ENOUGH = 5;

describe("a chain of 1,000 responses", () => {
  it(`is loaded from memory within ${ENOUGH} times what ten with the same items take`, async () => {
    expect(await measured(new MemoryLog(systemClock, retention))).toBeLessThan(ENOUGH);
  });

  it(`is loaded from SQLite within ${ENOUGH} times what ten take`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-chain-"));
    const database = openSqlite(join(folder, "store.db"));
    expect(await measured(new SqlLog(database, { clock: systemClock, retention }))).toBeLessThan(
      ENOUGH,
    );
    rmSync(folder, { recursive: true });
  }, 60_000);

  it.skipIf(missing !== undefined)(
    `is loaded from PostgreSQL within ${ENOUGH} times what ten take${missing ?? ""}`,
    async () => {
      const database = openPostgres(await newDatabase(), systemClock);
      expect(await measured(new SqlLog(database, { clock: systemClock, retention }))).toBeLessThan(
        ENOUGH,
      );
    },
    60_000,
  );
});
