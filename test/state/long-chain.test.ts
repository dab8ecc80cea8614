import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/host/platform/clock.ts";
import { DatabaseStore } from "../../src/history/database-store.ts";
import { MemoryStore } from "../../src/history/memory.ts";
import { openSqlite } from "../../src/history/sqlite/database.ts";
import type { Store, StoredItem, StoredTurn } from "../../src/history/store.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import { timesAsLong } from "../support/growth.ts";
import type { Body } from "../support/fake-upstream.ts";
import { free } from "../support/store-suite.ts";
import { serve } from "../support/serve.ts";

const ITEMS = 20_000;
const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };

const message = (id: string, role: "user" | "assistant"): StoredItem => {
  const type = role === "user" ? "input_text" : "output_text";
  const content = [{ type, text: "Some words that were said before. " }];
  return { id, json: JSON.stringify({ id, type: "message", role, content, status: "completed" }) };
};

/** One of so many turns that have all items between them. */
function turnOf(turns: number, at: number): StoredTurn {
  const id = `resp_${turns}of${at}`;
  const previous = at === 0 ? undefined : `resp_${turns}of${at - 1}`;
  const half = ITEMS / turns / 2;
  const messages = (role: "user" | "assistant"): StoredItem[] =>
    Array.from({ length: half }, (_, n) => message(`msg_${turns}of${at}${role}${n}`, role));
  const json = JSON.stringify({ id, object: "response", status: "completed" });
  return {
    tenant: LOCAL_TENANT,
    at: systemClock.date(),
    answerId: id,
    items: messages("assistant"),
    seals: [],
    response: { previous, input: messages("user"), json },
  };
}

/** Stores a chain; the id of its last response. */
async function fill(store: Store, turns: number): Promise<string> {
  for (let at = 0; at < turns; at += 100) {
    const many = Array.from({ length: Math.min(100, turns - at) }, (_, n) =>
      store.saveTurn(turnOf(turns, at + n)),
    );
    await Promise.all(many.filter((saving) => saving !== undefined));
  }
  return `resp_${turns}of${turns - 1}`;
}

it("continues 10,000 responses within twice what ten with the same items cost, with SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-chain-"));
  const path = join(folder, "store.db");
  const store = new DatabaseStore(openSqlite(path), { clock: systemClock, retention, gatherMs: 0 });
  const long = await fill(store, ITEMS / 2);
  const short = await fill(store, 10);
  await store.close();
  await using served = await serve({ store: { kind: "sqlite", path } });
  const continuing = (previous: string) => async (): Promise<void> => {
    const response = await fetch(`${served.url}/v1/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "demo",
        input: "Hi",
        store: false,
        previous_response_id: previous,
      }),
    });
    expect(((await response.json()) as Body)["status"]).toBe("completed");
  };
  expect(await timesAsLong(continuing(long), continuing(short), 2)).toBeLessThan(2);
  rmSync(folder, { recursive: true });
}, 60_000);

it("loads them within twice what ten with the same items cost, in memory", async () => {
  const store = new MemoryStore(systemClock, retention);
  const long = await fill(store, ITEMS / 2);
  const short = await fill(store, 10);
  const load = (id: string) => async (): Promise<void> => {
    const chain = await store.loadChain(LOCAL_TENANT, id, 1e9, free);
    if (chain.type === "found") for (const text of chain.texts) JSON.parse(`[${text}]`);
    expect(chain.type).toBe("found");
  };
  expect(await timesAsLong(load(long), load(short), 2)).toBeLessThan(2);
});
