import { systemClock } from "../../src/host/platform/clock.ts";
import { DatabaseStore } from "../../src/store/database-store.ts";
import { openSqlite } from "../../src/store/sqlite/database.ts";
import { answer } from "../support/store-suite.ts";

// Saves turns until it is killed, several at once, and prints the id of each that is stored.
const [path = "", prefix = ""] = process.argv.slice(2);
const retention = { maxBytes: 1_000_000_000, maxAgeMs: 1_000_000_000 };
const store = new DatabaseStore(openSqlite(path), { clock: systemClock, retention, gatherMs: 1 });
let turns = 0;

async function write(): Promise<never> {
  for (;;) {
    const id = `${prefix}-${++turns}`;
    const plan = { report: () => ({ id }), bytes: 10 };
    await store.saveTurn(answer(id, { at: systemClock.now(), plan }));
    process.stdout.write(`${id}\n`);
  }
}
await Promise.all(Array.from({ length: 8 }, write));
