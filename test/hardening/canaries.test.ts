import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ask, doors } from "../support/client.ts";
import { answerInChat } from "../support/fake-model.ts";
import { fakeUpstream, json } from "../support/fake-upstream.ts";
import { until } from "../support/loopback.ts";
import { serve } from "../support/serve.ts";

const secrets = {
  gateway: "canary-gateway-key",
  upstream: "canary-upstream-key",
  header: "canary-header-token",
  query: "canary-query-key",
  database: "canary-database-password",
};
/** What an upstream is sent, and may quote. */
const known = [secrets.upstream, secrets.header, secrets.query];
const found = (text: string): string[] =>
  Object.values(secrets).filter((secret) => text.includes(secret));

it("no kind of secret is stored, also where an upstream quotes it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-canary-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  let quotes = false;
  await using upstream = await fakeUpstream(({ body }) =>
    quotes
      ? json({ error: { message: known.join(" "), code: secrets.upstream } }, 400)
      : answerInChat(body, { text: "Stored." }),
  );
  const served = await serve({
    server: { keys: [{ name: "ann", key: secrets.gateway }] },
    upstreams: {
      fake: {
        dialect: "chat",
        base_url: `${upstream.url}?code=${secrets.query}`,
        api_key: secrets.upstream,
        headers: { "x-team-token": secrets.header },
        retries: 0,
      },
    },
    models: { m: "fake/m" },
    store: { kind: "sqlite", path: join(folder, "store.db") },
  });
  const headers = { "x-api-key": secrets.gateway };
  let shown = "";
  for (quotes of [false, true])
    for (const door of doors)
      shown += await (await ask(served, door, { store: true }, { headers })).text();
  await until(() => served.turns().length === 2 * doors.length);
  await served[Symbol.asyncDispose]();
  const stored = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  expect(stored.join("")).toContain("Stored.");
  expect(found(stored.join(""))).toEqual([]);
  const told = shown + JSON.stringify(served.happenings);
  expect(found(told)).toEqual([]);
});

it("the password of a database is in no report of its trouble", async () => {
  await using served = await serve({
    store: { kind: "postgres", url: `postgres://ann:${secrets.database}@127.0.0.1:1/x` },
  });
  const response = await ask(served, "responses", { previous_response_id: "resp_1" });
  const shown = await response.text();
  expect(response.status).toBeGreaterThanOrEqual(500);
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  expect(found(shown + metrics + JSON.stringify(served.happenings))).toEqual([]);
});
