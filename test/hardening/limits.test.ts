import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtinDialects } from "../../src/dialects/registry.ts";
import { openSharedLimits } from "../../src/store/postgres/rate-limits.ts";
import { systemClock } from "../../src/host/platform/clock.ts";
import { missing, postgresServer, type PostgresServer } from "../support/postgres-server.ts";
import { serve } from "../support/serve.ts";

const asked: Readonly<Record<string, object>> = {
  chat: { messages: [{ role: "user", content: "Hi" }] },
  responses: { input: "Hi" },
  messages: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
};

describe.each(builtinDialects.doors.map(({ name, door }) => [name, door.routes[0] ?? ""]))(
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

describe.skipIf(missing !== undefined)(`limits in PostgreSQL${missing ?? ""}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("are those of all replicas together, however they write at once", async () => {
    const url = await server.createDatabase();
    const replicas = [1, 2, 3].map(() => openSharedLimits(url, systemClock));
    const spent = [
      { tenant: "ann", kind: "requests", perMinute: 100, amount: 1 },
      { tenant: "bob", kind: "tokens", perMinute: 1, amount: 0 },
    ];
    const levels = await Promise.all(
      replicas.flatMap((replica) => Array.from({ length: 20 }, () => replica.spend(spent))),
    );
    const least = Math.min(...levels.map(([level = 100]) => level));
    expect(least).toBeGreaterThanOrEqual(40);
    expect(least).toBeLessThan(60);
    await Promise.all(replicas.map((replica) => replica.close()));
  });
});
