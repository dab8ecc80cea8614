import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect, it, onTestFinished } from "vitest";
import { ask, readDoors } from "../support/client.ts";
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

/** Gathers the spans of all turns until the test is over. */
function traced(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  onTestFinished(() => trace.disable());
  return exporter;
}

it("no kind of secret is stored, traced or counted, also where an upstream quotes it", async () => {
  const spans = traced();
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
    for (const door of readDoors)
      shown += await (await ask(served, door, { store: true }, { headers })).text();
  await until(() => served.turns().length === 2 * readDoors.length);
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  await served[Symbol.asyncDispose]();
  const stored = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  expect(stored.join("")).toContain("Stored.");
  expect(found(stored.join(""))).toEqual([]);
  // A span refers to its resource and context; what is exported of it is told here.
  const exported = spans
    .getFinishedSpans()
    .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  // One for each turn and one for each of its rounds.
  expect(exported).toHaveLength(4 * readDoors.length);
  expect(metrics).toContain("patchbay_turns_total");
  const told = shown + metrics + JSON.stringify([served.happenings, exported]);
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
