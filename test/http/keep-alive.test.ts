import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { received } from "../support/client-answer.ts";
import { chunk } from "../support/fake-model.ts";
import { cut, done, fakeUpstream, sse, type Step } from "../support/fake-upstream.ts";
import { onto, serve } from "../support/serve.ts";
import { askStill } from "../support/still-gateway.ts";

/** One second of the default settings, in milliseconds. Set to 1000 to run in real time. */
const SECOND = Number(process.env["PATCHBAY_KEEPALIVE_SECOND"] ?? 120);
// Scaled, the default of 15 would leave 0.6 s until the proxy cuts, which a busy machine can miss.
const KEEPALIVE_MS = 9 * SECOND;
const PROXY_CUT_MS = 20 * SECOND;
const SILENCE_MS = 26 * SECOND;
const TIMEOUT_MS = 100 * SECOND + 20_000;

const silence = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SILENCE_MS));

type Sent = Exclude<Step, Promise<unknown>>;

/** Waits, sends a word, waits again and ends as `ending` says. */
async function* slowly(...ending: Sent[]): AsyncGenerator<Sent> {
  await silence();
  yield chunk(0, { role: "assistant", content: "So" });
  await silence();
  yield* ending;
}

const lastFrames = [chunk(0, { content: " long." }), chunk(0, {}, "stop"), done];

/** A TCP proxy that closes a connection over which the server sends nothing for a while. */
async function impatientProxy(target: string): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), "127.0.0.1");
    const close = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", close).on("close", close);
    upstream.setTimeout(PROXY_CUT_MS, () => {
      // If this process stood still, bytes that came in time are read only after its timers.
      const { bytesRead } = upstream;
      const closeIfSilent = (): void => void (upstream.bytesRead === bytesRead && close());
      setImmediate(() => setImmediate(closeIfSilent));
    });
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

/** `other`: the address of a second gateway on the same store, behind a proxy of its own. */
type Client = (baseUrl: string, other: string) => Promise<string>;

const openai = (url: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: "unused", maxRetries: 0 });

/** The text of a stream of Responses events that ends as it should. */
async function textOf(
  stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
): Promise<string> {
  let text: string | undefined;
  for await (const event of stream)
    if (event.type === "response.output_text.done") text = event.text;
    else if (event.type === "response.completed" && text !== undefined) return text;
  throw new Error("The stream has no end.");
}

const inBackground = { model: "m", input: "Hi", background: true } as const;

/** What each official SDK reads from a stream. */
const clients: Readonly<Record<string, Client>> = {
  async chat(url) {
    const stream = openai(url).chat.completions.stream({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
    });
    return (await stream.finalContent()) ?? "";
  },
  async responses(url) {
    const stream = openai(url).responses.stream({ model: "m", input: "Hi" });
    return (await stream.finalResponse()).output_text;
  },
  async "responses in the background"(url) {
    return textOf(await openai(url).responses.create({ ...inBackground, stream: true }));
  },
  async "responses that are followed later"(url) {
    const { id } = await openai(url).responses.create(inBackground);
    return textOf(await openai(url).responses.retrieve(id, { stream: true }));
  },
  async "responses that another gateway makes"(url, other) {
    const { id } = await openai(url).responses.create(inBackground);
    return textOf(await openai(other).responses.retrieve(id, { stream: true }));
  },
  async messages(url) {
    const client = new Anthropic({ baseURL: url, apiKey: "unused", maxRetries: 0 });
    const stream = client.messages.stream({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: "Hi" }],
    });
    return await stream.finalText();
  },
  async gemini(url) {
    const { models } = new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: url } });
    let text = "";
    const asked = { model: "m", contents: "Hi" };
    for await (const chunk of await models.generateContentStream(asked)) text += chunk.text ?? "";
    return text;
  },
};

async function throughProxy(
  keepalive_ms: number,
  use: (url: string, other: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-keep-alive-"));
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  await using upstream = await fakeUpstream(() => ({
    headers: { "content-type": "text/event-stream" },
    steps: slowly(...lastFrames),
  }));
  const config = {
    ...onto("chat", upstream.url),
    server: { keepalive_ms },
    store: { kind: "sqlite" as const, path: join(folder, "store.db") },
  };
  await using served = await serve(config);
  await using other = await serve(config);
  // A store takes a moment to open, which is not scaled; an answer in the background begins after it.
  for (const { url } of [served, other]) await fetch(`${url}/v1/responses/resp_none`);
  await using proxy = await impatientProxy(served.url);
  await using otherProxy = await impatientProxy(other.url);
  await use(proxy.url, otherProxy.url);
}

describe.concurrent("a stream whose upstream is silent, before its first event and in the middle", () => {
  it(
    "reaches the official SDKs through a proxy that closes silent connections",
    async () => {
      await throughProxy(KEEPALIVE_MS, async (...urls) => {
        const texts = Object.entries(clients).map(async ([door, read]) => [
          door,
          await read(...urls).catch(String),
        ]);
        expect(Object.fromEntries(await Promise.all(texts))).toEqual({
          chat: "So long.",
          responses: "So long.",
          "responses in the background": "So long.",
          "responses that are followed later": "So long.",
          "responses that another gateway makes": "So long.",
          messages: "So long.",
          gemini: "So long.",
        });
      });
    },
    TIMEOUT_MS,
  );

  it(
    "is closed by that proxy if keep-alives are off",
    async () => {
      await throughProxy(0, async (...urls) => {
        const texts = Object.values(clients).map((read) => read(...urls));
        const ends = await Promise.allSettled(texts);
        expect(ends.map(({ status }) => status)).toEqual(texts.map(() => "rejected"));
      });
    },
    TIMEOUT_MS,
  );
});

const doors = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "Hi" }] } },
  responses: { path: "/v1/responses", body: { input: "Hi" } },
  messages: {
    path: "/v1/messages",
    body: { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
  },
  gemini: {
    path: "/v1beta/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ parts: [{ text: "Hi" }] }] },
  },
} as const;
const doorNames = ["chat", "responses", "messages", "gemini"] as const;

const keepAlives = {
  chat: /^: keep-alive$/gm,
  responses: /^: keep-alive$/gm,
  messages: /^event: ping$/gm,
  gemini: /(?<=^|\r\n\r\n)\r\n/g,
} as const;

const terminals = {
  chat: [/"error":\{/, /data: \[DONE\]\n\n$/],
  responses: [/event: error\n/, /event: response\.failed\n/],
  messages: [/event: error\n/],
  gemini: [/data: \{"error":\{"code":503,[^\r\n]*\r\n\r\n$/],
} as const;

describe.concurrent.each(doorNames)("at the %s door", (door) => {
  const request = {
    path: doors[door].path,
    body: { model: "m", stream: true, ...doors[door].body },
  };
  const keepAlive = keepAlives[door];

  it("a failure behind the first keep-alive is the terminal event of the stream", async () => {
    const kept = Promise.withResolvers<void>();
    await using upstream = await fakeUpstream(() => sse(kept.promise, cut));
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { keepalive_ms: 60 },
    });
    const response = await fetch(served.url + request.path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request.body),
    });
    const { text } = await received(response, (text) => {
      if (text.search(keepAlive) >= 0) kept.resolve();
    });
    expect(response.status).toBe(200);
    for (const terminal of terminals[door]) expect(text).toMatch(terminal);
    expect(served.turns()).toMatchObject([{ outcome: "failed" }]);
  });

  it("a stream of 65 silent seconds has a keep-alive in every 15 of them", async () => {
    const script = { turns: [[{ text: "So" }, { delay: 65_000 }, { text: " long." }]] };
    const config = {
      upstreams: { slow: { dialect: "scripted" as const, script } },
      models: { "*": "slow/*" },
      store: "off" as const,
    };
    const { text } = await askStill(config, request);
    expect(text.match(keepAlive)?.length).toBe(4);
  });
});
