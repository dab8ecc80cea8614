import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import { describe, expect, it, vi } from "vitest";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, type Body, type FakeUpstream } from "../support/fake-upstream.ts";
import { missing, newDatabase, postgresServer } from "../support/postgres-server.ts";
import { onto, serve, type Served } from "../support/serve.ts";

const greeting = (): Promise<FakeUpstream> =>
  fakeUpstream(({ body }) => answerInChat(body, { text: "Hello." }));

const ask = (served: Served, more: Body = {}): Promise<Response> =>
  fetch(`${served.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", input: "Hi", ...more }),
  });

const get = async (served: Served, id: string): Promise<number> =>
  (await fetch(`${served.url}/v1/responses/${id}`)).status;

/** Whether an answer is stored, as its client is told. */
const stored = (response: Response): boolean => response.headers.get("x-patchbay-store") === null;

/** A gateway with a store in a file of its own. */
async function onFile(upstream: FakeUpstream) {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-faults-"));
  const path = join(folder, "store.db");
  const served = await serve({ store: { kind: "sqlite", path }, ...onto("chat", upstream.url) });
  return {
    served,
    path,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.concurrent("an answer that cannot be stored", () => {
  it.each([true, false])(
    "is given whole, says so, and is stored when the file is free again (stream: %s)",
    async (stream) => {
      await using upstream = await greeting();
      await using at = await onFile(upstream);
      await (await ask(at.served)).text();
      const locking = new DatabaseSync(at.path);
      locking.exec("BEGIN IMMEDIATE");
      const response = await ask(at.served, { stream });
      const text = await response.text();
      expect(text).toContain("Hello.");
      const isSaid = stream
        ? /^: patchbay-store: unconfirmed\n\nevent: response\.completed/m.test(text)
        : response.headers.get("x-patchbay-store") === "unconfirmed";
      expect(isSaid).toBe(true);
      expect(at.served.happenings).toContainEqual(
        expect.objectContaining({ type: "store", event: "late" }),
      );
      locking.exec("ROLLBACK");
      locking.close();
      const [id = ""] = /resp_\w+/.exec(text) ?? [];
      await vi.waitFor(async () => expect(await get(at.served, id)).toBe(200), { timeout: 20_000 });
    },
    40_000,
  );

  it("is given while the file is of a newer version, and what refers to it is refused", async () => {
    await using upstream = await greeting();
    await using at = await onFile(upstream);
    const { id } = (await (await ask(at.served)).json()) as Body;
    await at.served[Symbol.asyncDispose]();
    const database = new DatabaseSync(at.path);
    database.exec("PRAGMA user_version = 9999");
    database.close();
    await using again = await serve({
      store: { kind: "sqlite", path: at.path },
      ...onto("chat", upstream.url),
    });
    expect(await get(again, String(id))).toBe(500);
    expect((await ask(again, { previous_response_id: id })).status).toBe(500);
    const response = await ask(again);
    expect([response.status, response.headers.get("x-patchbay-store")]).toEqual([
      200,
      "unconfirmed",
    ]);
    expect(JSON.stringify(await response.json())).toContain("Hello.");
    expect(again.happenings).toContainEqual(
      expect.objectContaining({ type: "store", event: "unavailable", fault: "store.unusable" }),
    );
  });

  it("is given while the file is damaged, and stored again when that was moved away", async () => {
    await using upstream = await greeting();
    await using at = await onFile(upstream);
    const { id } = (await (await ask(at.served)).json()) as Body;
    await at.served[Symbol.asyncDispose]();
    writeFileSync(at.path, readFileSync(at.path).fill(7, 100));
    await using again = await serve({
      store: { kind: "sqlite", path: at.path },
      ...onto("chat", upstream.url),
    });
    const response = await ask(again);
    expect(response.headers.get("x-patchbay-store")).toBe("unconfirmed");
    expect(JSON.stringify(await response.json())).toContain("Hello.");
    expect(await get(again, String(id))).toBe(500);
    renameSync(at.path, `${at.path}.damaged`);
    await vi.waitFor(async () => expect(stored(await ask(again))).toBe(true), {
      timeout: 20_000,
    });
  }, 40_000);
});

describe
  .skipIf(missing !== undefined)
  .concurrent(`an answer while PostgreSQL is away${missing ?? ""}`, () => {
    it("is given, and found when the server is back; what is asked meanwhile is told to come again", async () => {
      await using server = await postgresServer();
      const url = await server.createDatabase();
      await using upstream = await greeting();
      await using served = await serve({
        store: { kind: "postgres", url },
        ...onto("chat", upstream.url),
      });
      const first = (await (await ask(served)).json()) as Body;
      expect(await get(served, String(first["id"]))).toBe(200);
      await server.stop("SIGQUIT");
      const response = await ask(served);
      expect(response.headers.get("x-patchbay-store")).toBe("unconfirmed");
      const second = (await response.json()) as Body;
      expect(await get(served, String(second["id"]))).toBe(503);
      const next = await ask(served, { previous_response_id: first["id"] });
      expect(next.status).toBe(503);
      expect(await ask(served, { background: true }).then(({ status }) => status)).toBe(503);
      await server.start();
      await vi.waitFor(async () => expect(await get(served, String(second["id"]))).toBe(200), {
        timeout: 30_000,
      });
      expect((await ask(served, { previous_response_id: second["id"] })).status).toBe(200);
      expect(served.happenings.filter(({ type }) => type === "store")).not.toEqual([]);
    }, 90_000);

    it("is given while the server is slow, and found later", async () => {
      const url = await newDatabase();
      await using upstream = await greeting();
      const store = { kind: "postgres", url } as const;
      await using served = await serve({ store, ...onto("chat", upstream.url) });
      const first = (await (await ask(served)).json()) as Body;
      // A busy machine may take longer to make the tables than the answer waits for them.
      await vi.waitFor(async () => expect(await get(served, String(first["id"]))).toBe(200), {
        timeout: 30_000,
      });
      const locking = postgres(url, { max: 1, onnotice: () => {} });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const isLocked = Promise.withResolvers<void>();
      const lock = locking.begin(async (sql) => {
        await sql`LOCK TABLE patchbay.entries IN ACCESS EXCLUSIVE MODE`;
        isLocked.resolve();
        await held;
      });
      await Promise.race([isLocked.promise, lock]);
      const response = await ask(served);
      expect(stored(response)).toBe(false);
      const { id } = (await response.json()) as Body;
      release();
      await lock;
      await vi.waitFor(async () => expect(await get(served, String(id))).toBe(200), {
        timeout: 30_000,
      });
      await locking.end();
    }, 90_000);
  });
