import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { chunk } from "../support/fake-model.ts";
import { fakeUpstream, hang, json, sse } from "../support/fake-upstream.ts";
import { loopback, until } from "../support/loopback.ts";
import { onto, serve } from "../support/serve.ts";

function open(url: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

const head = (length: number | "chunked", more = ""): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`}\r\n${more}\r\n`;

async function answerTo(socket: Socket): Promise<string> {
  const [first] = (await once(socket, "data")) as [Buffer];
  return first.toString();
}

describe("who has no key", () => {
  it("is refused by its head, before its body comes", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    await using socket = open(served.url);
    socket.write(head(30_000_000));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("has nothing unpacked", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    const bomb = gzipSync(Buffer.alloc(30 * 1024 * 1024), { level: 1 });
    const all = Array.from({ length: 20 }, async () => {
      const socket = open(served.url);
      socket.write(head(bomb.length, "content-encoding: gzip\r\n"));
      socket.write(bomb);
      return answerTo(socket);
    });
    for (const answer of await Promise.all(all)) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(served.gateway.bodyBudget.held).toBe(0);
  });

  it("is not asked for a body that it announces", async () => {
    await using served = await serve({ server: { keys: ["secret-key"] } });
    await using socket = open(served.url);
    socket.write(head(100, "expect: 100-continue\r\n"));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it("learns that a path is none before it sends a body for it", async () => {
    await using served = await serve({});
    await using socket = open(served.url);
    socket.write(head(30_000_000).replace("/v1/chat/completions", "/v1/nothing"));
    expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 404 /);
  });
});

describe("who sends many packed bodies at once on one connection", () => {
  const MB = 1024 * 1024;
  const packed = gzipSync(JSON.stringify({ model: "m", messages: "x".repeat(MB - 100) }));
  const bodies = (count: number): Buffer =>
    Buffer.concat(
      Array.from({ length: count }, () => [
        Buffer.from(head(packed.length, "content-encoding: gzip\r\n")),
        packed,
      ]).flat(),
    );
  /** The statuses of so many answers. */
  async function statuses(socket: Socket, count: number): Promise<readonly string[]> {
    let heard = "";
    socket.on("data", (data) => (heard += data.toString()));
    const found = (): string[] =>
      [...heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status = ""]) => status);
    await until(() => found().length === count);
    return found();
  }

  it("holds one of them and as much as one may be besides", async () => {
    await using served = await serve({ server: { body_limit: MB, bodies_limit: 64 * MB } });
    const { bodyBudget } = served.gateway;
    let most = 0;
    const take = bodyBudget.take.bind(bodyBudget);
    bodyBudget.take = (tenant, bytes) => {
      const isTaken = take(tenant, bytes);
      most = Math.max(most, bodyBudget.held);
      return isTaken;
    };
    await using socket = open(served.url);
    socket.write(bodies(40));
    const all = await statuses(socket, 40);
    expect(all).toContain("503");
    expect(all).toContain("400");
    expect(most).toBeLessThan(4 * MB);
    expect(bodyBudget.held).toBe(0);
  });

  it("has each of them read where they come one after the other", async () => {
    await using served = await serve({ server: { body_limit: MB, bodies_limit: 64 * MB } });
    await using socket = open(served.url);
    for (let sent = 0; sent < 4; sent++) {
      socket.write(bodies(1));
      expect(await statuses(socket, 1)).toEqual(["400"]);
    }
  });
});

describe("who reads nothing of an answer", () => {
  it("is cut off after a while, and its upstream let go", async () => {
    const word = chunk(0, { content: "word ".repeat(20_000) });
    await using upstream = await loopback((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        while (!response.destroyed && response.write(word));
      };
      response.on("drain", more);
      more();
    });
    await using served = await serve({
      ...onto("chat", upstream.url),
      server: { stall_timeout_ms: 100 },
    });
    const body = JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    await using socket = open(served.url);
    socket.write(head(body.length) + body);
    await until(() => served.turns().length === 1);
    expect(served.turns()[0]).toMatchObject({
      outcome: "failed",
      fault: "client.slow",
      status: 408,
    });
    await until(() => upstream.sockets.every(({ destroyed }) => destroyed));
  });

  it("is told from one that waits for an upstream's first word", async () => {
    await using upstream = await fakeUpstream(() => sse(chunk(0, { content: "Hi" }), hang));
    await using served = await serve({
      ...onto("chat", upstream.url, { timeouts: { idle: 400 } }),
      server: { stall_timeout_ms: 50 },
    });
    const body = JSON.stringify({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
    await using socket = open(served.url);
    socket.write(head(body.length) + body);
    let heard = "";
    socket.on("data", (data) => (heard += data.toString()));
    await until(() => served.turns().length === 1);
    expect(served.turns()[0]?.fault).toBe("upstream.idle_timeout");
    await until(() => heard.includes("fell silent"));
  });
});

it("one tenant's streams that nobody reads leave connections for the others", async () => {
  await using upstream = await fakeUpstream(({ body }) =>
    body["model"] === "long"
      ? sse(chunk(0, { content: "Hi" }), hang)
      : sse(chunk(0, { content: "Hi" }, "stop"), "data: [DONE]\n\n"),
  );
  await using served = await serve({
    ...onto("chat", upstream.url, { connections: 8, timeouts: { queue: 100 } }),
    server: {
      keys: [
        { name: "ann", key: "key-of-ann" },
        { name: "bob", key: "key-of-bob" },
      ],
    },
  });
  const post = (key: string, model: string): Promise<Response> =>
    fetch(`${served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "Hi" }] }),
    });
  const all = await Promise.all(Array.from({ length: 9 }, () => post("key-of-ann", "long")));
  expect(all.filter(({ status }) => status === 200)).toHaveLength(7);
  expect(all.filter(({ status }) => status === 503)).toHaveLength(2);
  const refused = all.find(({ status }) => status === 503);
  expect(await refused?.json()).toMatchObject({ error: { code: "upstream.busy" } });
  expect(await (await post("key-of-bob", "short")).text()).toContain("[DONE]");
  for (const { status, body } of all) if (status === 200) await body?.cancel();
});

/** A request of each door with a picture and a file at an address. */
const withAddress: Readonly<Record<string, (address: string) => object>> = {
  "/v1/chat/completions": (address) => ({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image_url", image_url: { url: address } },
        ],
      },
    ],
  }),
  "/v1/responses": (address) => ({
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Hi" },
          { type: "input_image", image_url: address },
          { type: "input_file", file_url: address },
        ],
      },
    ],
  }),
  "/v1beta/models/m:generateContent": (address) => ({
    contents: [
      {
        role: "user",
        parts: [
          { text: "Hi" },
          { fileData: { mimeType: "image/png", fileUri: address } },
          { fileData: { mimeType: "application/pdf", fileUri: address } },
        ],
      },
    ],
  }),
  "/v1/messages": (address) => ({
    max_tokens: 9,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image", source: { type: "url", url: address } },
          { type: "document", source: { type: "url", url: address } },
        ],
      },
    ],
  }),
};

describe("addresses that a request names", () => {
  const dialects = ["chat", "responses", "messages", "gemini"] as const;
  const pairs = Object.keys(withAddress).flatMap((door) =>
    dialects.map((dialect) => ({ door, dialect })),
  );

  it.each(pairs)("are neither fetched nor read: $door on $dialect", async ({ door, dialect }) => {
    const folder = mkdtempSync(join(tmpdir(), "patchbay-address-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "secret.png");
    writeFileSync(file, "canary-file");
    await using other = await fakeUpstream(() => sse("canary-page"));
    await using upstream = await fakeUpstream(() => json({ error: { message: "No." } }, 400));
    await using served = await serve(onto(dialect, upstream.url));
    const sent: string[] = [];
    for (const address of [`${other.url}/picture.png`, pathToFileURL(file).href, file]) {
      const response = await fetch(served.url + door, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "m", ...withAddress[door]?.(address) }),
      });
      sent.push(await response.text());
    }
    expect(upstream.requests.length).toBeGreaterThan(0);
    const all = JSON.stringify([sent, upstream.requests]);
    for (const words of ["canary-file", "canary-page"]) {
      expect(all).not.toContain(words);
      expect(all).not.toContain(Buffer.from(words).toString("base64"));
    }
    expect(other.requests).toEqual([]);
  });
});
