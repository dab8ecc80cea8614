import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { openDatabaseStore, type DatabaseConfig } from "../../src/history/sql-log.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import type { Log } from "../../src/history/log.ts";
import { doorPath } from "../support/door-path.ts";
import { missing, newDatabase } from "../support/postgres-server.ts";
import { serve } from "../support/serve.ts";

const asked: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: "user", content: "Hi" }] },
  responses: { input: "Hi" },
  messages: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
  gemini: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
};

describe.each(builtinDialects.doors.map(({ name, door }) => [name, doorPath(door)]))(
  "at the %s door",
  (name, path) => {
    it("a tenant reads what it has left, and when to come again", async () => {
      await using served = await serve({
        server: { keys: [{ name: "ann", key: "key-of-ann" }] },
        limits: { tenants: { ann: { requests_per_minute: 1, tokens_per_minute: 100_000 } } },
      });
      const post = (): Promise<Response> =>
        fetch(served.url + path, {
          method: "POST",
          headers: { "x-api-key": "key-of-ann", "content-type": "application/json" },
          body: JSON.stringify({ model: "m", ...asked[name] }),
        });
      const first = await post();
      const second = await post();
      expect([first.status, second.status]).toEqual([200, 429]);
      const limits = [...first.headers.keys()].filter((key) => key.includes("ratelimit"));
      expect(limits).toHaveLength(6);
      const requests = limits.find((key) => key.includes("requests") && key.includes("remaining"));
      expect(first.headers.get(requests ?? "")).toBe("0");
      expect(second.headers.get(requests ?? "")).toBe("0");
      expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(50);
      expect(await second.text()).toContain("requests a minute");
    });
  },
);

describe("limits of processes that share a store", () => {
  /** What three processes that each let 20 turns in are told is left of 100, and of what nobody spent. */
  async function leftIn(config: DatabaseConfig): Promise<readonly [number, number]> {
    const retention = { maxBytes: 1e9, maxAgeMs: 1e9 };
    const stores = [1, 2, 3].map(() =>
      openDatabaseStore(config, { clock: systemClock, retention }),
    );
    const spent = [
      { tenant: "ann", kind: "requests", perMinute: 100, amount: 1 },
      { tenant: "bob", kind: "tokens", perMinute: 1, amount: 0 },
    ];
    const spend = async ({ limits }: Log): Promise<readonly number[]> =>
      (await limits?.spend(spent)) ?? [];
    const levels = await Promise.all(
      stores.flatMap((store) => Array.from({ length: 20 }, () => spend(store))),
    );
    await Promise.all(stores.map((store) => store.close()));
    const least = (at: number): number => Math.min(...levels.map((each) => each[at] ?? NaN));
    return [least(0), least(1)];
  }
  /** It fills up meanwhile. */
  const about40 = expect.toSatisfy((left: number) => left >= 40 && left < 60);

  it("are counted together in SQLite, however they write at once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-limits-"));
    const config = { kind: "sqlite", path: join(folder, "store.db") } as const;
    expect(await leftIn(config)).toEqual([about40, 1]);
    rmSync(folder, { recursive: true });
  });

  it.skipIf(missing !== undefined)(
    `are counted together in PostgreSQL, however they write at once${missing ?? ""}`,
    async () => {
      const config = { kind: "postgres", url: await newDatabase() } as const;
      expect(await leftIn(config)).toEqual([about40, 1]);
    },
  );
});
