import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/platform/clock.ts";
import { nodeRuntime } from "../../src/host/platform/node.ts";
import type { Clock } from "../../src/turn/clock.ts";
import { LOCAL_TENANT } from "../../src/turn/tenant.ts";
import { answerInMessages } from "../support/fake-messages.ts";
import { fakeUpstream, type Body } from "../support/fake-upstream.ts";
import { missing, newDatabase } from "../support/postgres-server.ts";
import { onto, serve, type Served } from "../support/serve.ts";
import { responseKey } from "../../src/history/log.ts";

/** In everything that a client or a model says here. */
const CANARY = "c4n4ry";
const call = { id: "toolu_1", name: "look", arguments: `{"at":"${CANARY}"}` };
const saying = {
  text: `I look. ${CANARY} ${"x".repeat(10_000)}`,
  reasoning: `Where is it? ${CANARY}`,
  calls: [call],
};

const parameters = { type: "object", description: CANARY, properties: {} };
const inResponses = { type: "function", name: "look", parameters };
const inChat = { type: "function", function: { name: "look", parameters } };
const asked = { model: "claude-opus-4-5", input: `Hi ${CANARY}`, tools: [inResponses] };
const responses = { ...asked, instructions: `Be ${CANARY}.` };
const chat = {
  model: "claude-opus-4-5",
  messages: [{ role: "user", content: `Hi ${CANARY}` }],
  tools: [inChat],
  store: true,
};

const ask = async (to: Served, path: string, body?: object, method = "POST"): Promise<Body> => {
  const response = await fetch(`${to.url}/v1${path}`, {
    method: body === undefined ? method : "POST",
    headers: { "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const got = (await response.json()) as Body;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(got)}`);
  return got;
};
/** The id of an answer, asked for whole or as a stream. */
async function answerId(to: Served, path: string, body: object, stream: boolean): Promise<string> {
  const response = await fetch(`${to.url}/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream }),
  });
  const text = await response.text();
  const [, id] = /"id":"((?:resp|chatcmpl|msg)[^"]+)"/.exec(text) ?? [];
  if (id === undefined || text.includes("unconfirmed")) throw new Error(text);
  return id;
}
const remove = (to: Served, path: string): Promise<Body> => ask(to, path, undefined, "DELETE");

/** Runs at a tenth of the speed: on a busy machine a write may take longer than an answer waits for it. */
const slowClock: Clock = {
  now: () => systemClock.now() / 10,
  date: () => systemClock.date(),
  at: (moment, then, background) => systemClock.at(10 * moment, then, background),
};

type StoreConfig =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };
type Kind = {
  readonly storeOf: () => Promise<StoreConfig>;
  /** Where the canary still is. */
  readonly found: (store: StoreConfig) => Promise<readonly string[]>;
};

function describeDeletion({ storeOf, found }: Kind): void {
  const opened = async (held?: Promise<void>) => {
    const upstream = await fakeUpstream(({ body }) => {
      const answer = answerInMessages(body, saying);
      if (held === undefined) return answer;
      const steps = [...(answer.steps as Iterable<string>)];
      const middle = Math.floor(steps.length / 2);
      return { ...answer, steps: [...steps.slice(0, middle), held, ...steps.slice(middle)] };
    });
    const store = await storeOf();
    const config = {
      ...onto("messages", upstream.url, { profile: "anthropic", base_url: upstream.url }),
      store,
    };
    const clock = held === undefined ? slowClock : systemClock;
    const one = await serve(config, {}, clock);
    const other = await serve(config, {}, clock);
    return {
      store,
      one,
      other,
      upstream,
      async [Symbol.asyncDispose]() {
        for (const each of [one, other, upstream]) await each[Symbol.asyncDispose]();
      },
    };
  };

  it.each([false, true])("leaves nothing of a response (stream: %s)", async (stream) => {
    await using gateways = await opened();
    const { one, other, store } = gateways;
    const first = await answerId(one, "/responses", responses, stream);
    const next = { ...responses, previous_response_id: first, input: `And ${CANARY}?` };
    const second = await answerId(one, "/responses", next, stream);
    expect(await found(store)).not.toEqual([]);
    await remove(other, `/responses/${second}`);
    await remove(other, `/responses/${first}`);
    expect(await found(store)).toEqual([]);
  });

  it("leaves nothing of a conversation, its items and its turns", async () => {
    await using gateways = await opened();
    const { one, other, store } = gateways;
    const items = [{ type: "message", role: "user", content: `Before: ${CANARY}` }];
    const { id } = await ask(one, "/conversations", { items, metadata: { topic: CANARY } });
    const kept = await ask(one, "/responses", { ...responses, conversation: id });
    await ask(one, "/responses", { ...responses, conversation: id, store: false });
    const listed = await ask(one, `/conversations/${id}/items`, undefined, "GET");
    await remove(other, `/conversations/${id}/items/${(listed["data"] as Body[])[0]?.["id"]}`);
    await remove(other, `/conversations/${id}`);
    // A response that was stored by itself is deleted by itself.
    await remove(other, `/responses/${kept["id"]}`);
    expect(await found(store)).toEqual([]);
  });

  it.each([false, true])("leaves nothing of a stored completion (stream: %s)", async (stream) => {
    await using gateways = await opened();
    const { one, other, store } = gateways;
    const id = await answerId(one, "/chat/completions", chat, stream);
    await remove(other, `/chat/completions/${id}`);
    expect(await found(store)).toEqual([]);
  });

  it.each([false, true])("leaves nothing of a thread (stream: %s)", async (stream) => {
    await using gateways = await opened();
    const { one, store } = gateways;
    const say = (thread: Body) => ({
      model: "claude-opus-4-5",
      max_tokens: 100,
      messages: [{ role: "user", content: CANARY }],
      thread,
      ...(thread["type"] === "create" && { system: CANARY }),
    });
    const first = await answerId(one, "/messages", say({ type: "create" }), stream);
    const go = { type: "continue", previous_message_id: first };
    const second = await answerId(one, "/messages", say(go), stream);
    // No route deletes them.
    const maxBytes = 100_000_000;
    const retention = { maxBytes, maxAgeMs: 1e9 };
    const direct = nodeRuntime.openStore?.(store, { clock: systemClock, retention });
    for (const id of [second, first])
      expect(await direct?.drop(responseKey(LOCAL_TENANT, id))).toBe(true);
    await direct?.close();
    expect(await found(store)).toEqual([]);
  });

  it("leaves nothing of answers in the background that another gateway makes, whenever they are deleted", async () => {
    const { promise: held, resolve: go } = Promise.withResolvers<void>();
    await using gateways = await opened(held);
    const { one, other, store, upstream } = gateways;
    const begun = await Promise.all(
      Array.from({ length: 32 }, () => ask(one, "/responses", { ...responses, background: true })),
    );
    await expect.poll(() => upstream.requests.length, { timeout: 20_000 }).toBe(32);
    // Some are deleted while they are made, some as they end, some later.
    for (const [at, { id }] of begun.entries()) {
      if (at === 12) go();
      await remove(other, `/responses/${id}`);
      expect((await fetch(`${other.url}/v1/responses/${id}`)).status).toBe(404);
    }
    await expect.poll(() => one.turns().length, { timeout: 20_000 }).toBe(32);
    // A stop waits for all that is still to be written.
    await one.close(0);
    for (const { id } of begun)
      expect((await fetch(`${other.url}/v1/responses/${id}`)).status).toBe(404);
    await other.close(0);
    expect(await found(store)).toEqual([]);
  });
}

describe("deletion from SQLite", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-deletion-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let files = 0;
  describeDeletion({
    storeOf: async () => ({ kind: "sqlite", path: join(folder, `${++files}.db`) }),
    async found(store) {
      const path = store.kind === "sqlite" ? store.path : "";
      return ["", "-wal"].filter((end) => {
        try {
          return readFileSync(path + end).includes(CANARY);
        } catch {
          return false; // The log goes with its last connection.
        }
      });
    },
  });
});

describe.skipIf(missing !== undefined)(`deletion from PostgreSQL${missing ?? ""}`, () => {
  describeDeletion({
    storeOf: async () => ({ kind: "postgres", url: await newDatabase() }),
    async found(store) {
      const sql = postgres(store.kind === "postgres" ? store.url : "", { max: 1 });
      const tables = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'patchbay'`;
      const places: string[] = [];
      for (const { tablename } of tables) {
        const text = `SELECT 1 FROM patchbay.${tablename} AS row
          WHERE row::text LIKE $1 LIMIT 1`;
        if ((await sql.unsafe(text, [`%${CANARY}%`])).length > 0) places.push(String(tablename));
      }
      await sql.end();
      return places;
    },
  });
});
