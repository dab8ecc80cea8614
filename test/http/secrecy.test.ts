import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLog } from "../../src/host/server/log.ts";
import { eventLines, usageLine } from "../../src/observe/lines.ts";
import { ask, doorUrl, readDoors, type ReadDoor } from "../support/client.ts";
import { received } from "../support/client-answer.ts";
import { chunk, answerInChat } from "../support/fake-model.ts";
import {
  cut,
  fakeUpstream,
  frame,
  hang,
  json,
  sse,
  type Answer,
  type FakeUpstream,
} from "../support/fake-upstream.ts";
import { serve, type Served } from "../support/serve.ts";

/** Words that may be seen by nobody but the client and the model. */
const CONTENT = "canary-content";
/** Words that may be seen by nobody at all. */
const KEYS = [
  "canary-gateway-key",
  "canary-upstream-key",
  "canary-header-key",
  "canary-wrong-key",
  "canary/query key",
  "canary%2Fquery%20key",
];
const [gatewayKey = "", upstreamKey = "", headerKey = "", wrongKey = "", ...queryKeys] = KEYS;

const echo = `You sent ${upstreamKey} and ${headerKey} and ${queryKeys.join(" or ")} with ${CONTENT}`;
const begun = chunk(0, { role: "assistant", content: CONTENT });

/** What an upstream may say that quotes what it was sent. */
const answers: readonly Answer[] = [
  json({ error: { message: echo, code: echo, param: echo } }, 401),
  json({ error: { message: echo } }, 400),
  json(`<h1>${echo}</h1>`, 500, { "content-type": "text/html" }),
  json({ error: { message: echo } }),
  json(`{"broken": "${echo}`),
  sse(frame({ error: { message: echo } })),
  sse(begun, frame({ error: { message: echo } })),
  sse(begun, cut),
  sse(begun, hang),
  sse(`data: {"broken": "${echo}\n\n`),
  sse(begun, `data: {"broken": "${echo}\n\n`),
  json("", 307, { location: `https://example.com/?key=${upstreamKey}` }),
  json("", 307, { location: `https://example.com/?code=${queryKeys[1]}&api-version=1` }),
];

let upstream: FakeUpstream;
let served: Served;
let turn = 0;
beforeAll(async () => {
  upstream = await fakeUpstream(
    ({ body }) => answers[turn] ?? answerInChat(body, { text: CONTENT }),
  );
  served = await serve({
    server: { keys: [gatewayKey], body_limit: 100_000 },
    upstreams: {
      fake: {
        dialect: "chat",
        base_url: `${upstream.url}?code=${queryKeys[1]}&api-version=1`,
        api_key: upstreamKey,
        headers: { "x-secret-token": headerKey },
        retries: 0,
        timeouts: { idle: 100 },
      },
    },
    models: { m: "fake/m" },
  });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const inGemini = {
  contents: [{ role: "user", parts: [{ text: CONTENT }] }],
  systemInstruction: { parts: [{ text: CONTENT }] },
  tools: [{ functionDeclarations: [{ name: "f", description: CONTENT }] }],
};

const inOpenAi = (door: ReadDoor): object => ({
  ...(door === "chat"
    ? { messages: [{ role: "user", content: CONTENT }] }
    : { input: CONTENT, instructions: CONTENT }),
  user: CONTENT,
  tools: [
    door === "chat"
      ? { type: "function", function: { name: "f", description: CONTENT } }
      : { type: "function", name: "f", description: CONTENT },
  ],
});

const said = (door: ReadDoor): object => (door === "gemini" ? inGemini : inOpenAi(door));

const found = (words: readonly string[], text: string): string[] =>
  words.filter((word) => text.includes(word));

describe.each(readDoors)("no secret comes out of the %s door", (door) => {
  const headers = { authorization: `Bearer ${gatewayKey}` };

  it("when an upstream quotes it", async () => {
    for (turn = 0; turn <= answers.length; turn++) {
      const both = [true, false].map(async (stream) => {
        const response = await ask(served, door, { stream, ...said(door) }, { headers });
        return JSON.stringify([...response.headers]) + (await received(response)).text;
      });
      for (const shown of await Promise.all(both)) expect(found(KEYS, shown)).toEqual([]);
    }
    const sent = upstream.requests.map((request) => request.headers);
    expect(sent).toContainEqual(
      expect.objectContaining({ authorization: `Bearer ${upstreamKey}` }),
    );
    expect(found([gatewayKey], JSON.stringify(sent))).toEqual([]);
  });

  it("when a request is refused", async () => {
    const refusals: RequestInit[] = [
      { body: `{"model": "m", "input": ${CONTENT}`, headers },
      { body: `{"tools": "${CONTENT}"}`, headers },
      { body: `{"model": {"${CONTENT}": 1}}`, headers },
      {
        body: `{"model": "m", "input": [{"${CONTENT}": 1}], "messages": [{"${CONTENT}": 1}]}`,
        headers,
      },
      { body: CONTENT.repeat(10_000), headers },
      { body: "{}", headers: { authorization: `Bearer ${wrongKey}` } },
      { body: "{}", headers: { "x-api-key": wrongKey } },
    ];
    for (const { body = null, headers } of refusals) {
      const type = { "content-type": "application/json" };
      const response = await fetch(doorUrl(served, door), {
        method: "POST",
        body,
        headers: { ...type, ...(headers as object) },
      });
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      const shown = JSON.stringify([...response.headers]) + (await response.text());
      expect(found(KEYS, shown)).toEqual([]);
    }
  });
});

it("neither content nor secrets are reported, logged or counted", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "patchbay-log-")), "log");
  const out = await open(file, "w");
  const log = openLog("debug", out.fd);
  for (const happening of served.happenings) log.report(happening);
  log.uncaught(new Error(CONTENT));
  log.flush();
  await out.close();
  const lines = await readFile(file, "utf8");
  await rm(dirname(file), { recursive: true });
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  expect(served.happenings.length).toBeGreaterThan(50);
  expect(lines.split("\n").length).toBeGreaterThan(50);
  const files = served.happenings.flatMap((happening) => [
    ...eventLines(happening, 0),
    ...(happening.type === "turn" ? [usageLine(happening)] : []),
  ]);
  const all = JSON.stringify([served.happenings, files]) + lines + metrics;
  expect(found([CONTENT, ...KEYS], all)).toEqual([]);
});
