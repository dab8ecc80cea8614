import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  missing,
  postgresServer,
  type PostgresServer,
} from "../../../test/support/postgres-server.ts";
import { stillClock } from "../../../test/support/still-clock.ts";
import { answer, chainOf, item, turn, free } from "../../../test/support/store-suite.ts";
import { systemClock } from "../../host/platform/clock.ts";
import type { Fault } from "../../turn/fault.ts";
import { SqlLog } from "../sql-log.ts";
import { recordOf } from "../records.ts";
import { openPostgres } from "./postgres.ts";
import { responseKey } from "../log.ts";

const retention = { maxBytes: 100_000_000, maxAgeMs: 3_600_000 };

describe.skipIf(missing !== undefined)(`a PostgreSQL store in trouble${missing ?? ""}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("lets any number of replicas bring a new database on at once", async () => {
    const url = await server.createDatabase();
    const replicas = Array.from({ length: 6 }, () => openPostgres(url, systemClock));
    await Promise.all(
      replicas.map((database, at) =>
        database.ask("write", {
          id: crypto.randomUUID(),
          turns: [recordOf(turn({ at: Date.now(), items: [item(`${at}`)] }), 1000)],
        }),
      ),
    );
    const ids = replicas.map((_, at) => `${at}`);
    for (const database of replicas) {
      const found = await database.ask("findParts", {
        tenant: "ann",
        ids,
        of: "items",
        texts: false,
      });
      expect(found.length).toBe(6);
      await database.close();
    }
  });

  it("writes a batch once, however often it is sent", async () => {
    const database = openPostgres(await server.createDatabase(), systemClock);
    const batch = { id: crypto.randomUUID(), turns: [recordOf(turn({ at: Date.now() }), 1000)] };
    await database.ask("write", batch);
    await database.ask("write", batch);
    const rows = await database.ask("sumUsage", { tenant: "ann", start: 0, end: Date.now() + 1 });
    expect(rows.map(({ sum }) => sum.requests)).toEqual([1]);
    await database.close();
  });

  it("refuses the tables of another version, and says what to do", async () => {
    const url = await server.createDatabase();
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    await sql.unsafe("CREATE SCHEMA patchbay; CREATE TABLE patchbay.versions (version integer)");
    await sql`INSERT INTO patchbay.versions VALUES (12)`;
    await sql.end();
    const database = openPostgres(url, systemClock);
    await expect(database.ask("place", responseKey("ann", "a"))).rejects.toMatchObject({
      code: "store.unusable",
      message: expect.stringContaining("(version 12 of its tables"),
    });
    await database.close();
  });

  it("keeps turns while the server is away, and writes them when it is back", async () => {
    const url = await server.createDatabase();
    const states: (Fault | undefined)[] = [];
    const onState = (fault: Fault | undefined): void => void states.push(fault);
    const store = new SqlLog(openPostgres(url, systemClock), {
      clock: systemClock,
      retention,
      onState,
    });
    const at = Date.now();
    await store.append(answer("a", { at }));
    await server.stop("SIGQUIT");
    const saving = store.append(answer("b", { at, previous: "a" }));
    await expect(store.entry(responseKey("bob", "a"), free)).rejects.toMatchObject({
      code: "store.unavailable",
      status: 503,
    });
    await expect.poll(() => states.length).toBe(1);
    await expect(store.load(responseKey("ann", "b"), 1000, free)).rejects.toMatchObject({
      status: 503,
    });
    await server.start();
    await saving;
    expect(await chainOf(store, "b")).toBe("a b");
    expect(states.map((fault) => fault?.code)).toEqual(["store.unavailable", undefined]);
    await store.close();
  });

  it("says of a server that is not there that it cannot be reached, and connects later", async () => {
    const url = await server.createDatabase();
    await server.stop();
    const database = openPostgres(url, systemClock);
    const query = responseKey("ann", "a");
    await expect(database.ask("place", query)).rejects.toMatchObject({
      message: "The PostgreSQL server of the store cannot be reached (ECONNREFUSED).",
    });
    await server.start();
    expect(await database.ask("place", query)).toBeUndefined();
    await database.close();
  });

  it("gives up a server that stands still, and goes on when it does", async () => {
    const clock = stillClock(Date.now());
    const url = await server.createDatabase();
    const store = new SqlLog(openPostgres(url, clock), { clock, retention, gatherMs: 0 });
    await store.append(answer("a", { at: clock.now() }));
    server.signal("SIGSTOP");
    const reading = store.entry(responseKey("ann", "a"), free).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    clock.move(60_000);
    expect(await reading).toMatchObject({ code: "store.timeout", status: 504 });
    server.signal("SIGCONT");
    expect((await store.entry(responseKey("ann", "a"), free))?.id).toBe("a");
    await store.close();
  });

  it("holds ages against one clock, whatever the clocks of the replicas say", async () => {
    const url = await server.createDatabase();
    const [early, late] = [0, 10 * retention.maxAgeMs].map((now) => {
      const clock = stillClock(now);
      const store = new SqlLog(openPostgres(url, clock), { clock, retention, gatherMs: 0 });
      return { clock, store };
    });
    if (early === undefined || late === undefined) throw new Error("two replicas");
    await early.store.append(answer("a", { at: early.clock.now() }));
    late.store.start();
    await late.store.append(answer("b", { at: late.clock.now(), previous: "a" }));
    expect(await chainOf(early.store, "b")).toBe("a b");
    await early.store.close();
    await late.store.close();
  });

  it("says who is refused, and makes tables anew that were dropped", async () => {
    const url = await server.createDatabase();
    const gone = openPostgres(url.replace(/\w+$/, "nothing"), systemClock);
    const query = responseKey("ann", "a");
    await expect(gone.ask("place", query)).rejects.toMatchObject({
      message: expect.stringContaining("has no database of the name in `store.url` (3D000)"),
    });
    await gone.close();
    const database = openPostgres(url, systemClock);
    await database.ask("place", query);
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    await sql`DROP SCHEMA patchbay CASCADE`;
    await sql.end();
    await expect(database.ask("place", query)).rejects.toMatchObject({ code: "store.unavailable" });
    expect(await database.ask("place", query)).toBeUndefined();
    await database.close();
  });
});
